"""One run of a study, from its options to its record.

A run has candidates: the epochs of a network, the penalties of a linear model. Each is scored on both dev parts and on
the unseen test texts, text by text; which of them counts is a selection rule's affair, later and by name. So one run
serves every rule, and no rule has a say in the training.
"""

import base64
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict

from domaingate import experiment, inference
from domaingate.artifact import Artifact
from domaingate.baselines import bag_of_words
from domaingate.batches import Dataset, dataset
from domaingate.config import to_json
from domaingate.corpora import Document, load
from domaingate.diagnostics import diagnose, even_sample, gate_spread, plain
from domaingate.inspection import posterior_samples, tsne
from domaingate.ledger import Record, provenance
from domaingate.metrics import mean_scores
from domaingate.model.base import Model
from domaingate.model.recipes import CSDA, DSDA
from domaingate.protocol import Documents, Parts, digest, divide
from domaingate.study import Run, machine_free
from domaingate.training import Silence

_PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # C of the linear models
_FOLDS = 5
_DRAWS = 10  # of a way to predict that draws
_ON_MAP = 2000


def play(run: Run, device: str = "cpu", threads: int = 1, checkpoint: Path | None = None) -> Record:
    """Train, score and look; the record."""
    started = time.perf_counter()
    config = replace(run.config, device=device, threads=threads)
    parts = divide(load(run.corpus), config)
    found = (
        _network(replace(run, config=config), parts, checkpoint) if run.linear is None else _LINEAR[run.linear](parts)
    )
    return {
        "run": run.name,
        "study": run.study,
        "corpus": run.corpus,
        "linear": run.linear,
        "config": to_json(machine_free(config)),
        "texts": _counts(parts),
        "test": {domain: _fingerprint(texts) for domain, texts in by_domain(parts.target_test).items()},
        "parameters": None,
        "problem": None,
        "also": {},
        **found,
        "seconds": round(time.perf_counter() - started, 1),
        **provenance(device, threads),
    }


def by_domain(documents: Sequence[Document]) -> dict[str, Documents]:
    """Documents by the name of their domain."""
    names = sorted({str(document.domain) for document in documents})
    return {name: [document for document in documents if document.domain == name] for name in names}


def pack(right: NDArray[np.bool_]) -> str:
    """Which texts were told rightly, as base64 of bits."""
    return base64.b64encode(np.packbits(right).tobytes()).decode()


def unpack(packed: str, texts: int) -> NDArray[np.bool_]:
    """What `pack` packed."""
    return np.unpackbits(np.frombuffer(base64.b64decode(packed), np.uint8), count=texts).astype(bool)


@dataclass
class Witness(Silence):
    """Sees after every epoch which of the unseen test texts are told rightly."""

    data: Dataset
    documents: Documents

    def look(self, model: Model) -> Record:
        """Bits by domain."""
        return {"right": _bits(inference.run(model, self.data).probabilities.argmax(axis=1), self)}


def _bits(answers: NDArray[np.int64], witness: Witness) -> dict[str, str]:
    domains = np.array([document.domain for document in witness.documents])
    right = answers == witness.data.label
    return {domain: pack(right[domains == domain]) for domain in sorted(set(domains))}


def _network(run: Run, parts: Parts, checkpoint: Path | None) -> Record:
    prepared = experiment.prepare(parts, run.config)
    names = [str(label) for label in prepared.labels]
    witness = Witness(dataset(parts.target_test, prepared.encoder, names, ()), parts.target_test)
    fitted, problem = experiment.fit(prepared, checkpoint, resume=True, observer=witness)
    with inference.limited_to(run.config.threads):
        also = {look: _LOOKS[look](fitted, parts, witness) for look in sorted(run.also | {"gates"})}
    return {
        "candidates": fitted.metrics["history"],
        "parameters": fitted.metrics["parameters"],
        "problem": problem,
        "also": also,
    }


def _gates(fitted: Artifact, parts: Parts, witness: Witness) -> Record | None:
    """Mean gates by domain over texts that training has not seen, and how far they differ."""
    if not isinstance(fitted.model, DSDA | CSDA):
        return None
    documents = parts.source_dev + parts.target_test
    shown = [document for document in documents if document.domain is not None]
    gates = inference.run(fitted.model, dataset(shown, fitted.encoder, (), ())).gates
    names = sorted({str(document.domain) for document in shown})
    rows = np.array([names.index(str(document.domain)) for document in shown])
    return {
        "spread": gate_spread(gates, rows),
        "means": {name: plain(gates[rows == row].mean(axis=0)) for row, name in enumerate(names)},
    }


