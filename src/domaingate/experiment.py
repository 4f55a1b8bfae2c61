"""One run, from a corpus and a config to a model and its scores: the room that sees all the others."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from domaingate import __version__
from domaingate.artifact import Artifact, Label, label_name
from domaingate.batches import dataset
from domaingate.config import FitConfig, to_json
from domaingate.encoding import Encoder, train_encoder
from domaingate.errors import DomainGateError
from domaingate.evaluation import score
from domaingate.inference import check_device, limited_to
from domaingate.metrics import averages
from domaingate.model.base import Model, count_parameters
from domaingate.model.reader import Sizes
from domaingate.model.recipes import build
from domaingate.predictor import Predictor
from domaingate.protocol import Parts, digest
from domaingate.training import Checkpoint, DevPart, Observer, train


@dataclass(frozen=True)
class Prepared:
    """A run that has not begun: everything is checked and built, nothing is trained."""

    config: FitConfig
    parts: Parts
    labels: Sequence[Label]
    domains: Sequence[str]
    encoder: Encoder
    model: Model

    @property
    def parameters(self) -> dict[str, int]:
        """How many numbers the model holds, with and without the token embedding."""
        total, without = count_parameters(self.model)
        return {"total": total, "without_embedding": without}

    @property
    def identity(self) -> str:
        """What a checkpoint must agree with: the options, and the texts that are trained and chosen on."""
        parts = (self.parts.train, self.parts.source_dev, self.parts.target_dev)
        texts = [[(document.text, document.label, document.domain) for document in part] for part in parts]
        story = [__version__, to_json(self.config), texts]
        return sha256(json.dumps(story, sort_keys=True).encode("utf-8", "replace")).hexdigest()


def prepare(parts: Parts, config: FitConfig, labels: Sequence[Label] | None = None) -> Prepared:
    """Build encoder and model from the training part; `labels` fixes the order of the labels."""
    check_device(config.device)
    present = {document.label for document in parts.train if document.label is not None}
    _check_labels(parts, present)
    if config.select == "target-dev" and not parts.target_dev:
        raise DomainGateError(
            "No labelled text of the held-out domains is left for target-dev; raise --target-dev-share."
        )
    names: Sequence[Label] = sorted(present) if labels is None else labels
    domains = sorted({document.domain for document in parts.train if document.domain is not None})
    texts, known = zip(*((document.text, document.domain) for document in parts.train), strict=True)
    encoder = train_encoder(texts, config, known)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = build(config, Sizes(encoder.size, len(names), len(domains), encoder.weights)).to(config.device)
    return Prepared(config, parts, names, domains, encoder, model)


def fit(
    prepared: Prepared, checkpoint: Path | None = None, resume: bool = False, observer: Observer | None = None
) -> tuple[Artifact, str | None]:
    """Train, choose and score; the model, and in a sentence what ended the run early, if anything did."""
    with limited_to(prepared.config.threads):
        return _fit(prepared, checkpoint, resume, observer)


def _fit(
    prepared: Prepared, checkpoint: Path | None, resume: bool, observer: Observer | None
) -> tuple[Artifact, str | None]:
    config, parts = prepared.config, prepared.parts
    names = [label_name(label) for label in prepared.labels]
    data = dataset(parts.train, prepared.encoder, names, prepared.domains)
    dev = {
        name: DevPart(dataset(part, prepared.encoder, names, ()), [document.domain for document in part])
        for name, part in (("source-dev", parts.source_dev), ("target-dev", parts.target_dev))
        if part
    }
    place = Checkpoint(checkpoint, prepared.identity, resume) if checkpoint else None
    prepared.model.reader.prime(data)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        progress = train(prepared.model, data, dev, config.select, config, config.seed, place, observer)
    metrics = {
        "version": __version__,
        "trained_on": parts.source_domains,
        "held_out": sorted({str(document.domain) for document in parts.target_dev + parts.target_test}),
        "counts": _counts(parts),
        "parameters": prepared.parameters,
        "selection": config.select if config.select in dev else "last epoch",
        "kept_epoch": progress.kept_epoch,
        "history": progress.history,
        "problem": progress.problem,
    }
    seen = frozenset(digest(document.text) for document in parts.set_aside)
    artifact = Artifact(config, prepared.encoder, prepared.labels, prepared.domains, prepared.model, seen, metrics)
    return replace(artifact, metrics={**metrics, "scores": _scores(artifact, parts)}), progress.problem


def _scores(artifact: Artifact, parts: Parts) -> dict[str, Any]:
    """The test parts by domain, and averages."""
    scores = score(Predictor(artifact), parts.test) if parts.test else []
    return {"domains": [asdict(one) for one in scores], "averages": averages(scores)}


def _counts(parts: Parts) -> dict[str, Any]:
    """How many texts each part has, and of the training texts how many tell their domain and label."""
    train = parts.train
    return {
        "train": len(train),
        "train_with_label": sum(document.label is not None for document in train),
        "train_with_domain": sum(document.domain is not None for document in train),
        "train_labels": dict(Counter(document.label for document in train if document.label is not None)),
        "source_dev": len(parts.source_dev),
        "source_test": len(parts.source_test),
        "target_dev": len(parts.target_dev),
        "target_test": len(parts.target_test),
    }


def _check_labels(parts: Parts, present: set[str]) -> None:
    if not parts.train:
        raise DomainGateError("There is no text left to train on; hold out fewer domains or give more texts.")
    if len(present) < 2:
        only = f"only the label {next(iter(present))!r}" if present else "no label"
        raise DomainGateError(
            f"The training texts have {only}, and a classifier needs two or more; check --label-column, or hide fewer."
        )
    for document in parts.source_dev + parts.target_dev + parts.test:
        if document.label not in present:
            raise DomainGateError(
                f"{document.source or 'A text'} has the label {document.label!r}, which no training text has; "
                "remove such texts or keep some of them in training."
            )
