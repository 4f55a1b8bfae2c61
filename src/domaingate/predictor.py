"""The one way to predict: texts to labels, probabilities and gates. Evaluation, commands and estimator all use it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from domaingate import inference
from domaingate.artifact import Artifact, Label, label_name
from domaingate.batches import dataset
from domaingate.config import Inference
from domaingate.corpora.document import Document
from domaingate.errors import DomainGateError, listed
from domaingate.inference import FloatArray, Outputs

UNDETERMINED = "und"  # the answer of a model that is not sure enough; the code of languages for it


def check_finite(*arrays: FloatArray) -> None:
    """Refuse what a model computes where it is no number."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise DomainGateError("The model computes values that are no numbers; train it again at a lower learning rate.")


@dataclass(frozen=True)
class Predictor:
    """A model in use. Random ways to predict draw from a generator of its own, seeded once."""

    artifact: Artifact
    inference: Inference | None = None  # the model's own unless given
    samples: int | None = None
    seed: int = 0
    among: Sequence[str] = ()  # the labels that an answer may be; all unless some are named
    abstain_below: float = 0.0  # a less probable answer is `UNDETERMINED`
    _generator: dict[str, torch.Tensor] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Refuse labels that the model does not know."""
        known = {label_name(label) for label in self.artifact.labels}
        for name in self.among:
            if name not in known:
                raise DomainGateError(f"The model has no label {name!r}; it knows {listed(sorted(known), 100)}.")

    @property
    def labels(self) -> Sequence[Label]:
        """The labels that an answer may be, in the order of the probabilities' columns."""
        return [self.artifact.labels[column] for column in self._columns]

    @property
    def _columns(self) -> list[int]:
        names = [label_name(label) for label in self.artifact.labels]
        return [column for column, name in enumerate(names) if not self.among or name in self.among]

    @property
    def draws(self) -> bool:
        """Whether answers are random."""
        return (self.inference or self.artifact.config.inference) != "mean"

    def outputs(self, texts: Sequence[str]) -> Outputs:
        """Probabilities (N, Y), gates (N, k) and representations (N, h) of N texts, in their order."""
        config = self.artifact.config
        data = dataset([Document(text) for text in texts], self.artifact.encoder, (), ())
        with torch.random.fork_rng(devices=[]):
            self._resume_generator()
            outputs = inference.run(
                self.artifact.model, data, self.inference or config.inference, self.samples or config.samples
            )
            self._generator["state"] = torch.get_rng_state()
        check_finite(outputs.probabilities, outputs.gates, outputs.hidden)
        return replace(outputs, probabilities=self._restricted(outputs.probabilities)) if self.among else outputs

    def best(self, probabilities: FloatArray) -> list[Label]:
        """The most probable label of each row, where it is probable enough."""
        labels = self.labels
        return [
            labels[column] if row[column] >= self.abstain_below else UNDETERMINED
            for row, column in zip(probabilities, np.argmax(probabilities, axis=1), strict=True)
        ]

    def _restricted(self, probabilities: FloatArray) -> FloatArray:
        """p(y|x) given that y is one of the labels asked for; all alike where each of them is too small to be told."""
        chosen = probabilities[:, self._columns].astype(np.float64)
        total = chosen.sum(axis=1, keepdims=True)
        alike = np.full_like(chosen, 1 / chosen.shape[1])
        given: FloatArray = np.divide(chosen, total, out=alike, where=total > 0).astype(np.float32)
        return given

    def _resume_generator(self) -> None:
        if "state" in self._generator:
            torch.set_rng_state(self._generator["state"])
        else:
            torch.manual_seed(self.seed)