def _ways(fitted: Artifact, parts: Parts, witness: Witness) -> Record:
    """The four ways to predict: accuracy of one or more draws, each domain counting the same, and seconds a draw."""
    domains = [str(document.domain) for document in witness.documents]
    found = {}
    for way in ("sample", "mean", "monte-carlo", "importance"):
        draws, seconds = [], []
        for seed in range(_DRAWS if way == "sample" else 1):
            started = time.perf_counter()
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                outputs = inference.run(fitted.model, witness.data, way)
            seconds.append(time.perf_counter() - started)
            draws.append(mean_scores(outputs.probabilities, witness.data.label, domains)["accuracy"])
        found[way] = {"accuracy": plain(draws), "seconds": plain(np.median(seconds))}
    return found


def _diagnosis(fitted: Artifact, parts: Parts, witness: Witness) -> Record | None:
    """How well z, drawn from q for the training texts, tells label and domain (figure 4)."""
    if not isinstance(fitted.model, CSDA):
        return None
    data = dataset(parts.train, fitted.encoder, [str(label) for label in fitted.labels], fitted.domains)
    samples, mean = posterior_samples(fitted, parts.train, 0)
    return {
        name: {"samples": diagnose(samples, classes), "mean": diagnose(mean, classes)}
        for name, classes in (("label", data.label), ("domain", data.domain))
    }


def _map(fitted: Artifact, parts: Parts, witness: Witness) -> Record:
    """t-SNE of the representation of texts of all domains (figure 3)."""
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


_LOOKS: dict[str, Callable[[Artifact, Parts, Witness], Any]] = {
    "gates": _gates,
    "ways": _ways,
    "diagnosis": _diagnosis,
    "map": _map,
}


def _bag(longest: int) -> Callable[[Parts], Record]:
    """A linear model over words or word pairs of the training texts, a candidate for each penalty."""

    def fit(parts: Parts) -> Record:
        train = [document for document in parts.train if document.label is not None]
        candidates = []
        for penalty in _PENALTIES:
            started = time.perf_counter()
            model = bag_of_words(longest, penalty)
            model.fit([document.text for document in train], [document.label for document in train])
            seconds = round(time.perf_counter() - started, 3)
            shown = {"source-dev": parts.source_dev, "target-dev": parts.target_dev}
            scores = {name: _linear_scores(model, documents) for name, documents in shown.items() if documents}
            right = {
                domain: pack(model.predict([text.text for text in texts]) == [text.label for text in texts])
                for domain, texts in by_domain(parts.target_test).items()
            }
            candidates.append({"C": penalty, "seconds": seconds, **scores, "right": right})
        return {"candidates": candidates}

    return fit


def _linear_scores(model: Any, documents: Documents) -> Mapping[str, float]:
    probabilities = model.predict_proba([document.text for document in documents])
    truth = np.array([list(model.classes_).index(document.label) for document in documents])
    return mean_scores(probabilities, truth, [document.domain for document in documents])


def _in_domain(parts: Parts) -> Record:
    """Word pairs trained on the other texts of the unseen domain itself, by cross-validation; C by one within it."""
    started = time.perf_counter()
    right = {}
    dev = by_domain(parts.target_dev)
    for domain, test in by_domain(parts.target_test).items():
        texts = [*test, *dev[domain]]
        labels = np.array([text.label for text in texts])
        model = GridSearchCV(bag_of_words(2), {"logisticregression__C": _PENALTIES}, cv=_FOLDS)
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
        answers = cross_val_predict(model, [text.text for text in texts], labels, cv=folds)
        right[domain] = pack((answers == labels)[: len(test)])
    return {"candidates": [{"seconds": round(time.perf_counter() - started, 3), "right": right}]}


_LINEAR: dict[str, Callable[[Parts], Record]] = {
    "words": _bag(1),
    "word pairs": _bag(2),
    "in domain": _in_domain,
    "counts": lambda parts: {"candidates": []},
}


def _counts(parts: Parts) -> Record:
    """Texts of each part, and those of each training domain as far as it is known."""
    return {
        "train": len(parts.train),
        "train_with_label": sum(document.label is not None for document in parts.train),
        "train_with_domain": sum(document.domain is not None for document in parts.train),
        "source_dev": len(parts.source_dev),
        "target_dev": len(parts.target_dev),
        "target_test": len(parts.target_test),
        "train_by_domain": dict(sorted(Counter(text.domain for text in parts.train if text.domain).items())),
    }


def _fingerprint(documents: Documents) -> Record:
    """How many texts, and a digest by which two records know that theirs are the same."""
    story = [(digest(document.text), document.label) for document in documents]
    return {"texts": len(documents), "digest": sha256(repr(story).encode()).hexdigest()[:12]}
