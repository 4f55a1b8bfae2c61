"""The seam between texts and gates: what makes n vectors of a text is a reader, and nobody else knows how."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from domaingate.batches import Batch, Dataset
from domaingate.config import ModelConfig


@dataclass(frozen=True)
class Sizes:
    """What the data decides about a model."""

    vocabulary: int
    labels: int
    domains: int
    weights: NDArray[np.float32] | None = None  # (vocabulary,): how much a token counts


class Reader(nn.Module, ABC):
    """A batch to n vectors a text, or to the first few of them. `size` is the length of a vector."""

    size: int

    def prime(self, data: Dataset) -> None:
        """Look at the training texts before the first step; most readers learn all they know step by step."""

    @abstractmethod
    def forward(self, batch: Batch, first: int | None = None) -> Tensor:
        """(B, n or first, size)."""

    def head(self, width: int, labels: int, config: ModelConfig) -> nn.Module:
        """From h to the scores of the labels: one hidden layer, section 2.1."""
        return nn.Sequential(
            nn.Dropout(config.dropout), nn.Linear(width, config.hidden), nn.ReLU(), nn.Linear(config.hidden, labels)
        )
