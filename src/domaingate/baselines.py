"""What a user would try in five minutes: the bar that every gated model is printed beside.

Each is anything with `fit(texts, labels)`, `predict_proba(texts)` and `classes_`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from domaingate.encoding import ByteEncoder
from domaingate.errors import DomainGateError
from domaingate.ngrams import AT_ONCE, codes_of

_LONGEST, _BITS, _LIMIT = 4, 18, 1000  # of runs of bytes: their length, the columns, how much of a text
_PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def bag_of_words(longest: int, penalty: float = 10.0) -> Pipeline:
    """Logistic regression with C = `penalty` over tf-idf of runs of up to `longest` words."""
    words = TfidfVectorizer(ngram_range=(1, longest), sublinear_tf=True, min_df=2)
    return make_pipeline(words, LogisticRegression(C=penalty, max_iter=1000))


def bag_of_word_pairs() -> Pipeline:
    """The strongest of them at its usual penalty."""
    return bag_of_words(2)


def byte_ngrams(texts: Sequence[str], longest: int = _LONGEST, bits: int = _BITS) -> csr_matrix:
    """(N, 2^bits): how often each run of up to `longest` bytes stands in a text; runs may share a column."""
    pieces = [csr_matrix((0, 1 << bits), dtype=np.float32)]
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        codes, rows = codes_of(ByteEncoder(_LIMIT).encode(some), longest)
        whole = codes > 0
        columns = (codes[whole] >> np.uint64(64 - bits)).astype(np.int32)
        places = np.broadcast_to(rows[:, None], codes.shape)[whole], columns
        pieces.append(csr_matrix((np.ones(len(columns), np.float32), places), shape=(len(some), 1 << bits)))
    return vstack(pieces, format="csr")


def naive_bayes(smoothing: float) -> Pipeline:
    """Multinomial naive Bayes over counts of runs of bytes, every label as probable as any other beforehand."""
    return make_pipeline(FunctionTransformer(byte_ngrams), MultinomialNB(alpha=smoothing, fit_prior=False))


def logistic_regression(penalty: float) -> Pipeline:
    """Logistic regression, each label against all others, over logarithms of counts of runs of bytes."""
    parts = FunctionTransformer(byte_ngrams), FunctionTransformer(np.log1p), Normalizer()
    model = SGDClassifier(loss="log_loss", alpha=penalty, max_iter=8, tol=None, random_state=0, n_jobs=1)
    return make_pipeline(*parts, model)


class Detector:
    """A language detector with a model of its own, asked for the labels that `fit` saw."""

    def __init__(self, name: str) -> None:
        module, which = _DETECTORS[name]
        try:
            loaded = import_module(module)
        except ImportError:
            raise DomainGateError(f"{name} is not installed: pip install 'domaingate[langid]'.") from None
        self._identifier = which(loaded)
        self.classes_: NDArray[np.str_] = np.empty(0, dtype=str)

    def fit(self, texts: Sequence[str], labels: Sequence[str]) -> "Detector":
        """Keep to these labels, as far as it knows them; where it knows none of them, to all of its own."""
        self.classes_ = np.unique(labels)
        known = [code for code in _codes(self._identifier) if _ours(code) in set(self.classes_)]
        self._identifier.set_languages(known or None)
        return self

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(N, Y): 0 for a label that it does not know."""
        columns = {str(label): column for column, label in enumerate(self.classes_)}
        found = np.zeros((len(texts), len(columns)))
        with np.errstate(over="ignore"):  # langid.py normalises through exponentials of large differences
            for row, text in zip(found, texts, strict=True):
                for code, probability in self._identifier.rank(text):
                    if _ours(code) in columns:
                        row[columns[_ours(code)]] += probability
        return found


def _codes(identifier: Any) -> Sequence[str]:
    return [str(code) for code in identifier.nb_classes]


def _ours(code: str) -> str:
    """Bokmål is counted as Norwegian, as the benchmarks have it."""
    return "no" if code == "nb" else code


_DETECTORS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "langid.py": (
        "langid.langid",
        lambda module: module.LanguageIdentifier.from_modelstring(module.model, norm_probs=True),
    ),
    "py3langid": (
        "py3langid.langid",
        lambda module: module.LanguageIdentifier.from_model_file(module.MODEL_FILE, norm_probs=True),
    ),
}


@dataclass(frozen=True)
class Baseline:
    """A way to tell labels without a network, and the strengths of it that a dev part chooses among."""

    build: Callable[[float], Any]
    strengths: Sequence[float]


BASELINES: Mapping[str, Baseline] = {
    "words": Baseline(partial(bag_of_words, 1), _PENALTIES),
    "word pairs": Baseline(partial(bag_of_words, 2), _PENALTIES),
    "byte n-grams, naive Bayes": Baseline(naive_bayes, (1e-4, 1e-3, 1e-2, 1e-1, 1.0)),
    "byte n-grams, logistic regression": Baseline(logistic_regression, (1e-7, 1e-6, 1e-5)),
    "langid.py": Baseline(lambda _: Detector("langid.py"), (0.0,)),
    "py3langid": Baseline(lambda _: Detector("py3langid"), (0.0,)),
}
