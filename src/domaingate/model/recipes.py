"""S-CNN, M-CNN, GEN, DSDA, CSDA: short recipes over the shared parts, and the one table of their names."""

from collections.abc import Callable
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution

from domaingate.batches import Batch
from domaingate.config import Inference, ModelConfig
from domaingate.errors import DomainGateError
from domaingate.model import objective
from domaingate.model.base import Model, Prediction, Turn, gated, trainable
from domaingate.model.gates import GATES, CategoricalGate, Posterior, known_domain, known_label
from domaingate.model.objective import Terms
from domaingate.model.reader import Sizes
from domaingate.model.readers import build_reader

DEFAULT_CHANNELS = 13  # the paper's k: nine domains to train on and four held out
_ADVERSARY_WEIGHT = 1e-3  # GEN's w
_ADVERSARY_STARTS = 1.0  # GEN's first epoch has no adversary


class Ungated(Model):
    """S-CNN with one channel, M-CNN with several: z is 1/k, always."""

    def __init__(self, k: int, sizes: Sizes, config: ModelConfig) -> None:
        reader = build_reader(sizes, k, config)
        super().__init__(reader, reader.size, sizes.labels, config)
        self.k = k

    def terms(self, batch: Batch, epoch: float) -> Terms:
        """The label's likelihood."""
        log_probabilities = self.predict(batch).log_probabilities
        return {"label": objective.label_term(log_probabilities, batch.label, batch.label_known)}

    def predict(self, batch: Batch, inference: Inference = "mean", samples: int = 100) -> Prediction:
        """There is one z, so all ways to predict are the same."""
        channels = self.reader(batch)
        z = torch.full_like(channels[:, :, 0], 1 / self.k)
        hidden = gated(channels, z)
        return Prediction(self.label(hidden), z, hidden)


class DSDA(Model):
    """A discrete domain, summed exactly (section 2.2); known domains supervise p(z|x)."""

    def __init__(self, k: int, sizes: Sizes, config: ModelConfig) -> None:
        if k < sizes.domains:
            raise DomainGateError(
                f"DSDA needs a channel for each domain: --channels is {k}, but {sizes.domains} domains are known; "
                "give more, or leave it out."
            )
        reader = build_reader(sizes, k + 1, config)
        super().__init__(reader, reader.size, sizes.labels, config)
        self.prior = CategoricalGate(reader.size, k)

    def _read(self, batch: Batch) -> tuple[Tensor, Categorical, Tensor]:
        """Channels (B, k, h), p(z|x), and log p(y|x,z) for each z (B, k, Y)."""
        vectors = self.reader(batch)
        channels, prior = vectors[:, :-1], cast(Categorical, self.prior(vectors[:, -1]))
        return channels, prior, self.label(channels)

    def terms(self, batch: Batch, epoch: float) -> Terms:
        """Equation 1, and log p(z=d|x) where d is known."""
        _, prior, log_likelihood = self._read(batch)
        exact = objective.mixture(prior, log_likelihood)
        return {
            "label": objective.label_term(exact, batch.label, batch.label_known),
            "domain": objective.domain_term(prior.logits, batch.domain, batch.domain_known),
        }

    def predict(self, batch: Batch, inference: Inference = "mean", samples: int = 100) -> Prediction:
        """`mean` and `importance` are the exact sum: the posterior p(z|x,y) is known, so its weights do not vary."""
        channels, prior, log_likelihood = self._read(batch)
        hidden = gated(channels, prior.probs)
        if inference in ("mean", "importance"):
            return Prediction(objective.mixture(prior, log_likelihood), prior.probs, hidden)
        z = prior.sample((1 if inference == "sample" else samples,))  # type: ignore[no-untyped-call]  # (m, B)
        picked = log_likelihood[torch.arange(len(batch), device=z.device), z]  # (m, B, Y)
        return Prediction(objective.log_mean_exp(picked), prior.probs, hidden)


