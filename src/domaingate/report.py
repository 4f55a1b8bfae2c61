"""Records to tables and figures: what a study's document asks for, out of what its records tell, and nothing else."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from domaingate.comparison import Right, accuracies, difference, interval
from domaingate.figures import Groups, Line, curves, scatter
from domaingate.layout import Grid, to_latex, to_markdown, to_text
from domaingate.ledger import Record
from domaingate.storage import write_bytes
from domaingate.study import Kind, Point, Row, Study, Table
from domaingate.trial import unpack

ORACLE = "oracle"
RULES = {  # what is chosen is the epoch of a network, the penalty of a linear model
    "target-dev": "epoch chosen on a dev part of the unseen domains, as in the paper",
    "source-dev": "epoch chosen on texts of the training domains: nothing of the unseen ones",
    ORACLE: "ORACLE: each domain's best epoch by its test texts themselves, no result but a bound",
}
_PAPERS = "In parentheses the paper's figure."
_SPREAD = "± is the standard deviation over seeds."
_ERROR = "± is the standard error over n seeds; of one seed there is none."
_NONE = "–"


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
        sizes = {domain: test["texts"] for domain, test in records[0]["test"].items()}
        packed = [answers(record, rule) for record in records]
        return {
            domain: np.stack([unpack(right[domain], size) for right in packed])
            for domain, size in sizes.items()
            if domain in self.study.columns
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


def report(study: Study, records: Sequence[Record]) -> Report:
    """All tables and figures of a study."""
    story = Story(study, {record["run"]: record for record in records})
    made = [_KINDS[table.kind](table, story) for table in study.tables]
    return Report(
        [grid for one in made for grid in one.grids],
        {name: figure for one in made for name, figure in one.figures.items()},
    )


def write(made: Report, folder: Path) -> None:
    """`tables.txt`, `tables.md`, `tables.tex` and a PNG a figure."""
    for name, spell in (("tables.txt", to_text), ("tables.md", to_markdown), ("tables.tex", to_latex)):
        write_bytes(folder / name, "\n".join(spell(grid) for grid in made.grids).encode())
    for name, figure in made.figures.items():
        write_bytes(folder / f"{name}.png", figure)


def chosen(record: Record, rule: str) -> Record:
    """The candidate that a dev part chooses; where there is no dev score, the only one that there is."""
    candidates: Sequence[Record] = record["candidates"]
    if len(candidates) == 1:
        return candidates[0]
    return max(candidates, key=lambda candidate: (candidate[rule]["accuracy"], -candidate[rule]["nll"]))


def answers(record: Record, rule: str) -> Mapping[str, str]:
    """By domain, which texts were told rightly by what `rule` chooses, packed."""
    if rule != ORACLE:
        return dict(chosen(record, rule)["right"])

    def share(packed: str, domain: str) -> float:
        return float(unpack(packed, record["test"][domain]["texts"]).mean())

    return {
        domain: max((one["right"][domain] for one in record["candidates"]), key=lambda packed: share(packed, domain))
        for domain in record["test"]
    }


def _scores(table: Table, story: Story) -> Report:
    grids = [_accuracies(table, story, rule) for rule in RULES]
    return Report([*grids, _inside(table, story)], {})


def _accuracies(table: Table, story: Story, rule: str) -> Grid:
    against = {row.data: row.points[0] for row in table.rows if row.name == table.against}
    letters = list(story.study.columns.values())
    extra = [f"better than {table.against} by"] if table.against else []
    rows = []
    for row in table.rows:
        (point,) = row.points
        right = story.right(point, rule)
        cells = [row.data, row.name, *_by_domain(right, row, len(letters) + 1)]
        cells += [_interval(point, right, story), str(len(story.records(point)))]
        rows.append(cells + ([_compared(point, against.get(row.data), rule, story)] if extra else []))
    heads = ["data", "model", *letters, "average", "interval", "seeds", *extra]
    return Grid(f"{table.title}; {RULES[rule]}", heads, rows, _notes(table))


def _notes(table: Table) -> list[str]:
    notes = [
        _PAPERS,
        _SPREAD,
        "The interval (95 %) is over texts and seeds, of a linear model over texts; a network of one seed has none.",
    ]
    if table.against:
        notes.append(
            f"The difference from {table.against} on the same data and texts; * where its interval leaves out 0, with "
            "no correction for the number of rows."
        )
    if len({row.data for row in table.rows}) > 1:
        notes.append(
            "Copies of training texts are not tested, so the test texts of different data are not quite the same."
        )
    return notes


def _interval(point: Point, right: Right | None, story: Story) -> str:
    if right is None or story.is_one_draw(point):
        return _NONE
    low, high = interval(right)
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _by_domain(right: Right | None, row: Row, count: int) -> list[str]:
    """Accuracy of each domain and on average, with the paper's."""
    if right is None:
        return [_NONE] * count
    found = list(accuracies(right).values())
    return [f"{_mean_and_spread(seeds)}{_of_the_paper(row, column)}" for column, seeds in enumerate(found)]


