"""The one error that a person at the keyboard can mend."""


class DomainGateError(ValueError):
    """A mistake in the input, the options or the machine's state, told in a sentence: what, where, what to do.

    The command line prints it on standard error and exits with code 2; it never comes with a traceback.
    """