class CSDA(Model):
    """A continuous domain under a Dirichlet, Beta or Gamma, with a posterior that sees y and d (sections 2.3, 2.4)."""

    def __init__(self, k: int, sizes: Sizes, config: ModelConfig) -> None:
        reader = build_reader(sizes, k + 2, config)
        super().__init__(reader, reader.size, sizes.labels, config)
        gate, answers = GATES[config.gate], (config.label_size, config.domain_size)
        self.prior = gate(reader.size, k)
        self.posterior = Posterior(gate, reader.size, k, sizes.labels, sizes.domains, answers)
        self.k, self.labels = k, sizes.labels

    def read(self, batch: Batch, infers: bool = True) -> tuple[Tensor, Distribution, Tensor]:
        """Channels (B, k, h), p(z|x), and the vector (B, h) that the posterior starts from, if it `infers`."""
        vectors = self.reader(batch, None if infers else self.k + 1)
        return vectors[:, : self.k], self.prior(vectors[:, self.k]), vectors[:, -1]

    def infer(self, batch: Batch) -> Distribution:
        """q(z|x,y,d), with UNK for what is not known."""
        return self._posterior(self.reader(batch)[:, -1], batch)

    def _posterior(self, context: Tensor, batch: Batch) -> Distribution:
        posterior: Distribution = self.posterior(context, known_label(batch), known_domain(batch))
        return posterior

    def terms(self, batch: Batch, epoch: float) -> Terms:
        """Equation 5 with one sample; for a text without y, q sees UNK and the KL term alone remains."""
        channels, prior, context = self.read(batch)
        posterior = self._posterior(context, batch)
        terms = {
            "label": self._label_term(channels, posterior, batch, 1 - self.config.prior_likelihood),
            "kl": self.kl_weight(epoch) * objective.kl_term(posterior, prior),
        }
        if self.config.prior_likelihood:
            terms["label by prior"] = self._label_term(channels, prior, batch, self.config.prior_likelihood)
        return terms

    def _label_term(self, channels: Tensor, gates: Distribution, batch: Batch, weight: float) -> Tensor:
        """The likelihood of y under one sample of the gates, by weight."""
        log_likelihood = self.classify(channels, gates.rsample())
        return weight * objective.label_term(log_likelihood, batch.label, batch.label_known)

    def kl_weight(self, epoch: float) -> float:
        """Lambda: fixed, or rising from 0 over the first epochs."""
        if self.config.kl_schedule == "fixed" or epoch >= self.config.kl_epochs:
            return self.config.kl_weight
        return self.config.kl_weight * epoch / self.config.kl_epochs

    def predict(self, batch: Batch, inference: Inference = "mean", samples: int = 100) -> Prediction:
        """From one sample of the prior, from its mean, or by Monte Carlo or importance averages (section 2.4)."""
        channels, prior, context = self.read(batch, infers=inference == "importance")
        if inference == "importance":
            log_probabilities = self._importance(channels, prior, context, samples)
        elif inference == "mean":
            log_probabilities = self.classify(channels, prior.mean)
        else:
            z = prior.sample((1 if inference == "sample" else samples,))  # (m, B, k)
            log_probabilities = objective.log_mean_exp(self.classify(channels, z))
        return Prediction(log_probabilities, prior.mean, gated(channels, prior.mean))

    def _importance(self, channels: Tensor, prior: Distribution, context: Tensor, samples: int) -> Tensor:
        """log p(y|x) for every y, normalised: E_q[p(y,z|x) / q(z|x,y,d)] with d = UNK."""
        unknown = torch.full_like(context[:, 0], -1, dtype=torch.int64)
        estimates = []
        for label in range(self.labels):
            posterior: Distribution = self.posterior(context, torch.full_like(unknown, label), unknown)
            z = posterior.sample((samples,))  # (m, B, k)
            weight = prior.log_prob(z) - posterior.log_prob(z)  # (m, B)
            estimates.append(objective.log_mean_exp(self.classify(channels, z)[..., label] + weight))
        return F.log_softmax(torch.stack(estimates, dim=-1), dim=-1)


