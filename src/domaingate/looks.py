"""What a study looks at in a run besides its scores: gates, ways to predict, z, maps, short texts, confidence."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from domaingate import inference
from domaingate.artifact import Artifact
from domaingate.batches import dataset
from domaingate.calibration import coverage, even_weights, expected_error, reliability
from domaingate.corpora import Document, foreign_texts
from domaingate.diagnostics import diagnose, even_sample, gate_spread, plain
from domaingate.inference import FloatArray
from domaingate.inspection import posterior_samples, tsne
from domaingate.ledger import Record
from domaingate.metrics import mean_scores
from domaingate.model.recipes import CSDA, DSDA
from domaingate.protocol import Documents, Parts

LENGTHS = (20, 50, 100, 200, 500, 1000)  # bytes that texts are cut to
THRESHOLDS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)  # of `predict --abstain-below`
_DRAWS = 10  # of a way to predict that draws
_ON_MAP = 2000


@dataclass(frozen=True)
class Teller:
    """Whatever tells labels from texts."""

    labels: Sequence[str]
    probabilities: Callable[[Sequence[str]], FloatArray]  # of N texts (N, Y)

    def answers(self, documents: Sequence[Document]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(N,): the probability of each answer, and whether it is right."""
        probabilities = self.probabilities([document.text for document in documents])
        names = np.array(self.labels)[probabilities.argmax(axis=1)]
        return probabilities.max(axis=1).astype(np.float64), names == np.array(
            [document.label for document in documents]
        )


@dataclass(frozen=True)
class Sight:
    """What there is to look at; a run without a network has no artifact."""

    parts: Parts
    teller: Teller
    fitted: Artifact | None


def by_domain(documents: Sequence[Document]) -> dict[str, Documents]:
    """Documents by the name of their domain."""
    names = sorted({str(document.domain) for document in documents})
    return {name: [document for document in documents if document.domain == name] for name in names}


def _gates(sight: Sight) -> Record | None:
    """Mean gates by domain over texts that training has not seen, and how far they differ."""
    fitted, parts = sight.fitted, sight.parts
    if fitted is None or not isinstance(fitted.model, DSDA | CSDA):
        return None
    shown = [document for document in parts.source_dev + parts.target_test if document.domain is not None]
    gates = inference.run(fitted.model, dataset(shown, fitted.encoder, (), ())).gates
    names = sorted({str(document.domain) for document in shown})
    rows = np.array([names.index(str(document.domain)) for document in shown])
    return {
        "spread": gate_spread(gates, rows),
        "means": {name: plain(gates[rows == row].mean(axis=0)) for row, name in enumerate(names)},
    }


def _ways(sight: Sight) -> Record | None:
    """The four ways to predict: accuracy of one or more draws, each domain counting the same, and seconds a draw."""
    fitted, documents = sight.fitted, sight.parts.target_test
    if fitted is None:
        return None
    data = dataset(documents, fitted.encoder, sight.teller.labels, ())
    found = {}
    for way in ("sample", "mean", "monte-carlo", "importance"):
        draws, seconds = [], []
        for seed in range(_DRAWS if way == "sample" else 1):
            started = time.perf_counter()
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                outputs = inference.run(fitted.model, data, way)
            seconds.append(time.perf_counter() - started)
            scores = mean_scores(outputs.probabilities, data.label, [document.domain for document in documents])
            draws.append(scores["accuracy"])
        found[way] = {"accuracy": plain(draws), "seconds": plain(np.median(seconds))}
    return found


def _diagnosis(sight: Sight) -> Record | None:
    """How well z, drawn from q for the training texts, tells label and domain (figure 4)."""
    fitted, train = sight.fitted, sight.parts.train
    if fitted is None or not isinstance(fitted.model, CSDA):
        return None
    data = dataset(train, fitted.encoder, sight.teller.labels, fitted.domains)
    samples, mean = posterior_samples(fitted, train, 0)
    return {
        name: {"samples": diagnose(samples, classes), "mean": diagnose(mean, classes)}
        for name, classes in (("label", data.label), ("domain", data.domain))
    }


def _map(sight: Sight) -> Record | None:
    """t-SNE of the representation of texts of all domains (figure 3)."""
    fitted, parts = sight.fitted, sight.parts
    if fitted is None:
        return None
    known = [document for document in parts.train + parts.target_test if document.domain and document.label]
    domains, labels = (sorted({str(getattr(document, what)) for document in known}) for what in ("domain", "label"))
    drawn = even_sample(np.array([domains.index(str(document.domain)) for document in known]), _ON_MAP, 0)
    shown = [known[row] for row in drawn]
    points = tsne(inference.run(fitted.model, dataset(shown, fitted.encoder, (), ())).hidden, 0)
    return {
        "domains": domains,
        "labels": labels,
        "unseen": sorted({str(document.domain) for document in parts.target_test}),
        "points": [
            [round(float(x), 2), round(float(y), 2), domains.index(str(text.domain)), labels.index(str(text.label))]
            for (x, y), text in zip(points, shown, strict=True)
        ],
    }


def _lengths(sight: Sight) -> Record:
    """Accuracy by unseen domain on texts cut to their first bytes; a shorter text stays as it is."""
    found = {}
    for length in LENGTHS:
        cut = [
            Document(_first_bytes(document.text, length), document.label, document.domain)
            for document in sight.parts.target_test
        ]
        found[str(length)] = {
            domain: plain(sight.teller.answers(texts)[1].mean()) for domain, texts in by_domain(cut).items()
        }
    return found


def _first_bytes(text: str, length: int) -> str:
    return text.encode("utf-8", "replace")[:length].decode("utf-8", "ignore")


def _calibration(sight: Sight) -> Record:
    """Whether probabilities mean what they say on the unseen domains, and how sure texts of another kind make it."""
    documents = sight.parts.target_test
    confidence, right = sight.teller.answers(documents)
    weight = even_weights([document.domain for document in documents])
    bins = reliability(confidence, right, weight)
    return {
        "error": expected_error(bins),
        "bins": bins,
        "coverage": coverage(confidence, right, weight, THRESHOLDS),
        "foreign": {kind: _sureness(sight.teller.probabilities(texts)) for kind, texts in foreign_texts().items()},
    }


def _sureness(probabilities: FloatArray) -> Mapping[str, Any]:
    best = probabilities.max(axis=1)
    return {"mean": plain(best.mean()), "answered": [plain((best >= threshold).mean()) for threshold in THRESHOLDS]}


LOOKS: Mapping[str, Callable[[Sight], Any]] = {
    "gates": _gates,
    "ways": _ways,
    "diagnosis": _diagnosis,
    "map": _map,
    "lengths": _lengths,
    "calibration": _calibration,
}
