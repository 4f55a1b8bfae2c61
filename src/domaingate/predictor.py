"""The one way to predict: texts to labels, probabilities and gates. Evaluation, commands and estimator all use it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from domaingate import inference
from domaingate.artifact import Artifact, Label
from domaingate.batches import dataset
from domaingate.config import Inference
from domaingate.corpora.document import Document
from domaingate.inference import FloatArray, Outputs


@dataclass(frozen=True)
class Predictor:
    """A model in use. Random ways to predict draw from a generator of its own, seeded once."""

    artifact: Artifact
    inference: Inference | None = None  # the model's own unless given
    samples: int | None = None
    seed: int = 0
    _generator: dict[str, torch.Tensor] = field(default_factory=dict, repr=False)

    @property
    def labels(self) -> Sequence[Label]:
        """The labels, in the order of the probabilities' columns."""
        return self.artifact.labels

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
        return outputs

    def best(self, probabilities: FloatArray) -> list[Label]:
        """The most probable label of each row."""
        return [self.labels[column] for column in np.argmax(probabilities, axis=1)]

    def _resume_generator(self) -> None:
        if "state" in self._generator:
            torch.set_rng_state(self._generator["state"])
        else:
            torch.manual_seed(self.seed)
