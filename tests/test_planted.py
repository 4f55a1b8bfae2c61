"""The claim: on planted domains the gates find them, with all, half or none of the domain labels, and it helps."""

import numpy as np
import pytest

from domaingate.config import FitConfig
from domaingate.corpora.synthetic import synthetic_corpus
from domaingate.diagnostics import diagnose
from domaingate.experiment import fit, prepare
from domaingate.predictor import Predictor
from domaingate.protocol import divide

SMALL = {"embedding_size": 32, "filters": 16, "hidden": 64, "learning_rate": 4e-3, "epochs": 12, "patience": 12}


@pytest.fixture(scope="module")
def runs():
    """CSDA with all, half and no domains known, and S-CNN: accuracy on the mixture, and on the domain by the gates."""
    corpus = synthetic_corpus(texts=600)
    csda = {"model": "csda", "kl_weight": 1.0}
    options = {
        "all": csda,
        "half": {**csda, "hide_domains": 0.5},
        "none": {**csda, "hide_domains": 1.0},
        "s-cnn": {"model": "s-cnn"},
    }
    return {name: run(corpus, FitConfig(**SMALL, **option)) for name, option in options.items()}


def run(corpus, config):
    parts = divide(corpus, config)
    fitted, _ = fit(prepare(parts, config))
    gates = Predictor(fitted).outputs([document.text for document in parts.source_test]).gates
    domains = np.array([parts.source_domains.index(document.domain) for document in parts.source_test])
    mixture = fitted.metrics["scores"]["averages"]["unseen domains"]["accuracy"]
    return mixture, diagnose(gates[None], domains)["accuracy"]


@pytest.mark.parametrize("known", ["all", "half", "none"])
def test_the_gates_find_the_domains(runs, known):
    """Does a linear classifier tell the domain from the gates far better than the one in four of chance?"""
    assert runs[known][1] > 0.4


def test_gating_helps_on_a_mixture_that_no_model_has_seen(runs):
    """Is CSDA better than S-CNN there, whatever share of the domains was known?"""
    assert np.mean([runs[known][0] for known in ("all", "half", "none")]) > runs["s-cnn"][0] + 0.01
