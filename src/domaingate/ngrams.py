"""Runs of tokens as numbers: every run of one, two, three tokens of a text gets 64 bits that stand for it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int32]
Codes = NDArray[np.uint64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: neighbouring numbers are spread far apart
_SHIFT = np.uint64(29)
_ROOM = 16  # places of a table for each code in it: of sixteen codes one meets another, whose place is taken
AT_ONCE = 1000  # texts


def codes_of(texts: Sequence[IntArray], longest: int) -> tuple[Codes, IntArray]:
    """(places, longest) codes of the runs that start at each place of the texts, and the text (places,) of each.

    A run that would reach beyond its text is 0.
    """
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    rows = np.repeat(np.arange(len(texts), dtype=np.int32), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(rows))  # tokens to the end of the text
    stream = np.concatenate([*texts, np.zeros(longest, dtype=np.int32)]).astype(np.uint64)
    codes = np.zeros((len(rows), longest), dtype=np.uint64)
    runs = np.zeros(len(rows), dtype=np.uint64)
    for length in range(longest):
        runs = (runs + stream[length : length + len(rows)] + np.uint64(1)) * _MULTIPLIER
        runs ^= runs >> _SHIFT
        codes[:, length] = np.where(left > length, runs, 0)
    return codes, rows


@dataclass(frozen=True)
class RunList:
    """Known runs: their codes, in how many of the training texts each stands, and how many texts those were."""

    codes: Codes  # ascending
    counts: NDArray[np.int64]
    texts: int

    def __post_init__(self) -> None:
        """Refuse what no training texts can have."""
        in_range = ((self.counts >= 1) & (self.counts <= self.texts)).all()
        if len(self.codes) != len(self.counts) or not in_range:
            raise ValueError("every run stands in one text or more, and in no more than there are")

    @classmethod
    def train(
        cls,
        texts: Sequence[IntArray],
        longest: int,
        least: int,
        most: int,
        domains: Sequence[str | None] = (),
        spread: int = 1,
    ) -> "RunList":
        """The `most` runs that stand in most texts, of those in at least `least` texts and `spread` known domains."""
        codes, numbers = np.empty(0, dtype=np.uint64), np.empty((0, 2), dtype=np.int64)  # (U, 2): texts, domains
        for domain, group in _rows_by(domains or [None] * len(texts)).items():
            mine, counts = np.empty(0, dtype=np.uint64), np.empty((0, 1), dtype=np.int64)
            for start in range(0, len(group), AT_ONCE):
                some = [texts[row] for row in group[start : start + AT_ONCE].tolist()]
                mine, counts = _joined(mine, counts, *_once_a_text(some, longest))
            known = np.full_like(counts, domain is not None)
            codes, numbers = _joined(codes, numbers, mine, np.column_stack([counts, known]))
        frequent = (numbers[:, 0] >= least) & ((numbers[:, 1] >= spread) | (spread == 1))
        codes, counts = codes[frequent], numbers[frequent, 0]
        kept = np.sort(np.lexsort((codes, -counts))[:most])
        return cls(codes[kept], counts[kept], len(texts))

    def rarity(self) -> NDArray[np.float32]:
        """(1 + known runs,): the logarithm of how rare each is among texts; 0 for row 0, the padding."""
        weights = np.log((1 + self.texts) / (1 + self.counts)) + 1
        return np.concatenate([[0.0], weights]).astype(np.float32)


class RunTable:
    """From a code to its row in a list of runs, by one look at a table; 0 for a run that is not known."""

    def __init__(self, runs: RunList) -> None:
        bits = max(1, int(_ROOM * max(1, len(runs.codes)) - 1).bit_length())
        self._shift = np.uint64(64 - bits)
        self._codes = np.concatenate([np.zeros(1, dtype=np.uint64), runs.codes])
        self._rows = np.zeros(1 << bits, dtype=np.int32)
        common_last = np.argsort(runs.counts, kind="stable")  # of two runs with one place, the more frequent keeps it
        self._rows[(runs.codes[common_last] >> self._shift).astype(np.int64)] = common_last + 1

    def rows(self, codes: Codes) -> IntArray:
        """The row of each code."""
        found = self._rows[(codes >> self._shift).astype(np.int64)]
        return np.where(self._codes[found] == codes, found, 0).astype(np.int32)


def _rows_by(domains: Sequence[str | None]) -> dict[str | None, NDArray[np.int64]]:
    """The rows of each domain, those of unknown domain together."""
    names = {domain: place for place, domain in enumerate(dict.fromkeys(domains))}
    places = np.array([names[domain] for domain in domains])
    return {domain: np.flatnonzero(places == place) for domain, place in names.items()}


def _once_a_text(texts: Sequence[IntArray], longest: int) -> tuple[Codes, NDArray[np.int64]]:
    """The runs of some texts, and in how many of the texts each stands, (U, 1)."""
    codes, rows = codes_of(texts, longest)
    flat, row = codes.ravel(), np.repeat(rows, longest)
    order = np.lexsort((row, flat))
    flat, row = flat[order], row[order]
    first = np.ones(len(flat), dtype=bool)
    first[1:] = (flat[1:] != flat[:-1]) | (row[1:] != row[:-1])
    found, counts = np.unique(flat[first & (flat > 0)], return_counts=True)
    return found, counts.astype(np.int64)[:, None]


def _joined(
    codes: Codes, numbers: NDArray[np.int64], others: Codes, more: NDArray[np.int64]
) -> tuple[Codes, NDArray[np.int64]]:
    """Two lists of runs as one, their numbers added up."""
    together, places = np.unique(np.concatenate([codes, others]), return_inverse=True)
    sums = [np.bincount(places, column, len(together)) for column in np.concatenate([numbers, more]).T]
    return together, np.stack(sums, axis=1).astype(np.int64)
