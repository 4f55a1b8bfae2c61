"""What every model is: a reader, a head, and two verbs.

`terms` says what a batch costs, by name; `predict` says what it makes of a batch. Neither knows a file, a text or an
optimiser.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from domaingate.batches import Batch
from domaingate.config import Inference, ModelConfig
from domaingate.model.objective import Terms
from domaingate.model.reader import Reader


class Prediction(NamedTuple):
    """What a model makes of a batch."""

    log_probabilities: Tensor  # (B, Y)
    gates: Tensor  # (B, k): the mean of z under the prior
    hidden: Tensor  # (B, h): the gated representation, under the mean of z


@dataclass(frozen=True)
class Turn:
    """One step of the optimiser in a batch: what is minimised, over which parameters."""

    terms: Callable[[Batch, float], Terms]
    parameters: Sequence[nn.Parameter]


class Model(nn.Module, ABC):
    """A classifier over the vectors of a reader."""

    def __init__(self, reader: Reader, width: int, labels: int, config: ModelConfig) -> None:
        super().__init__()
        self.reader = reader
        self.config = config
        self.head = reader.head(width, labels, config)

    @abstractmethod
    def terms(self, batch: Batch, epoch: float) -> Terms:
        """Named losses of a batch after so many epochs (1.5: in the middle of the second); their sum is minimised."""

    @abstractmethod
    def predict(self, batch: Batch, inference: Inference = "mean", samples: int = 100) -> Prediction:
        """p(y|x) and the gates, from the text alone."""

    def turns(self) -> list[Turn]:
        """The optimiser's steps for each batch."""
        return [Turn(self.terms, trainable(self))]

    def classify(self, channels: Tensor, z: Tensor) -> Tensor:
        """log p(y|x,z), section 2.1: channels (B, k, h) and gates (..., B, k) to (..., B, Y)."""
        return self.label(gated(channels, z))

    def label(self, hidden: Tensor) -> Tensor:
        """Log-probabilities of the labels from the representation h, (..., h) to (..., Y)."""
        return F.log_softmax(self.head(hidden), dim=-1)


def gated(channels: Tensor, z: Tensor) -> Tensor:
    """h = sum over i of z_i h_i, section 2.1: (B, k, h) and (..., B, k) to (..., B, h)."""
    return torch.einsum("...bk,bkh->...bh", z, channels)


def trainable(module: nn.Module) -> list[nn.Parameter]:
    """The parameters that training may change."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def count_parameters(model: nn.Module) -> tuple[int, int]:
    """All parameters, and those that are not the token embedding (which the paper leaves out of its counts)."""
    total = sum(parameter.numel() for parameter in model.parameters())
    embedding = sum(parameter.numel() for name, parameter in model.named_parameters() if "reader.embedding" in name)
    return total, total - embedding
