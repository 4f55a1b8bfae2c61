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

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict

from domaingate import experiment, inference
from domaingate.artifact import label_name
from domaingate.baselines import BASELINES, bag_of_words
from domaingate.batches import Dataset, dataset
from domaingate.config import to_json
from domaingate.corpora import load
from domaingate.ledger import Record, provenance
from domaingate.looks import LOOKS, Sight, Teller, by_domain
from domaingate.metrics import mean_scores
from domaingate.model.base import Model
from domaingate.predictor import Predictor
from domaingate.protocol import Documents, Parts, digest, divide
from domaingate.study import Run, machine_free
from domaingate.training import Silence

_FOLDS = 5


def play(run: Run, device: str = "cpu", threads: int = 1, checkpoint: Path | None = None) -> Record:
    """Train, score and look; the record."""
    started = time.perf_counter()
    config = replace(run.config, device=device, threads=threads)
    parts = divide(load(run.corpus), config)
    found = _found(replace(run, config=config), parts, checkpoint)
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


def _found(run: Run, parts: Parts, checkpoint: Path | None) -> Record:
    if run.linear is None:
        return _network(run, parts, checkpoint)
    return _OTHERS[run.linear](parts) if run.linear in _OTHERS else _baseline(run, parts)


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
    names = [label_name(label) for label in prepared.labels]
    witness = Witness(dataset(parts.target_test, prepared.encoder, names, ()), parts.target_test)
    fitted, problem = experiment.fit(prepared, checkpoint, resume=True, observer=witness)
    predictor = Predictor(fitted, inference="mean")
    sight = Sight(parts, Teller(names, lambda texts: predictor.outputs(texts).probabilities), fitted)
    with inference.limited_to(run.config.threads):
        also = {look: LOOKS[look](sight) for look in sorted(run.also | {"gates"})}
    return {
        "candidates": fitted.metrics["history"],
        "parameters": fitted.metrics["parameters"],
        "problem": problem,
        "also": also,
    }


def _baseline(run: Run, parts: Parts) -> Record:
    """A baseline on the training texts, a candidate for each strength; looked into is what the run's rule chooses."""
    way = BASELINES[str(run.linear)]
    train = [document for document in parts.train if document.label is not None]
    shown = {name: part for name, part in (("source-dev", parts.source_dev), ("target-dev", parts.target_dev)) if part}
    candidates, tellers = [], []
    for strength in way.strengths:
        started = time.perf_counter()
        model = way.build(strength)
        model.fit([document.text for document in train], [document.label for document in train])
        seconds = round(time.perf_counter() - started, 3)
        teller = Teller([str(label) for label in model.classes_], model.predict_proba)
        scores = {name: _scores(teller, documents) for name, documents in shown.items()}
        right = {name: pack(teller.answers(texts)[1]) for name, texts in by_domain(parts.target_test).items()}
        candidates.append({"strength": strength, "seconds": seconds, **scores, "right": right})
        tellers.append(teller)
    kept = tellers[candidates.index(choose(candidates, run.config.select))]
    return {
        "candidates": candidates,
        "also": {look: LOOKS[look](Sight(parts, kept, None)) for look in sorted(run.also)},
    }


def choose(candidates: Sequence[Record], rule: str) -> Record:
    """The candidate that a dev part likes best; where there is no score of it, the only one that there is."""
    if len(candidates) == 1:
        return candidates[0]
    return max(candidates, key=lambda candidate: (candidate[rule]["accuracy"], -candidate[rule]["nll"]))


def _scores(teller: Teller, documents: Documents) -> Mapping[str, float]:
    truth = np.array([teller.labels.index(str(document.label)) for document in documents])
    probabilities = teller.probabilities([document.text for document in documents])
    return mean_scores(probabilities, truth, [document.domain for document in documents])


def _in_domain(parts: Parts) -> Record:
    """Word pairs trained on the other texts of the unseen domain itself, by cross-validation; C by one within it."""
    started = time.perf_counter()
    right = {}
    dev = by_domain(parts.target_dev)
    for domain, test in by_domain(parts.target_test).items():
        texts = [*test, *dev[domain]]
        labels = np.array([text.label for text in texts])
        penalties = {"logisticregression__C": BASELINES["word pairs"].strengths}
        model = GridSearchCV(bag_of_words(2), penalties, cv=_FOLDS)
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
        answers = cross_val_predict(model, [text.text for text in texts], labels, cv=folds)
        right[domain] = pack((answers == labels)[: len(test)])
    return {"candidates": [{"seconds": round(time.perf_counter() - started, 3), "right": right}]}


_OTHERS: dict[str, Callable[[Parts], Record]] = {"in domain": _in_domain, "counts": lambda _: {"candidates": []}}


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
