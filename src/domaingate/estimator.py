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
from domaingate.inference import Outputs, limited_to
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
        classes = _classes(labels)
        kind = type(classes[0]) if classes else str  # 1 among floats is 1.0
        documents = [
            Document(
                text,
                None if label is None else artifact.label_name(kind(label)),
                None if place is None else str(place),
                f"text {row}",
            )
            for row, (text, label, place) in enumerate(zip(texts, labels, places, strict=True))
        ]
        config = self._config()
        parts = divide(Corpus("the given texts", documents), config)
        prepared = experiment.prepare(parts, config, classes)
        fitted, problem = experiment.fit(prepared)
        if problem:
            warnings.warn(problem, RuntimeWarning, stacklevel=2)
        self._use(fitted)
        return self

    def predict(self, X: Sequence[str]) -> NDArray[Any]:
        """The most probable label of each text."""
        rows = self.predict_proba(X).argmax(axis=1)
        best: NDArray[Any] = self.classes_[rows]
        return best

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float32]:
        """(N, labels): probabilities, in the order of `classes_`."""
        return self._outputs(X).probabilities

    def predict_gates(self, X: Sequence[str]) -> NDArray[np.float32]:
        """(N, k): the mean of z under the prior."""
        return self._outputs(X).gates

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

    def _outputs(self, texts: Sequence[str]) -> Outputs:
        """What the model makes of texts; a way to predict that draws begins anew, so that all methods agree."""
        check_is_fitted(self, "predictor_")
        fitted = self.predictor_.artifact
        with limited_to(fitted.config.threads):
            return Predictor(fitted, seed=fitted.config.seed).outputs(_texts(texts))

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
    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not whole or not 0 <= random_state < 2**63:
        raise DomainGateError(
            f"random_state is {random_state!r}; it takes None, a whole number from 0 to {2**63 - 1} or a RandomState."
        )
    return int(random_state)


def _classes(labels: Sequence[Any]) -> list[Any]:
    """The labels that occur, in numpy's order; of one kind, so that they come back as they were."""
    known = [label for label in labels if label is not None]
    kinds = {bool if isinstance(label, bool) else str if isinstance(label, str) else float for label in known}
    if len(kinds) > 1:
        raise DomainGateError("The labels are of several kinds; give strings only, numbers only, or truth values only.")
    classes: list[Any] = np.unique(np.asarray(known)).tolist()
    return classes


def _texts(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str | bytes):
        raise DomainGateError("One string was given where a list of strings is needed; put it in a list.")
    found = list(texts)
    for row, text in enumerate(found):
        if not isinstance(text, str):
            raise DomainGateError(f"Text {row} is {type(text).__name__}, not a string; give a list of strings.")
    return found


def _unknown_as_none(values: Sequence[Any] | None, count: int, what: str) -> list[Any]:
    """The values as a list, with `None` for unknown ones."""
    if values is None:
        return [None] * count
    plain = [value.item() if isinstance(value, np.generic) else value for value in np.asarray(values, dtype=object)]
    found = [None if _is_unknown(value) else value for value in plain]
    if len(found) != count:
        raise DomainGateError(f"There are {count} texts but {len(found)} {what}; give one for each text.")
    return found


def _is_unknown(value: Any) -> bool:
    """None, NaN, or a value that does not even equal itself for certain, as pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
