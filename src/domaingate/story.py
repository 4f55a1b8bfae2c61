"""The records of a study by run: which answers a rule chooses, and how figures of them are spelled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domaingate.comparison import Right
from domaingate.layout import Grid
from domaingate.ledger import Record
from domaingate.study import Point, Study
from domaingate.trial import choose, unpack

ORACLE = "oracle"
RULES = {  # what is chosen is the epoch of a network, the penalty of a linear model
    "target-dev": "epoch chosen on a dev part of the unseen domains, as in the paper",
    "source-dev": "epoch chosen on texts of the training domains: nothing of the unseen ones",
    ORACLE: "ORACLE: each domain's best epoch by its test texts themselves, no result but a bound",
}
PAPERS = "In parentheses the paper's figure."
SPREAD = "± is the standard deviation over seeds."
ERROR = "± is the standard error over n seeds; of one seed there is none."
NONE = "–"


@dataclass(frozen=True)
class Report:
    """Tables, and figures as PNG by name."""

    grids: Sequence[Grid]
    figures: Mapping[str, bytes]


@dataclass(frozen=True)
class Story:
    """A study and its records by run."""

    study: Study
    of: Mapping[str, Record]

    def records(self, point: Point) -> list[Record]:
        """Those of a point's runs that are there, in the order of the seeds."""
        return [self.of[run.name] for run in point.runs if run.name in self.of]

    def right(self, point: Point, rule: str) -> Right | None:
        """Which test texts were told rightly by the candidates that `rule` chooses, seed by seed."""
        records = self.records(point)
        if not records or not all(record["test"] == records[0]["test"] for record in records):
            return None
        test = records[0]["test"]
        packed = [answers(record, rule) for record in records]
        return {
            domain: np.stack([unpack(right[domain], test[domain]["texts"]) for right in packed])
            for domain in self.study.columns
            if domain in test
        }

    def is_one_draw(self, point: Point) -> bool:
        """Whether there is one run only of what another seed would have made otherwise."""
        records = self.records(point)
        return len(records) == 1 and records[0]["linear"] is None

    def is_comparable(self, point: Point, other: Point) -> bool:
        """Whether two points have records of the very same test texts, enough to tell how far they differ."""
        points = (point, other)
        if any(not self.records(one) or self.is_one_draw(one) for one in points):
            return False
        (mine, *_), (others, *_) = (self.records(one) for one in points)
        return bool(mine["test"] == others["test"])


def answers(record: Record, rule: str) -> Mapping[str, str]:
    """By domain, which texts were told rightly by what `rule` chooses, packed."""
    if rule != ORACLE:
        return dict(choose(record["candidates"], rule)["right"])

    def share(packed: str, domain: str) -> float:
        return float(unpack(packed, record["test"][domain]["texts"]).mean())

    return {
        domain: max((one["right"][domain] for one in record["candidates"]), key=lambda packed: share(packed, domain))
        for domain in record["test"]
    }


def mean_and_spread(values: NDArray[np.float64], digits: int = 1) -> str:
    """Of shares, in percent."""
    mean = f"{100 * np.mean(values):.{digits}f}"
    return f"{mean} ± {100 * np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else mean


def mean_of(values: Sequence[float | None], digits: int = 3) -> str:
    """Of what is known, or nothing."""
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.{digits}f}" if known else ""
