"""The scikit-learn estimator: texts, labels and domains in, any of the last two partly unknown."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from domaingate import artifact, experiment
from domaingate.card import card
from domaingate.config import FitConfig, ModelConfig, TrainingConfig, validate
from domaingate.corpora import Corpus, Document
from domaingate.errors import DomainGateError
from domaingate.predictor import Predictor
from domaingate.protocol import divide


@dataclass(kw_only=True, eq=False, repr=False)
class DomainGateClassifier(ClassifierMixin, BaseEstimator, TrainingConfig, ModelConfig):  # type: ignore[misc]
    """A text classifier whose channels are gated by a latent domain.

    Its parameters are the options of `domaingate fit`; `random_state` is the seed.

    >>> model = DomainGateClassifier(model="csda", gate="dirichlet", channels=13)
    >>> model.fit(texts, labels, domains=domains).predict(texts)  # doctest: +SKIP
    """

    random_state: int | np.random.RandomState | None = None

    def fit(
        self,
        X: Sequence[str],
        y: Sequence[Any],
        domains: Sequence[Any] | None = None,
    ) -> "DomainGateClassifier":
        """Train on texts `X`; `None` (or NaN) in `y` or `domains` stands for unknown."""
        texts = _texts(X)
        labels, places = _unknown_as_none(y, len(texts), "labels"), _unknown_as_none(domains, len(texts), "domains")
        self.classes_ = np.unique(np.asarray([label for label in labels if label is not None]))
        documents = [
            Document(text, None if label is None else str(label), None if place is None else str(place), f"text {row}")
            for row, (text, label, place) in enumerate(zip(texts, labels, places, strict=True))
        ]
        config = self._config()
        parts = divide(Corpus("the given texts", documents), config, config.dev_share, config.seed)
        prepared = experiment.prepare(parts, config, self.classes_.tolist())
        fitted, problem = experiment.fit(prepared)
        if problem:
            warnings.warn(problem, RuntimeWarning, stacklevel=2)
        self._use(fitted)
        return self

    def predict(self, X: Sequence[str]) -> NDArray[Any]:
        """The most probable label of each text."""
        best: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return best

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float32]:
        """(N, labels): probabilities, in the order of `classes_`."""
        check_is_fitted(self, "predictor_")
        return self.predictor_.outputs(_texts(X)).probabilities

    def predict_gates(self, X: Sequence[str]) -> NDArray[np.float32]:
        """(N, k): the mean of z under the prior."""
        check_is_fitted(self, "predictor_")
        return self.predictor_.outputs(_texts(X)).gates

    def save(self, folder: str | Path) -> None:
        """Write a model folder."""
        check_is_fitted(self, "predictor_")
        fitted = self.predictor_.artifact
        artifact.save(fitted, Path(folder), card(fitted, "texts given in Python"))

    @classmethod
    def load(cls, folder: str | Path) -> "DomainGateClassifier":
        """Read a model folder, whoever wrote it."""
        fitted = artifact.load(Path(folder))
        names = {item.name for base in (ModelConfig, TrainingConfig) for item in fields(base)}
        self = cls(**{name: getattr(fitted.config, name) for name in names}, random_state=fitted.config.seed)
        self._use(fitted)
        return self

    def _use(self, fitted: artifact.Artifact) -> None:
        self.classes_ = np.asarray(fitted.labels)
        self.predictor_ = Predictor(fitted)

    def _config(self) -> FitConfig:
        names = {item.name for base in (ModelConfig, TrainingConfig) for item in fields(base)}
        config = FitConfig(**{name: getattr(self, name) for name in names}, test_share=0.0)
        return validate(replace(config, seed=_seed(self.random_state)))


def _seed(random_state: int | np.random.RandomState | None) -> int:
    if random_state is None:
        return int(np.random.randint(2**31))  # noqa: NPY002 - scikit-learn's convention: numpy's own generator
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(random_state)


def _texts(texts: Sequence[str]) -> list[str]:
    found = list(texts)
    for row, text in enumerate(found):
        if not isinstance(text, str):
            raise DomainGateError(f"Text {row} is {type(text).__name__}, not a string; give a list of strings.")
    return found


def _unknown_as_none(values: Sequence[Any] | None, count: int, what: str) -> list[Any]:
    """The values as a list, with `None` for unknown ones."""
    if values is None:
        return [None] * count
    found = [None if value is None or value != value else value for value in np.asarray(values, dtype=object).tolist()]
    if len(found) != count:
        raise DomainGateError(f"There are {count} texts but {len(found)} {what}; give one for each text.")
    return found