def _of_the_paper(row: Row, column: int) -> str:
    if column >= len(row.paper):
        return ""
    spread = f" ± {row.spread[column]:.1f}" if column < len(row.spread) else ""
    return f" ({row.paper[column]:.1f}{spread})"


def _mean_and_spread(values: NDArray[np.float64], digits: int = 1) -> str:
    mean = f"{100 * np.mean(values):.{digits}f}"
    return f"{mean} ± {100 * np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else mean


def _compared(point: Point, other: Point | None, rule: str, story: Story) -> str:
    if other is None or point == other or not story.is_comparable(point, other):
        return ""
    right, against = story.right(point, rule), story.right(other, rule)
    if right is None or against is None:
        return ""
    found = difference(right, against)
    told = f"{100 * found.mean:+.1f} ({100 * found.low:+.1f} to {100 * found.high:+.1f})"
    return f"{told} *" if found.is_clear else told


def _inside(table: Table, story: Story) -> Grid:
    """Beside accuracy: how large a model is, what it fits, and whether its gates know of domains."""
    rows = []
    for row in table.rows:
        records = [record for record in story.records(row.points[0]) if record["parameters"]]
        if records:
            kept = [chosen(record, "target-dev") for record in records]
            gates = [record["also"]["gates"] for record in records if record["also"]["gates"]]
            rows.append(
                [
                    row.data,
                    row.name,
                    f"{records[0]['parameters']['without_embedding']:,}",
                    f"{np.median([one['epoch'] for one in kept]):g}",
                    _mean_of([one["terms"].get("label") for one in kept]),
                    _mean_of([one["terms"].get("kl") for one in kept]),
                    _mean_of(
                        [100 * one["spread"]["overall"] for one in gates if one["spread"]["overall"] is not None], 1
                    ),
                    _mean_of(
                        [100 * one["spread"]["chance"] for one in gates if one["spread"]["chance"] is not None], 1
                    ),
                ]
            )
    heads = ["data", "model", "parameters", "epoch", "label term", "KL term", "of gates' variance", "chance"]
    notes = [
        "Parameters without the token embedding; epoch by target-dev (median); its terms as minimised, mean over "
        "seeds; the share (%) of the variance of the gates that lies between domains, and that of gates which know "
        "nothing of domains, over texts of the unseen domains and those of source-dev whose domain is not hidden."
    ]
    return Grid(f"{table.title}: inside the models", heads, rows, notes)


def _mean_of(values: Sequence[float | None], digits: int = 3) -> str:
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.{digits}f}" if known else ""


def _search(table: Table, story: Story) -> Report:
    """Best dev score of each value, and after how many epochs; what is chosen by it is written in the study."""
    found = {
        row.name: [[chosen(record, "source-dev") for record in story.records(point)] for point in row.points]
        for row in table.rows
    }
    rows = [
        [
            row.data,
            row.name,
            *(
                f"{100 * np.mean([one['source-dev']['accuracy'] for one in kept]):.1f} after "
                f"{np.median([one['epoch'] for one in kept]):g}"
                if kept
                else _NONE
                for kept in found[row.name]
            ),
        ]
        for row in table.rows
    ]
    heads = ["data", "model", *(f"{point.value:g}" for point in table.rows[0].points)]
    return Report([Grid(table.title, heads, rows, ["Best accuracy on source-dev, and the epoch that has it."])], {})


