"""Figures and the tables that go with them."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from domaingate.comparison import Right, accuracies
from domaingate.figures import Groups, Line, curves, scatter
from domaingate.layout import Grid
from domaingate.ledger import Record
from domaingate.story import ERROR, NONE, ORACLE, PAPERS, RULES, Report, Story, mean_and_spread, mean_of
from domaingate.study import Row, Table
from domaingate.trial import choose


def curve(table: Table, story: Story) -> Report:
    """Accuracy against an option, by each honest rule, and what an epoch took."""
    values = [point.value for point in table.rows[0].points]
    heads = ["data", "model", *(f"{value:g}" for value in values)]
    lines, grids = [], []
    main, *_ = table.rules
    for rule in (rule for rule in table.rules if rule != ORACLE):
        averages = {
            row.name: [_averages(story.right(point, rule)) for point in row.points]
            for row in table.rows
        }  # fmt: skip
        cells = [
            [row.data, row.name, *(_with_error(seeds) for seeds in averages[row.name])] for row in table.rows
        ]  # fmt: skip
        grids.append(Grid(f"{table.title}; {RULES[rule]}", heads, cells, [ERROR]))
        if rule == main:
            lines = [_line(row.name, values, averages[row.name]) for row in table.rows]
    grids.append(_seconds(table, story, heads))
    title = f"{table.title}; epoch by {main}"
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
        return NONE
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
                else NONE
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


def ways(table: Table, story: Story) -> Report:
    """The four ways to predict, with how far one draw differs from the next."""
    rows = []
    for row in table.rows:
        records = [one for one in story.records(row.points[0]) if "ways" in one["also"]]
        told = [one["also"]["ways"] for one in records]
        texts = [sum(test["texts"] for test in one["test"].values()) for one in records]
        for way in told[0] if told else ():
            first = np.array([one[way]["accuracy"][0] for one in told])
            draws = [100 * np.std(one[way]["accuracy"], ddof=1) for one in told if len(one[way]["accuracy"]) > 1]
            pace = [1000 * one[way]["seconds"] / count for one, count in zip(told, texts, strict=True)]
            rows.append([row.data, way, mean_and_spread(first, 2), mean_of(draws, 2), f"{np.median(pace):.2f}"])
    heads = ["data", "way to predict", "accuracy", "over draws", "seconds"]
    notes = [
        f"Epoch by {table.rules[0]}. ± over seeds, one draw each; over draws: the mean over seeds of the standard "
        "deviation of ten draws from one model; seconds for 1,000 texts on the machine of the run."
    ]
    return Report([Grid(table.title, heads, rows, notes)], {})


def diagnosis(table: Table, story: Story) -> Report:
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
                f"{np.mean(told[name][place]):.1f} ({table.paper[name][place]:.1f})" if of[place] else NONE
                for name in _ASKED
            ),
            mean_of([choose(one["candidates"], table.rules[0])["terms"]["kl"] / value for one in of[place]], 2),
            _with_error(_averages(story.right(row.points[place], table.rules[0]))),
        ]
        for place, value in enumerate(values)
    ]
    heads = ["data", "lambda", "label from z", "domain from z", "KL", "accuracy"]
    notes = [
        f"{PAPERS} z is drawn from q for the training texts, three samples; chance is 50 for the label and 11.1 for "
        f"the domain. KL before its weight, in the epoch kept by {table.rules[0]}, whose accuracy on the unseen "
        "domains stands last.",
        ERROR,
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


def embedding(table: Table, story: Story) -> Report:
    """A map of the representation."""
    for record in story.records(table.rows[0].points[0]):
        if told := record["also"].get("map"):
            points = np.array(told["points"])
            unseen = frozenset(told["unseen"])
            domains = Groups("domain", told["domains"], points[:, 2].astype(np.int64), unseen)
            labels = Groups("label", told["labels"], points[:, 3].astype(np.int64))
            return Report([], {table.name: scatter(points[:, :2], domains, labels, table.title)})
    return Report([], {})


def lengths(table: Table, story: Story) -> Report:
    """Accuracy on texts cut short."""
    of = [_looked_at(row, story, "lengths") for row in table.rows]
    heads = next((list(told[0]) for told in of if told), [])
    rows, lines = [], []
    for row, told in zip(table.rows, of, strict=True):
        found = [np.array([100 * np.mean(_shown(one[length], story)) for one in told]) for length in heads]
        rows.append([row.data, row.name, *map(_with_error, found)])
        lines.append(_line(f"{row.name}, {row.data}", [float(head) for head in heads], found))
    notes = [f"Average over the unseen domains of the accuracy on texts cut to so many bytes. {_KEPT}", ERROR]
    figure = curves(lines, table.title, "bytes", "accuracy, %", base=10)
    return Report([Grid(table.title, ["data", "model", *heads], rows, notes)], _figure(table, lines, figure))


def calibration(table: Table, story: Story) -> Report:
    """Whether probabilities mean what they say, what silence below one buys, and how sure other texts make a model."""
    of = [(row, told) for row in table.rows if (told := _looked_at(row, story, "calibration"))]
    kinds = list(of[0][1][0]["foreign"]) if of else []
    rows, others, reliable, covered = [], [], [], []
    for row, told in of:
        steps = [[_at(one["coverage"], threshold) for one in told] for threshold in _LEAST]
        error = mean_of([100 * one["error"] for one in told], 1)
        rows.append([row.data, row.name, error, *map(_covered, steps)])
        place = [one["threshold"] for one in told[0]["coverage"]].index(_SURE)
        sure = {kind: np.mean([one["foreign"][kind]["answered"][place] for one in told]) for kind in kinds}
        others.append([row.data, row.name, *(f"{100 * share:.0f}" for share in sure.values())])
        name = f"{row.name}, {row.data}"
        reliable.append(_percent(name, told[0]["bins"], "confidence", "accuracy"))
        covered.append(_percent(name, told[0]["coverage"], "coverage", "precision"))
    notes = [
        "Expected calibration error in points, fifteen bins, each unseen domain counting the same; then, for answers "
        "that are at least so probable, the share (%) of texts that get one and of these answers that are right. "
        f"{_KEPT} Figures show the first seed."
    ]
    silent = [f"Texts in no language, fifty of each kind: the share (%) that gets an answer of {_SURE:g} or more."]
    heads = ["data", "model", "calibration error", *(f"from {least:g}" for least in _LEAST)]
    title = table.title
    grids = [Grid(title, heads, rows, notes), Grid(f"{title}: other texts", ["data", "model", *kinds], others, silent)]
    if not of:
        return Report(grids, {})
    even = Line("as it should be", [0.0, 100.0], [0.0, 100.0])
    reliability = curves([*reliable, even], title, "probability of the answer, %", "right, %")
    coverage = curves(covered, title, "texts answered, %", "right of them, %")
    return Report(grids, {f"{table.name}-reliability": reliability, f"{table.name}-coverage": coverage})


_LEAST = (0.0, 0.5, 0.9, 0.99)
_SURE = 0.9
_KEPT = "Epoch kept by the rule that the run was trained with."


def _looked_at(row: Row, story: Story, look: str) -> list[Record]:
    return [one["also"][look] for one in story.records(row.points[0]) if one["also"].get(look)]


def _shown(by_domain: Mapping[str, float], story: Story) -> list[float]:
    return [value for domain, value in by_domain.items() if domain in story.study.columns]


def _at(steps: Sequence[Record], threshold: float) -> Record:
    return next(one for one in steps if one["threshold"] == threshold)


def _covered(steps: Sequence[Record]) -> str:
    """Coverage and precision, means over seeds."""
    precision = mean_of([100 * one["precision"] for one in steps if one["precision"] is not None], 1)
    return f"{100 * np.mean([one['coverage'] for one in steps]):.1f}: {precision or NONE}"


def _percent(name: str, points: Sequence[Record], x: str, y: str) -> Line:
    known = [one for one in points if one[y] is not None]
    return Line(name, [100 * one[x] for one in known], [100 * one[y] for one in known])
