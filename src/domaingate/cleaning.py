"""What is left of a text when everything that is not language is taken out: links, addresses, names, markup, digits."""

import re

_FOREIGN = re.compile(
    r"""
    (?:https?://|www\.)\S+          # links
    | \S+@\S+\.\w+                  # addresses
    | @\w+                          # names
    | <[^<>]*>                      # markup: tags
    | &\#?\w+;                      # and entities
    | \[\[[^\]|]*\|                 # and the hidden half of a wiki's links
    | [\[\]{}|=\#*_~^\\]+           # and what else is no punctuation
    | \d+
    """,
    re.VERBOSE,
)


def clean(text: str) -> str:
    """The language of a text, in small letters, each word between single blanks; "" where there is none."""
    words = _FOREIGN.sub(" ", text).lower().split()
    return f" {' '.join(words)} " if words else ""