def _curve(table: Table, story: Story) -> Report:
    """Accuracy against an option; by both honest rules, and what an epoch took."""
    values = [point.value for point in table.rows[0].points]
    heads = ["data", "model", *(f"{value:g}" for value in values)]
    lines, grids = [], []
    for rule in ("target-dev", "source-dev"):
        averages = {
            row.name: [_averages(story.right(point, rule)) for point in row.points]
            for row in table.rows
        }  # fmt: skip
        cells = [
            [row.data, row.name, *(_with_error(seeds) for seeds in averages[row.name])] for row in table.rows
        ]  # fmt: skip
        grids.append(Grid(f"{table.title}; {RULES[rule]}", heads, cells, [_ERROR]))
        if rule == "target-dev":
            lines = [_line(row.name, values, averages[row.name]) for row in table.rows]
    grids.append(_seconds(table, story, heads))
    title = f"{table.title}; epoch by target-dev"
    return Report(grids, _figure(table, lines, curves(lines, title, table.over or "", "accuracy, %", base=2)))


def _figure(table: Table, lines: Sequence[Line], figure: bytes) -> dict[str, bytes]:
    """The figure, if there is anything of ours on it."""
    return {table.name: figure} if any(line.x for line in lines if not line.dashed) else {}


def _averages(right: Right | None) -> NDArray[np.float64]:
    return np.empty(0) if right is None else 100 * accuracies(right)["average"]


def _error(seeds: NDArray[np.float64]) -> float:
    return float(np.std(seeds, ddof=1) / np.sqrt(len(seeds))) if len(seeds) > 1 else float("nan")


def _with_error(seeds: NDArray[np.float64]) -> str:
    if not len(seeds):
        return _NONE
    spread = f" ± {_error(seeds):.1f}" if len(seeds) > 1 else ""
    return f"{np.mean(seeds):.1f}{spread} (n = {len(seeds)})"


def _line(name: str, values: Sequence[float | None], seeds: Sequence[NDArray[np.float64]]) -> Line:
    known = [(value, one) for value, one in zip(values, seeds, strict=True) if value is not None and len(one)]
    return Line(
        name,
        [value for value, _ in known],
        [float(np.mean(one)) for _, one in known],
        [_error(one) for _, one in known],
    )


def _seconds(table: Table, story: Story, heads: Sequence[str]) -> Grid:
    """What an epoch took, where it was made."""
    rows = []
    for row in table.rows:
        for processor in sorted({_machine(one) for point in row.points for one in story.records(point)}):
            made = [[one for one in story.records(point) if _machine(one) == processor] for point in row.points]
            cells = [
                f"{np.median([step['seconds'] for one in records for step in one['candidates']]):.0f}"
                if records
                else _NONE
                for records in made
            ]
            rows.append([processor, row.name, *cells])
    notes = [
        "Median over epochs and seeds. Runs were made side by side: docs/performance.md measures speed, this does not."
    ]
    return Grid(f"{table.title}; seconds an epoch", ["machine", *heads[1:]], rows, notes)


def _machine(record: Record) -> str:
    machine = record["machine"]
    threads = f", threads: {machine['threads']}" if machine["device"] == "cpu" else ""
    return f"{machine['processor']}{threads}"