class GEN(Model):
    """Li, Baldwin and Cohn (2018), +d+g: a shared CNN that hides the domain, a private one that must tell it.

    Heads and features are updated in turn. The heads minimise every classifier's error; the features minimise
    y + w g - w d, where d is the error of the domain classifier on the shared vector and g that on the private one.
    """

    def __init__(self, sizes: Sizes, config: ModelConfig) -> None:
        reader = build_reader(sizes, 2, config)
        super().__init__(reader, 2 * reader.size, sizes.labels, config)
        self.adversary = nn.Linear(reader.size, max(1, sizes.domains))
        self.generator = nn.Linear(reader.size, max(1, sizes.domains))

    def turns(self) -> list[Turn]:
        """Heads first, then features."""
        features = set(self.reader.parameters())
        heads = [parameter for parameter in trainable(self) if parameter not in features]
        return [Turn(self._head_terms, heads), Turn(self.terms, trainable(self.reader))]

    def _domain_terms(self, vectors: Tensor, batch: Batch) -> Terms:
        shared, private = self.adversary(vectors[:, 0]), self.generator(vectors[:, 1])
        return {
            "d": objective.domain_term(shared, batch.domain, batch.domain_known),
            "g": objective.domain_term(private, batch.domain, batch.domain_known),
        }

    def _label_term(self, vectors: Tensor, batch: Batch) -> Tensor:
        return objective.label_term(self.label(vectors.flatten(1)), batch.label, batch.label_known)

    def _head_terms(self, batch: Batch, epoch: float) -> Terms:
        """y + g + d, over the heads."""
        with torch.no_grad():
            vectors = self.reader(batch)
        domain = self._domain_terms(vectors, batch)
        return {
            "label of heads": self._label_term(vectors, batch),
            "d of heads": domain["d"],
            "g of heads": domain["g"],
        }

    def terms(self, batch: Batch, epoch: float) -> Terms:
        """y + w g - w d, over the features; in the first epoch y alone."""
        vectors = self.reader(batch)
        weight = _ADVERSARY_WEIGHT if epoch >= _ADVERSARY_STARTS else 0.0
        domain = self._domain_terms(vectors, batch)
        return {"label": self._label_term(vectors, batch), "g": weight * domain["g"], "d": -weight * domain["d"]}

    def predict(self, batch: Batch, inference: Inference = "mean", samples: int = 100) -> Prediction:
        """There is no z: both CNNs are always open."""
        vectors = self.reader(batch)
        hidden = vectors.flatten(1)
        return Prediction(self.label(hidden), torch.ones_like(vectors[:, :, 0]), hidden)


def _s_cnn(config: ModelConfig, sizes: Sizes) -> Model:
    return Ungated(1, sizes, config)


def _m_cnn(config: ModelConfig, sizes: Sizes) -> Model:
    return Ungated(config.channels or DEFAULT_CHANNELS, sizes, config)


def _gen(config: ModelConfig, sizes: Sizes) -> Model:
    return GEN(sizes, config)


def _dsda(config: ModelConfig, sizes: Sizes) -> Model:
    return DSDA(config.channels or sizes.domains or DEFAULT_CHANNELS, sizes, config)


def _csda(config: ModelConfig, sizes: Sizes) -> Model:
    return CSDA(config.channels or DEFAULT_CHANNELS, sizes, config)


RECIPES: dict[str, Callable[[ModelConfig, Sizes], Model]] = {
    "s-cnn": _s_cnn,
    "m-cnn": _m_cnn,
    "gen": _gen,
    "dsda": _dsda,
    "csda": _csda,
}


def build(config: ModelConfig, sizes: Sizes) -> Model:
    """The model that `config` names, with fresh weights from torch's generator."""
    return RECIPES[config.model](config, sizes)
