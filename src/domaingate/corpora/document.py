"""Text as found: a document, its label and its domain, each of the last two possibly unknown."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """One text. `None` stands for an unknown label or domain; `source` is "file:line", for messages."""

    text: str
    label: str | None = None
    domain: str | None = None
    source: str = ""


@dataclass(frozen=True)
class Corpus:
    """A named pile of documents, in the order found.

    `held_out` names the domains that this corpus keeps for testing by its own convention (benchmarks);
    `fit` keeps them out of training unless it is told otherwise.
    """

    name: str
    documents: Sequence[Document]
    held_out: tuple[str, ...] = ()
