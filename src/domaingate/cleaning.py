"""What is left of a text when everything that is not language is taken out: links, addresses, names, markup, digits."""

import re

_FOREIGN = re.compile(
    r"""
    (?:https?://|www\.)[!-~]+                             # links, in letters of ASCII: Chinese has no blank behind
    | (?<![\w.%+-])[A-Za-z0-9_.%+-]{1,64}@[A-Za-z0-9-]{1,63}\.[A-Za-z0-9.-]{1,63}  # addresses
    | @[A-Za-z0-9_]+                                      # names
    | </?[A-Za-z!][^<>]{0,300}>                           # markup: tags
    | &\#?[A-Za-z0-9]{1,8};                               # and entities
    | \[\[[^\[\]|]{0,200}\|                               # and the hidden half of a wiki's links
    | [\[\]{}|=\#*_~^\\]+           # and what else is no punctuation
    | \d+
    """,
    re.VERBOSE,
)


def clean(text: str) -> str:
    """The language of a text, in small letters, each word between single blanks; "" where there is none."""
    words = _FOREIGN.sub(" ", text).lower().split()
    return f" {' '.join(words)} " if words else ""
