"""The seam between texts and gates: what makes n vectors of a text is a reader, and nobody else knows how."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from domaingate.batches import Batch


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
    is_linear: bool = False  # whether its vectors are told apart without a hidden layer

    @abstractmethod
    def forward(self, batch: Batch, first: int | None = None) -> Tensor:
        """(B, n or first, size)."""
