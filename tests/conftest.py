"""What tests share: a tiny corpus, tiny models of every recipe, and batches made by hand."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from domaingate.artifact import Artifact
from domaingate.batches import Batch
from domaingate.config import FitConfig, validate
from domaingate.corpora.document import Corpus
from domaingate.corpora.synthetic import MIXTURE, synthetic_corpus
from domaingate.experiment import Prepared, fit, prepare
from domaingate.model.base import Model
from domaingate.model.reader import Sizes
from domaingate.model.recipes import build
from domaingate.protocol import divide

torch.set_num_threads(1)  # the models are so small that a second thread only costs
signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # a background shell ignores Ctrl-C, and so would our processes


@dataclass(frozen=True)
class Case:
    """A recipe in one of its uses."""

    name: str
    options: dict[str, Any] = field(hash=False)


_USES = {
    "s-cnn": {"model": "s-cnn"},
    "m-cnn": {"model": "m-cnn"},
    "gen": {"model": "gen", "hide_domains": 0.5, "hide_labels": 0.2},
    "dsda-no-domains": {"model": "dsda", "hide_domains": 1.0},
    "dsda-some-domains": {"model": "dsda", "hide_domains": 0.5, "hide_labels": 0.2, "channels": None},
    "dsda-all-domains": {"model": "dsda", "hide_domains": 0.0, "channels": None},
    "csda-dirichlet": {"model": "csda", "gate": "dirichlet", "hide_domains": 0.5, "hide_labels": 0.2},
    "csda-prior-likelihood": {"model": "csda", "prior_likelihood": 0.5, "hide_domains": 0.5, "hide_labels": 0.2},
    "csda-beta": {"model": "csda", "gate": "beta", "hide_domains": 0.5, "hide_labels": 0.2},
    "csda-gamma": {"model": "csda", "gate": "gamma", "hide_domains": 0.5, "hide_labels": 0.2},
}
_TOKENS = {
    "words": {"tokens": "words"},
    "bytes": {"tokens": "bytes", "limit": 120, "widths": (4, 6), "filters": 16, "learning_rate": 0.005},
    "ngrams": {"reader": "ngrams", "ngram_size": 8},
}
CASES = [
    Case(f"{use}-{tokens}", {**options, **_TOKENS[tokens]}) for use, options in _USES.items() for tokens in _TOKENS
]


def _tiny(**options: Any) -> FitConfig:
    small = {
        "channels": 3, "embedding_size": 16, "widths": (1, 2, 3), "filters": 8, "hidden": 16, "label_size": 2,
        "domain_size": 3, "dropout": 0.1, "batch_size": 16, "epochs": 6, "learning_rate": 0.02, "samples": 5,
        "held_out": (MIXTURE,), "dev_share": 0.0, "test_share": 0.0, "target_dev_share": 0.0,
    }  # fmt: skip
    return validate(FitConfig(**{**small, **options}))


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """Planted domains of twenty-four short texts each, and as many of the held-out mixture."""
    return synthetic_corpus(texts=24, mixed=24)


@pytest.fixture(scope="session")
def tiny() -> Callable[..., FitConfig]:
    """`tiny(**options)`: a config of a model that trains in a second, with nothing set aside."""
    return _tiny


@pytest.fixture(scope="session", params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    """Every recipe in every use, over words and over bytes."""
    return request.param


@pytest.fixture(scope="session")
def config_of() -> Callable[..., FitConfig]:
    """`config_of(case, **options)`."""
    return lambda case, **options: _tiny(**{**case.options, **options})


@pytest.fixture(scope="session")
def prepared_of(corpus: Corpus) -> Callable[[FitConfig], Prepared]:
    """`prepared_of(config)`: a fresh model over the corpus."""
    return lambda config: prepare(divide(corpus, config), config)


@pytest.fixture(scope="session")
def trained(
    case: Case, config_of: Callable[..., FitConfig], prepared_of: Callable[[FitConfig], Prepared]
) -> tuple[Artifact, str | None]:
    """The case's model, trained once for all tests that only look at it."""
    return fit(prepared_of(config_of(case)))


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., Batch]:
    """`make_batch(texts, labels, domains)`: lists of token numbers, and -1 for an unknown label or domain."""

    def make(
        texts: list[list[int]], labels: list[int] | None = None, domains: list[int] | None = None, margin: int = 0
    ) -> Batch:
        lengths = torch.tensor([len(text) for text in texts])
        ids = torch.zeros(len(texts), max(1, int(lengths.max())) + margin, dtype=torch.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = torch.tensor(text, dtype=torch.int64)
        label = torch.tensor(labels if labels is not None else [-1] * len(texts))
        domain = torch.tensor(domains if domains is not None else [-1] * len(texts))
        return Batch(ids, lengths, label.clamp(min=0), label >= 0, domain.clamp(min=0), domain >= 0)

    return make


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Model]:
    """`make_model(seed, sizes, **options)`: a fresh tiny model in float64, without dropout."""

    def make(seed: int = 0, sizes: Sizes | None = None, **options: Any) -> Model:
        torch.manual_seed(seed)
        return build(_tiny(**{"dropout": 0.0, **options}), sizes or Sizes(vocabulary=12, labels=3, domains=2)).double()

    return make