def _ways(table: Table, story: Story) -> Report:
    rows = []
    for row in table.rows:
        records = [one for one in story.records(row.points[0]) if "ways" in one["also"]]
        told = [one["also"]["ways"] for one in records]
        texts = [sum(test["texts"] for test in one["test"].values()) for one in records]
        for way in told[0] if told else ():
            first = np.array([one[way]["accuracy"][0] for one in told])
            draws = [100 * np.std(one[way]["accuracy"], ddof=1) for one in told if len(one[way]["accuracy"]) > 1]
            pace = [1000 * one[way]["seconds"] / count for one, count in zip(told, texts, strict=True)]
            rows.append([row.data, way, _mean_and_spread(first, 2), _mean_of(draws, 2), f"{np.median(pace):.2f}"])
    heads = ["data", "way to predict", "accuracy", "over draws", "seconds"]
    notes = [
        "Epoch by target-dev. ± over seeds, one draw each; over draws: the mean over seeds of the standard deviation "
        "of ten draws from one model; seconds for 1,000 texts on the machine of the run."
    ]
    return Report([Grid(table.title, heads, rows, notes)], {})


def _diagnosis(table: Table, story: Story) -> Report:
    """Figure 4, with the accuracy and the KL of the same models beside it."""
    (row,) = table.rows
    of = [[one for one in story.records(point) if "diagnosis" in one["also"]] for point in row.points]
    values = [float(point.value or 0) for point in row.points]
    told = {name: [_told_by_z(records, name) for records in of] for name in _ASKED}
    rows = [
        [
            row.data,
            f"{value:g}",
            *(
                f"{np.mean(told[name][place]):.1f} ({table.paper[name][place]:.1f})" if of[place] else _NONE
                for name in _ASKED
            ),
            _mean_of([chosen(one, "target-dev")["terms"]["kl"] / value for one in of[place]], 2),
            _with_error(_averages(story.right(row.points[place], "target-dev"))),
        ]
        for place, value in enumerate(values)
    ]
    heads = ["data", "lambda", "label from z", "domain from z", "KL", "accuracy"]
    notes = [
        f"{_PAPERS} z is drawn from q for the training texts, three samples; chance is 50 for the label and 11.1 for "
        "the domain. KL before its weight, in the epoch kept by target-dev, whose accuracy on the unseen domains "
        "stands last.",
        _ERROR,
    ]
    lines = []
    for name in _ASKED:
        lines.append(_line(f"{name}, ours", values, told[name]))
        lines.append(Line(f"{name}, the paper's", values, table.paper[name], dashed=True))
    figure = curves(lines, table.title, "lambda", "accuracy from z, %", base=10, levels=(50.0, 100 / 9))
    return Report([Grid(table.title, heads, rows, notes)], _figure(table, lines, figure))


def _told_by_z(records: Sequence[Record], what: str) -> NDArray[np.float64]:
    return np.array([100 * record["also"]["diagnosis"][what]["samples"]["accuracy"] for record in records])


_ASKED = ("label", "domain")


def _map(table: Table, story: Story) -> Report:
    for record in story.records(table.rows[0].points[0]):
        if told := record["also"].get("map"):
            points = np.array(told["points"])
            unseen = frozenset(told["unseen"])
            domains = Groups("domain", told["domains"], points[:, 2].astype(np.int64), unseen)
            labels = Groups("label", told["labels"], points[:, 3].astype(np.int64))
            return Report([], {table.name: scatter(points[:, :2], domains, labels, table.title)})
    return Report([], {})


def _counts(table: Table, story: Story) -> Report:
    of = {row.name: story.records(row.points[0]) for row in table.rows}
    names = sorted({name for records in of.values() for one in records for name in one["texts"]["train_by_domain"]})
    rows = []
    for name in names:
        cells = []
        for column, records in enumerate(of.values()):
            paper = table.paper.get(name, ())
            told = f" ({paper[column]:,})" if column < len(paper) else ""
            cells.append(f"{records[0]['texts']['train_by_domain'].get(name, 0):,}{told}" if records else _NONE)
        rows.append([name, "", *cells])
    return Report([Grid(table.title, ["domain", "", *of], rows, [_PAPERS])], {})


_KINDS: dict[Kind, Callable[[Table, Story], Report]] = {
    "scores": _scores,
    "search": _search,
    "curve": _curve,
    "ways": _ways,
    "diagnosis": _diagnosis,
    "map": _map,
    "counts": _counts,
}
