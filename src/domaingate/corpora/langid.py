"""Texts in many languages: the label is the language, the domain is where the text comes from."""

from pathlib import Path

from domaingate.corpora.document import Corpus
from domaingate.corpora.tables import read_corpus


def read_langid(folder: Path) -> Corpus:
    """Read `train/*.jsonl.gz` and `heldout/*.jsonl.gz`; the benchmarks found under `heldout` are held out."""
    training = read_corpus(folder / "train", format="jsonl").documents
    benchmarks = read_corpus(folder / "heldout", format="jsonl").documents
    held_out = sorted({document.domain for document in benchmarks if document.domain is not None})
    return Corpus("langid", [*training, *benchmarks], tuple(held_out))
