"""Scores: accuracy and macro-F1 by domain, and averages over domains. Pure functions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

UNKNOWN_DOMAIN = "(unknown)"


@dataclass(frozen=True)
class Score:
    """How well the texts of one domain are told."""

    domain: str
    unseen: bool  # no text of this domain was trained on
    texts: int
    accuracy: float
    macro_f1: float
    majority: float  # the share of the domain's most frequent label: what a constant answer could reach at best


def accuracy(truth: Sequence[str], answers: Sequence[str]) -> float:
    """The share of right answers."""
    return float(np.mean(np.asarray(truth) == np.asarray(answers)))


def macro_f1(truth: Sequence[str], answers: Sequence[str]) -> float:
    """F1 averaged over the labels that occur among the truths."""
    return float(f1_score(truth, answers, labels=sorted(set(truth)), average="macro", zero_division=0))


def mean_scores(
    probabilities: NDArray[np.floating[Any]], truth: NDArray[np.int64], domains: Sequence[str | None]
) -> dict[str, float]:
    """Accuracy and negative log-likelihood of probabilities (N, Y), each domain counting the same."""
    wide = probabilities.astype(np.float64)
    right = wide.argmax(axis=1) == truth
    nll = -np.log(np.maximum(wide[np.arange(len(truth)), truth], 1e-300))
    names = np.array([domain or UNKNOWN_DOMAIN for domain in domains])
    groups = [names == name for name in np.unique(names)]
    return {
        "accuracy": float(np.mean([right[group].mean() for group in groups])),
        "nll": float(np.mean([nll[group].mean() for group in groups])),
    }


def by_domain(
    truth: Sequence[str], answers: Sequence[str], domains: Sequence[str | None], trained_on: Iterable[str]
) -> list[Score]:
    """One score a domain, training domains first, each by name. Texts of unknown domain count as seen."""
    rows: dict[str, list[int]] = {}
    for row, domain in enumerate(domains):
        rows.setdefault(domain or UNKNOWN_DOMAIN, []).append(row)
    seen = {*trained_on, UNKNOWN_DOMAIN}
    return [
        _score(domain, domain not in seen, [truth[row] for row in chosen], [answers[row] for row in chosen])
        for domain, chosen in sorted(rows.items(), key=lambda item: (item[0] not in seen, item[0]))
    ]


def _score(domain: str, unseen: bool, truth: Sequence[str], answers: Sequence[str]) -> Score:
    most_common = Counter(truth).most_common(1)[0][1]
    return Score(
        domain, unseen, len(truth), accuracy(truth, answers), macro_f1(truth, answers), most_common / len(truth)
    )


def averages(scores: Sequence[Score]) -> Mapping[str, Mapping[str, float]]:
    """Means over domains, each domain counting the same: of training domains, of unseen ones, of all."""
    groups = {
        "training domains": [score for score in scores if not score.unseen],
        "unseen domains": [score for score in scores if score.unseen],
        "all domains": list(scores),
    }
    return {
        name: {
            "domains": len(group),
            "texts": sum(score.texts for score in group),
            "accuracy": float(np.mean([score.accuracy for score in group])),
            "macro_f1": float(np.mean([score.macro_f1 for score in group])),
            "majority": float(np.mean([score.majority for score in group])),
        }
        for name, group in groups.items()
        if group
    }
