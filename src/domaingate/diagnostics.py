"""Numbers about gates and representations: pure functions of arrays, each with the chance level beside it.

What the given texts cannot tell is null, with a reason beside it.
"""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domaingate.inference import FloatArray

Numbers = dict[str, Any]
IntArray = NDArray[np.int64]

FEWEST = 10  # texts below which neither a map nor a classifier says anything
ROUNDING = 1e-6  # a standard deviation that float32 makes of a constant
_NEIGHBOURS = 10
_HELD_BACK = 0.3  # the paper's 70:30


def gate_spread(gates: FloatArray, domains: IntArray) -> Numbers:
    """How far each gate varies from domain to domain and how far within one: gates (N, k), domains (N,).

    Standard deviations, and the share of the variance that lies between domains, each domain counting the same;
    `chance` is the share to expect of gates that know nothing of domains. Gates that hardly vary have collapsed.
    """
    known = domains >= 0
    _, rows, counts = np.unique(domains[known], return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return nothing("Texts of two known domains are needed.", "between", "within", "share", "overall", "chance")
    groups = [gates[known][rows == row].astype(np.float64) for row in range(len(counts))]
    between = np.var([group.mean(axis=0) for group in groups], axis=0)  # (k,)
    within = np.mean([group.var(axis=0) for group in groups], axis=0)  # (k,)
    total = between + within
    vary = np.sqrt(total) > ROUNDING
    expected = np.mean(1 / counts) * (1 - 1 / len(counts))  # of `between`, where the variance within is 1
    return {
        "between": plain(np.sqrt(between)),
        "within": plain(np.sqrt(within)),
        "share": [plain(between[c] / total[c]) if vary[c] else None for c in range(len(vary))],
        "overall": plain(between.sum() / total.sum()) if vary.any() else None,
        "chance": plain(expected / (expected + np.mean(1 - 1 / counts))),
        "reason": None if vary.any() else "The gates are the same for every text.",
    }


def purity(hidden: FloatArray, classes: IntArray) -> Numbers:
    """The share of a text's ten nearest neighbours that are of its class: hidden (N, h), classes (N,)."""
    hidden, classes = hidden[classes >= 0], classes[classes >= 0]
    if reason := _hindrance(classes):
        return nothing(reason, "purity", "chance", "texts")
    neighbours = min(_NEIGHBOURS, len(classes) - 1)
    nearest = NearestNeighbors(n_neighbors=neighbours).fit(hidden).kneighbors(return_distance=False)  # never the text
    counts = np.bincount(classes)
    return {
        "purity": plain(np.mean(classes[nearest] == classes[:, None])),
        "chance": plain((counts * (counts - 1)).sum() / (len(classes) * (len(classes) - 1))),
        "texts": len(classes),
        "reason": None,
    }


def diagnose(samples: FloatArray, classes: IntArray, seed: int = 0) -> Numbers:
    """How well logistic regression tells the class of a text from z (figure 4): samples (m, N, k), classes (N,).

    Learned on 70 % of the texts and scored on the others, once for each sample. A class needs two texts to take part.
    Each gate is brought to unit variance first, so that one of small variance is not drowned by the penalty.
    """
    known = np.flatnonzero(classes >= 0)
    _, rows, counts = np.unique(classes[known], return_inverse=True, return_counts=True)
    kept = known[counts[rows] >= 2]
    if reason := _hindrance(classes[kept]):
        return no_diagnosis(reason)
    learn, score = _split(kept, classes, seed)
    runs, converged = zip(*(_classify(z, classes, learn, score) for z in samples), strict=True)
    return {
        "accuracy": plain(np.mean(runs)),
        "runs": plain(np.array(runs)),
        "chance": plain(np.bincount(classes[score]).max() / len(score)),
        "texts": len(kept),
        "classes": len(np.unique(classes[kept])),
        "converged": all(converged),
        "reason": None,
    }


def even_sample(classes: IntArray, size: int, seed: int) -> IntArray:
    """`size` rows in random order, as evenly over the classes as they have rows: of each class in turn."""
    order = np.random.default_rng(seed).permutation(len(classes))
    turn = np.empty(len(classes), dtype=np.int64)
    for one in np.unique(classes):
        mine = classes[order] == one
        turn[mine] = np.arange(mine.sum())
    return order[np.argsort(turn, kind="stable")][:size]


def _split(rows: IntArray, classes: IntArray, seed: int) -> tuple[IntArray, IntArray]:
    """70:30, class by class unless there are more classes than the 30 % have texts."""
    stratify = classes[rows] if len(np.unique(classes[rows])) <= math.ceil(_HELD_BACK * len(rows)) else None
    learn, score = train_test_split(rows, test_size=_HELD_BACK, random_state=seed, stratify=stratify)
    return learn, score


def _classify(z: FloatArray, classes: IntArray, learn: IntArray, score: IntArray) -> tuple[float, bool]:
    """Accuracy, and whether the fit converged."""
    classifier = LogisticRegression(max_iter=1000)
    pipeline = make_pipeline(StandardScaler(), classifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told in the result
        warnings.filterwarnings("ignore", message="The number of unique classes")  # many languages are no regression
        pipeline.fit(z[learn].astype(np.float64), classes[learn])
    right = pipeline.predict(z[score].astype(np.float64)) == classes[score]
    return float(np.mean(right)), bool((classifier.n_iter_ < classifier.max_iter).all())


def _hindrance(classes: IntArray) -> str | None:
    """Why classes cannot be told apart."""
    if len(classes) < FEWEST:
        return f"There are {len(classes)} texts to tell apart; {FEWEST} are needed."
    if len(np.unique(classes)) < 2:
        return "All texts are of one class."
    return None


def nothing(reason: str, *names: str) -> Numbers:
    """Nulls, and why."""
    return {**dict.fromkeys(names), "reason": reason}


def plain(values: Any) -> Any:
    """A number or array as JSON has it, without digits that mean nothing."""
    return np.round(np.asarray(values, dtype=np.float64), 6).tolist()


def no_diagnosis(reason: str) -> Numbers:
    """A diagnosis that could not be made, and why."""
    return nothing(reason, "accuracy", "runs", "chance", "texts", "classes", "converged")
