"""The loop: epochs, batches, turns of the optimiser, a named selection rule, early stopping, a checkpoint an epoch.

It knows nothing of gates. A killed run that goes on from its checkpoint gives the weights, to the bit, of one that was
never killed: the checkpoint holds weights, moments and the generator's state, and the order of an epoch's batches
depends on the seed and the epoch's number alone.
"""

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from domaingate.batches import Batch, Dataset, shuffled
from domaingate.config import TrainingConfig
from domaingate.errors import DomainGateError
from domaingate.inference import run
from domaingate.metrics import mean_scores
from domaingate.model.base import Model, Turn, trainable
from domaingate.optimizer import Adam, Average
from domaingate.storage import prefixed, read_tensors, under, write_tensors

Record = dict[str, Any]
Weights = dict[str, Tensor]


class Observer(Protocol):
    """Somebody who watches a run."""

    def step(self, epoch: int, done: int, steps: int, terms: Mapping[str, float]) -> None:
        """After a batch: the means of the named terms in this epoch so far."""

    def look(self, model: Model) -> Record:
        """After an epoch's scores, before its line is written: what to add to it. Nothing is chosen by that."""

    def epoch(self, record: Record) -> None:
        """After an epoch, with its line of the history."""


class Silence:
    """The observer that looks away."""

    def step(self, epoch: int, done: int, steps: int, terms: Mapping[str, float]) -> None:
        """Do nothing."""

    def look(self, model: Model) -> Record:
        """Add nothing."""
        return {}

    def epoch(self, record: Record) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class DevPart:
    """Documents that a selection rule may look at, with the domain of each."""

    data: Dataset
    domains: Sequence[str | None]


@dataclass
class Progress:
    """All that a run has reached, besides the state of the optimiser."""

    history: list[Record] = field(default_factory=list)
    kept: Weights = field(default_factory=dict)  # the weights of the best epoch so far
    problem: str | None = None  # why the run ended early, in a sentence

    @property
    def kept_epoch(self) -> int:
        """The epoch whose weights are kept: the last one that improved."""
        return max((record["epoch"] for record in self.history if record["kept"]), default=0)


@dataclass(frozen=True)
class Checkpoint:
    """Where a run leaves its state after every epoch, and what it must match to go on from there."""

    path: Path
    identity: str
    resume: bool = False


class _NotFiniteError(Exception):
    """A loss or weight that is not finite; the message says where."""


def train(
    model: Model,
    data: Dataset,
    dev: Mapping[str, DevPart],
    select: str,
    config: TrainingConfig,
    seed: int,
    checkpoint: Checkpoint | None = None,
    observer: Observer | None = None,
) -> Progress:
    """Train until `patience` epochs have not improved the `select` part of `dev`; leave the best weights in `model`.

    Without such a part every epoch counts as an improvement, so the last one is kept.
    """
    observer = observer or Silence()
    optimizer, average = Adam(trainable(model), config.learning_rate), Average(trainable(model), config.average)
    progress = _restore(checkpoint, model, optimizer, average) if checkpoint and checkpoint.resume else Progress()
    for epoch in range(len(progress.history) + 1, config.epochs + 1):
        if epoch - 1 - progress.kept_epoch >= config.patience:
            break
        try:
            record = _train_epoch(model, optimizer, average, data, config, epoch, seed, observer)
            with average.applied():
                record.update(_scores(model, dev, epoch))
                _judge(record, model, select, progress)
                record.update(observer.look(model))
        except _NotFiniteError as problem:
            progress.problem = _told(str(problem), progress, config)
            break
        observer.epoch(record)
        if checkpoint:
            _save(checkpoint, model, optimizer, average, progress)
    model.load_state_dict(progress.kept)
    return progress


def _train_epoch(
    model: Model,
    optimizer: torch.optim.Optimizer,
    average: Average,
    data: Dataset,
    config: TrainingConfig,
    epoch: int,
    seed: int,
    observer: Observer,
) -> Record:
    """One pass over the training texts; the record of its means."""
    started = time.perf_counter()
    device = next(model.parameters()).device
    steps = math.ceil(len(data) / config.batch_size)
    sums: dict[str, float] = {}
    turns = model.turns()
    random = np.random.default_rng([seed, epoch])
    model.train()
    for step, batch in enumerate(shuffled(data.cut(config.cuts, random), config.batch_size, random)):
        for turn in turns:
            for name, value in _step(turn, batch.to(device), optimizer, epoch - 1 + step / steps).items():
                sums[name] = sums.get(name, 0.0) + value
        average.follow()
        means = {name: value / (step + 1) for name, value in sums.items()}
        if not all(math.isfinite(mean) for mean in means.values()):
            raise _NotFiniteError(
                f"The loss was not finite in epoch {epoch}, step {step + 1} of {steps} ({_listed(means)})."
            )
        observer.step(epoch, step + 1, steps, means)
    if not all(bool(weight.isfinite().all()) for weight in model.parameters()):
        raise _NotFiniteError(f"A weight was not finite after epoch {epoch}.")
    if not _answers(model, batch.to(device)).isfinite().all():
        raise _NotFiniteError(f"The answers were not finite after epoch {epoch}.")
    return {"epoch": epoch, "seconds": round(time.perf_counter() - started, 3), "terms": means}


