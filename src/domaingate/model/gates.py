"""Prior p(z|x) and posterior q(z|x,y,d): modules from a vector to a distribution of z (sections 2.3 and 2.4)."""

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, Independent

from domaingate.batches import Batch
from domaingate.model.distributions import Beta, Dirichlet, Gamma

_SMALLEST = 1e-2  # added to every parameter: below it densities and gradients outgrow float32
_LARGEST_LOG = 9.0  # exp of it bounds the Dirichlet's total concentration for the same reason


class Gate(nn.Module, ABC):
    """A vector of x to a distribution of z over k channels, in float32 or wider whatever surrounds it."""

    def __init__(self, size: int, k: int) -> None:
        super().__init__()

    def __call__(self, context: Tensor) -> Distribution:
        """(B, size) to a distribution with batch shape (B,)."""
        with torch.autocast(context.device.type, enabled=False):
            distribution: Distribution = super().__call__(context.float() if context.itemsize < 4 else context)
        return distribution

    @abstractmethod
    def forward(self, context: Tensor) -> Distribution:
        """The distribution, from its parameters' linear maps."""


class DirichletGate(Gate):
    """Dirichlet(exp(f0) sigmoid(f)), equations 2b and 4."""

    def __init__(self, size: int, k: int) -> None:
        super().__init__(size, k)
        self.scale = nn.Linear(size, 1)
        self.affinity = nn.Linear(size, k)

    def forward(self, context: Tensor) -> Dirichlet:
        """k shares that sum to 1."""
        scale = torch.exp(self.scale(context).clamp(max=_LARGEST_LOG))
        concentration = scale * torch.sigmoid(self.affinity(context)) + _SMALLEST
        return Dirichlet(concentration, validate_args=False)


class BetaGate(Gate):
    """Beta(elu(f_alpha) + 1, elu(f_beta) + 1) for each channel, equations 2a and 3."""

    def __init__(self, size: int, k: int) -> None:
        super().__init__(size, k)
        self.alpha = nn.Linear(size, k)
        self.beta = nn.Linear(size, k)

    def forward(self, context: Tensor) -> "Independent[Distribution]":
        """k shares of 1."""
        return Independent(Beta(_positive(self.alpha(context)), _positive(self.beta(context)), validate_args=False), 1)


class GammaGate(Gate):
    """Gamma(elu(f_alpha) + 1, elu(f_beta) + 1) for each channel: the paper's footnote names it without its form."""

    def __init__(self, size: int, k: int) -> None:
        super().__init__(size, k)
        self.alpha = nn.Linear(size, k)
        self.rate = nn.Linear(size, k)

    def forward(self, context: Tensor) -> "Independent[Distribution]":
        """k positive amounts."""
        return Independent(Gamma(_positive(self.alpha(context)), _positive(self.rate(context)), validate_args=False), 1)


class CategoricalGate(Gate):
    """softmax(f): one channel of k (section 2.2)."""

    def __init__(self, size: int, k: int) -> None:
        super().__init__(size, k)
        self.affinity = nn.Linear(size, k)

    def forward(self, context: Tensor) -> Categorical:
        """One of k."""
        return Categorical(logits=self.affinity(context), validate_args=False)


GATES: dict[str, type[Gate]] = {"dirichlet": DirichletGate, "beta": BetaGate, "gamma": GammaGate}


class Posterior(nn.Module):
    """q(z|x,y,d): a gate on the CNN's vector joined with embeddings of y and d, each with a last row for UNK."""

    def __init__(self, gate: type[Gate], size: int, k: int, labels: int, domains: int, sizes: tuple[int, int]) -> None:
        super().__init__()
        self.label = nn.Embedding(labels + 1, sizes[0])
        self.domain = nn.Embedding(domains + 1, sizes[1])
        self.gate = gate(size + sum(sizes), k)

    def forward(self, context: Tensor, label: Tensor, domain: Tensor) -> Distribution:
        """`label` and `domain` are (B,), with -1 for UNK."""
        answers = [self.label(_last_if_unknown(label, self.label)), self.domain(_last_if_unknown(domain, self.domain))]
        distribution: Distribution = self.gate(torch.cat([context, *answers], dim=-1))
        return distribution


def known_label(batch: Batch) -> Tensor:
    """(B,) labels, -1 where unknown."""
    return batch.label.where(batch.label_known, -1)


def known_domain(batch: Batch) -> Tensor:
    """(B,) domains, -1 where unknown."""
    return batch.domain.where(batch.domain_known, -1)


def _positive(x: Tensor) -> Tensor:
    return F.elu(x) + 1 + _SMALLEST


def _last_if_unknown(rows: Tensor, embedding: nn.Embedding) -> Tensor:
    return rows.where(rows >= 0, embedding.num_embeddings - 1)
