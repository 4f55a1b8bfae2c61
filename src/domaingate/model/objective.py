"""What is minimised: pure functions from log-likelihoods and distributions to named terms, each a mean over texts.

The loss is the sum of the terms, so what is logged is what is optimised.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.distributions import Categorical, Distribution, kl_divergence

Terms = dict[str, Tensor]


def masked_mean(values: Tensor, known: Tensor) -> Tensor:
    """The mean over all texts of `values` (B,), counted as 0 where they are not known."""
    return values.where(known, 0).mean()


def pick(log_probabilities: Tensor, answer: Tensor) -> Tensor:
    """(..., B): the entries of `log_probabilities` (..., B, Y) that `answer` (B,) names."""
    rows = answer.expand(log_probabilities.shape[:-1])
    return log_probabilities.gather(-1, rows[..., None]).squeeze(-1)


def label_term(log_probabilities: Tensor, label: Tensor, known: Tensor) -> Tensor:
    """-log p(y|.) where y is known."""
    return -masked_mean(pick(log_probabilities, label.where(known, 0)), known)


def domain_term(logits: Tensor, domain: Tensor, known: Tensor) -> Tensor:
    """-log p(d|.) where d is known."""
    return label_term(F.log_softmax(logits, dim=-1), domain, known)


def mixture(prior: Categorical, log_likelihood: Tensor) -> Tensor:
    """log sum over z of p(z|x) p(y|x,z), equation 1: (B, k) with (B, k, Y) to (B, Y)."""
    return torch.logsumexp(prior.logits[..., None] + log_likelihood, dim=1)


def kl_term(posterior: Distribution, prior: Distribution) -> Tensor:
    """KL(q || p) in closed form, equation 5."""
    return kl_divergence(posterior, prior).mean()


def log_mean_exp(values: Tensor, dim: int = 0) -> Tensor:
    """The logarithm of a mean of exponentials."""
    return torch.logsumexp(values, dim=dim) - math.log(values.shape[dim])
