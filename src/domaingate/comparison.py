"""How far an accuracy can be trusted: intervals over texts and seeds, and paired differences. Pure functions.

Both come from a bootstrap: texts are drawn anew within each domain, seeds anew within each row, and the average over
domains is computed again, so that an interval holds what other texts and other seeds would have given. S seeds drawn
from S differ less from each other than new ones would, by (S - 1) / S of the variance; the draws are stretched for it.
One seed says nothing of others: its interval is over texts alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Right = Mapping[str, NDArray[np.bool_]]  # by domain (S, N): which of N texts each of S seeds told rightly

_DRAWS = 2000
_LEVEL = 95


@dataclass(frozen=True)
class Difference:
    """How much better one row is than another, on the same texts."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def accuracies(right: Right) -> dict[str, NDArray[np.float64]]:
    """By domain, then of all domains with each counting the same: (S,) accuracies of the seeds."""
    of = {domain: told.mean(axis=1) for domain, told in right.items()}
    return {**of, "average": np.mean(list(of.values()), axis=0)}


def interval(right: Right) -> tuple[float, float]:
    """The 95 % interval of the average accuracy."""
    low, high = np.percentile(_drawn(right, 1), _ends())
    return float(low), float(high)


def difference(a: Right, b: Right) -> Difference:
    """Average accuracy of `a` less that of `b`, on the same draws of texts; seeds are drawn for each alone."""
    low, high = np.percentile(_drawn(a, 1) - _drawn(b, 2), _ends())
    mean = accuracies(a)["average"].mean() - accuracies(b)["average"].mean()
    return Difference(float(mean), float(low), float(high))


def _drawn(right: Right, stream: int) -> NDArray[np.float64]:
    """(draws,) average accuracies; text weights depend on the domain alone, seed weights on `stream` too."""
    seeds = len(next(iter(right.values())))
    by_seed = _stretched(_weights((0, stream), seeds))  # (draws, S)
    of = [
        ((_weights((1, row), told.shape[1]) @ told.T.astype(np.float64)) * by_seed).sum(axis=1)
        for row, told in enumerate(right.values())
    ]
    return np.asarray(np.mean(of, axis=0))


def _stretched(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights that sum to 1 as before, further from equal ones."""
    count = weights.shape[1]
    equal = 1 / count
    return equal + (weights - equal) * np.sqrt(count / (count - 1)) if count > 1 else weights


@cache
def _weights(seed: tuple[int, int], count: int) -> NDArray[np.float64]:
    """(draws, count): the share that each of `count` things has in each draw."""
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=_DRAWS)
    return np.asarray(drawn / count)


def _ends() -> tuple[float, float]:
    return (100 - _LEVEL) / 2, (100 + _LEVEL) / 2
