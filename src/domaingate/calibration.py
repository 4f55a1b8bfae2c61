"""How far a probability can be trusted: pure functions of the answer's probability and of whether it was right.

Texts have weights, so that every domain can count the same whatever its size.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

BINS = 15


def even_weights(domains: Sequence[str | None]) -> FloatArray:
    """(N,) weights that sum to 1, those of each domain to the same."""
    names, rows, counts = np.unique([str(domain) for domain in domains], return_inverse=True, return_counts=True)
    return np.asarray(1 / (len(names) * counts[rows]))


def reliability(confidence: FloatArray, right: NDArray[np.bool_], weight: FloatArray) -> list[dict[str, float]]:
    """Bins of equal width with a text in them: their share of the weight, mean confidence and accuracy."""
    places = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    rows = []
    for place in np.unique(places):
        inside = places == place
        share = weight[inside].sum()
        rows.append(
            {
                "share": float(share),
                "confidence": float((weight * confidence)[inside].sum() / share),
                "accuracy": float((weight * right)[inside].sum() / share),
            }
        )
    return rows


def expected_error(bins: Sequence[dict[str, Any]]) -> float:
    """Expected calibration error: how far confidence and accuracy of a bin lie apart, on average."""
    return float(sum(one["share"] * abs(one["confidence"] - one["accuracy"]) for one in bins))


def coverage(
    confidence: FloatArray, right: NDArray[np.bool_], weight: FloatArray, thresholds: Sequence[float]
) -> list[dict[str, float | None]]:
    """For each threshold, the share of texts that get an answer, and the accuracy of those answers."""
    rows: list[dict[str, float | None]] = []
    for threshold in thresholds:
        answered = confidence >= threshold
        share = float(weight[answered].sum())
        precision = float((weight * right)[answered].sum() / share) if share else None
        rows.append({"threshold": threshold, "coverage": share, "precision": precision})
    return rows