def _answers(model: Model, batch: Batch) -> Tensor:
    """(B, Y): log-probabilities as in prediction."""
    model.eval()
    with torch.inference_mode():
        return model.predict(batch).log_probabilities


def _step(turn: Turn, batch: Batch, optimizer: torch.optim.Optimizer, epoch: float) -> dict[str, float]:
    """Minimise one turn's terms over its parameters; the terms' values."""
    terms = turn.terms(batch, epoch)
    optimizer.zero_grad()
    torch.stack(list(terms.values())).sum().backward(inputs=list(turn.parameters))  # type: ignore[no-untyped-call]
    optimizer.step()
    return {name: float(term.detach()) for name, term in terms.items()}


def _scores(model: Model, dev: Mapping[str, DevPart], epoch: int) -> Record:
    """The score of every dev part."""
    scores = {name: _score(model, part) for name, part in dev.items()}
    for name, score in scores.items():
        if not math.isfinite(score["nll"]):
            raise _NotFiniteError(f"The likelihood of {name} was not finite after epoch {epoch}.")
    return scores


def _judge(record: Record, model: Model, select: str, progress: Progress) -> None:
    """Keep the weights where the chosen dev part has improved."""
    best = max((_rank(old, select) for old in progress.history), default=None)
    record["kept"] = best is None or select not in record or _rank(record, select) > best
    progress.history.append(record)
    if record["kept"]:
        progress.kept = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _rank(record: Record, select: str) -> tuple[float, float]:
    """Accuracy decides; between equals, the likelihood."""
    score = record.get(select, {"accuracy": 0.0, "nll": 0.0})
    return score["accuracy"], -score["nll"]


def _score(model: Model, part: DevPart) -> dict[str, float]:
    """Accuracy and negative log-likelihood by the prior's mean, each domain counting the same."""
    return mean_scores(run(model, part.data).probabilities, part.data.label, part.domains)


def _told(problem: str, progress: Progress, config: TrainingConfig) -> str:
    advice = f"Try a smaller --learning-rate than {config.learning_rate:g}, or a smaller --kl-weight."
    if not progress.kept:
        raise DomainGateError(f"{problem} No epoch had ended, so there is no model to keep. {advice}")
    return f"{problem} The model of epoch {progress.kept_epoch} is kept. {advice}"


def _listed(terms: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in terms.items())


def _save(
    checkpoint: Checkpoint, model: Model, optimizer: torch.optim.Optimizer, average: Average, progress: Progress
) -> None:
    """One file with everything, renamed into place when it is whole."""
    moments = {
        f"{row}.{name}": value
        for row, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
    }
    story = json.dumps({"identity": checkpoint.identity, "history": progress.history, "batches": average.batches})
    tensors = {
        **prefixed("model", model.state_dict()),
        **prefixed("kept", progress.kept),
        **prefixed("optimizer", moments),
        **prefixed("average", {str(row): weight for row, weight in enumerate(average.weights)}),
        **prefixed("generator", _generators(model)),
        "story": torch.frombuffer(bytearray(story.encode()), dtype=torch.uint8),
    }
    write_tensors(checkpoint.path, tensors)


def _generators(model: Model) -> dict[str, Tensor]:
    """The states of all generators that training draws from."""
    device = next(model.parameters()).device
    cuda = {"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {}
    return {"cpu": torch.get_rng_state(), **cuda}


def _restore(checkpoint: Checkpoint, model: Model, optimizer: torch.optim.Optimizer, average: Average) -> Progress:
    """The state that `_save` left; a fresh start where there is none."""
    if not checkpoint.path.exists():
        return Progress()
    try:
        tensors = read_tensors(checkpoint.path)
        story = json.loads(bytes(tensors["story"].numpy()))
        identity, history, _ = story["identity"], story["history"], story["batches"]
    except (DomainGateError, KeyError, ValueError, TypeError):
        raise DomainGateError(
            f"{checkpoint.path} is not the checkpoint of a run; start anew without --resume."
        ) from None
    if identity != checkpoint.identity:
        raise DomainGateError(
            f"{checkpoint.path} is the checkpoint of a run with other options or other texts; "
            "give the options of that run, or start anew without --resume."
        )
    model.load_state_dict(under("model", tensors))
    average.batches = story["batches"]
    for row, weight in under("average", tensors).items():
        average.weights[int(row)].copy_(weight)
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in under("optimizer", tensors).items():
        row, moment = name.split(".")
        state.setdefault(int(row), {})[moment] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    torch.set_rng_state(tensors["generator.cpu"])
    if "generator.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["generator.cuda"], next(model.parameters()).device)
    return Progress(history=history, kept=under("kept", tensors))
