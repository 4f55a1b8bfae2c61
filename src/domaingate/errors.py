"""The one error that a person at the keyboard can mend."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class DomainGateError(ValueError):
    """A mistake in the input, the options or the machine's state, told in a sentence: what, where, what to do.

    The command line prints it on standard error and exits with code 2; it never comes with a traceback.
    """


@contextmanager
def told(action: str, path: Path | str) -> Iterator[None]:
    """Turn the system's refusals into sentences: a full disk, a missing folder, no permission."""
    try:
        yield
    except OSError as error:
        elsewhere = error.filename and str(error.filename) != str(path)
        place = f"{error.filename}: " if elsewhere else ""
        raise DomainGateError(f"Cannot {action} {path}: {place}{error.strerror or error}.") from error


def is_out_of_memory(error: MemoryError | RuntimeError) -> bool:
    """Whether memory ran out: on a processor torch says so in words alone."""
    return isinstance(error, MemoryError) or any(
        words in str(error) for words in ("can't allocate memory", "out of memory", "invalid allocation size")
    )


def listed(names: Sequence[str], at_most: int = 10) -> str:
    """Some of the names, and how many more there are."""
    return ", ".join(names[:at_most]) + (f" and {len(names) - at_most} more" if len(names) > at_most else "")
