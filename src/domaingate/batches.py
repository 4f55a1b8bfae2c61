"""Documents to tensors: what a model sees of a text, its label and its domain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from domaingate.corpora.document import Document
from domaingate.encoding import Encoder
from domaingate.ngrams import IntArray

_POOL = 50  # batches that are sorted by length together, so that a batch holds texts of similar length
_SHORTEST = 8  # places of a stretch that a text is cut to


@dataclass(frozen=True)
class Batch:
    """B texts. Where a label or domain is not known, its number is meaningless and must not matter."""

    ids: Tensor  # (B, T) int64, 0 after a text's end
    lengths: Tensor  # (B,)
    label: Tensor  # (B,) int64
    label_known: Tensor  # (B,) bool
    domain: Tensor  # (B,) int64
    domain_known: Tensor  # (B,) bool

    def __len__(self) -> int:
        """The number of texts."""
        return len(self.ids)

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on a device."""
        return Batch(*(getattr(self, name).to(device) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Dataset:
    """Encoded documents; -1 stands for an unknown label or domain."""

    texts: Sequence[IntArray]
    label: NDArray[np.int64]
    domain: NDArray[np.int64]
    at_a_place: int = 1  # numbers for each token of a text

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.texts)

    def cut(self, share: float, random: np.random.Generator) -> "Dataset":
        """The same, where a share of the texts is cut to a stretch at a random place.

        The logarithm of its length is uniform: short texts are as many as long ones, octave by octave.
        """
        if not share:
            return self
        lengths = np.array([len(text) for text in self.texts])
        shortest = np.minimum(lengths, _SHORTEST * self.at_a_place)
        drawn = np.where(
            random.random(len(lengths)) < share,
            shortest * np.exp(random.random(len(lengths)) * np.log(np.maximum(lengths, 1) / np.maximum(shortest, 1))),
            lengths,
        ).round().astype(np.int64)  # fmt: skip
        starts = random.integers(0, lengths - drawn + 1)
        texts = [text[start : start + length] for text, start, length in zip(self.texts, starts, drawn, strict=True)]
        return replace(self, texts=texts)

    def batch(self, rows: Sequence[int] | NDArray[np.int64]) -> Batch:
        """The given documents as one padded batch."""
        chosen = [self.texts[row] for row in rows]
        lengths = np.array([len(text) for text in chosen], dtype=np.int64)
        ids = np.zeros((len(chosen), max(1, lengths.max(initial=0))), dtype=np.int64)
        for row, text in zip(ids, chosen, strict=True):
            row[: len(text)] = text
        label, domain = torch.from_numpy(self.label[rows]), torch.from_numpy(self.domain[rows])
        return Batch(
            torch.from_numpy(ids), torch.from_numpy(lengths), label.clamp(min=0), label >= 0, domain.clamp(min=0),
            domain >= 0,
        )  # fmt: skip


def dataset(documents: Sequence[Document], encoder: Encoder, labels: Sequence[str], domains: Sequence[str]) -> Dataset:
    """Encode documents; labels and domains that are unknown, or not in the lists, become -1."""
    return Dataset(
        encoder.encode([document.text for document in documents]),
        _rows([document.label for document in documents], labels),
        _rows([document.domain for document in documents], domains),
        encoder.at_a_place,
    )


def _rows(values: Sequence[str | None], names: Sequence[str]) -> NDArray[np.int64]:
    rows: dict[str | None, int] = {name: row for row, name in enumerate(names)}
    return np.array([rows.get(value, -1) for value in values], dtype=np.int64)


def shuffled(data: Dataset, size: int, random: np.random.Generator) -> Iterator[Batch]:
    """One epoch: every document once, in random batches of similar length."""
    order = random.permutation(len(data))
    lengths = np.array([len(text) for text in data.texts])
    pools = np.array_split(order, range(_POOL * size, len(order), _POOL * size))
    by_length = np.concatenate([pool[np.argsort(lengths[pool], kind="stable")] for pool in pools])
    groups = np.array_split(by_length, range(size, len(by_length), size))
    for group in random.permutation(len(groups)):
        yield data.batch(groups[group])


def in_order(data: Dataset, size: int) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    """Every document once, longest first, with the rows that each batch holds."""
    order = np.argsort(np.array([-len(text) for text in data.texts], dtype=np.int64), kind="stable")
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield rows, data.batch(rows)
