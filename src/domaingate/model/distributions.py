"""Distributions of z whose samples keep their gradient where concentrations are small.

`torch.distributions` has the closed forms of mean, density and KL; only sampling is replaced. A Gamma sample is drawn
through its logarithm, log G(a) = log G(a + 1) + log(U) / a with U uniform, which neither underflows to 0 nor loses
its derivative as a becomes small. G(a + 1) is differentiated implicitly (the paper's appendix A.2), U / a directly;
Dirichlet is the softmax of log-Gammas and Beta the sigmoid of their difference.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, distributions

Shape = Sequence[int]

_LARGEST = 1 - 2**-24  # the largest float32 below 1


def log_gamma_sample(concentration: Tensor) -> Tensor:
    """log G with G from Gamma(concentration, 1), differentiable in the concentration."""
    uniform = torch.rand_like(concentration).clamp(min=torch.finfo(concentration.dtype).tiny)
    return torch.log(torch._standard_gamma(concentration + 1)) + torch.log(uniform) / concentration


def _inside(sample: Tensor) -> Tensor:
    """Keep a share off 0 and 1, where a density may be infinite."""
    return sample.clamp(torch.finfo(sample.dtype).tiny, _LARGEST)


class Dirichlet(distributions.Dirichlet):
    """Shares that sum to 1."""

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """(*sample_shape, B, k)."""
        concentration = self.concentration.expand(self._extended_shape(torch.Size(sample_shape)))
        return _inside(log_gamma_sample(concentration).softmax(dim=-1))


class Beta(distributions.Beta):
    """One share of 1 for each gate."""

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """(*sample_shape, B, k)."""
        shape = self._extended_shape(torch.Size(sample_shape))
        present, absent = self.concentration1.expand(shape), self.concentration0.expand(shape)
        return _inside(torch.sigmoid(log_gamma_sample(present) - log_gamma_sample(absent)))


class Gamma(distributions.Gamma):
    """A positive amount for each gate."""

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """(*sample_shape, B, k)."""
        concentration = self.concentration.expand(self._extended_shape(torch.Size(sample_shape)))
        sample = torch.exp(log_gamma_sample(concentration) - torch.log(self.rate))
        return sample.clamp(min=torch.finfo(sample.dtype).tiny)
