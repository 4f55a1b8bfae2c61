"""Tables: counts, a search, and accuracy by domain under each selection rule, with intervals and differences."""

import numpy as np

from domaingate.comparison import Right, accuracies, difference, interval
from domaingate.layout import Grid
from domaingate.story import NONE, PAPERS, RULES, SPREAD, Report, Story, mean_and_spread, mean_of
from domaingate.study import Point, Row, Table
from domaingate.trial import choose


def scores(table: Table, story: Story) -> Report:
    """Accuracy by unseen domain, a table for each rule, and what went on inside the models."""
    grids = [_accuracies(table, story, rule) for rule in table.rules]
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
        PAPERS,
        SPREAD,
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
        return NONE
    low, high = interval(right)
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _by_domain(right: Right | None, row: Row, count: int) -> list[str]:
    """Accuracy of each domain and on average, with the paper's."""
    if right is None:
        return [NONE] * count
    found = list(accuracies(right).values())
    return [f"{mean_and_spread(seeds)}{_of_the_paper(row, column)}" for column, seeds in enumerate(found)]


def _of_the_paper(row: Row, column: int) -> str:
    if column >= len(row.paper):
        return ""
    spread = f" ± {row.spread[column]:.1f}" if column < len(row.spread) else ""
    return f" ({row.paper[column]:.1f}{spread})"


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
            kept = [choose(record["candidates"], table.rules[0]) for record in records]
            gates = [record["also"]["gates"] for record in records if record["also"]["gates"]]
            rows.append(
                [
                    row.data,
                    row.name,
                    f"{records[0]['parameters']['without_embedding']:,}",
                    f"{np.median([one['epoch'] for one in kept]):g}",
                    mean_of([one["terms"].get("label") for one in kept]),
                    mean_of([one["terms"].get("kl") for one in kept]),
                    mean_of(
                        [100 * one["spread"]["overall"] for one in gates if one["spread"]["overall"] is not None], 1
                    ),
                    mean_of([100 * one["spread"]["chance"] for one in gates if one["spread"]["chance"] is not None], 1),
                ]
            )
    heads = ["data", "model", "parameters", "epoch", "label term", "KL term", "of gates' variance", "chance"]
    notes = [
        f"Parameters without the token embedding; epoch by {table.rules[0]} (median); its terms as minimised, mean "
        "over seeds; the share (%) of the variance of the gates that lies between domains, and that of gates which "
        "know nothing of domains, over texts of the unseen domains and those of source-dev whose domain is not hidden."
    ]
    return Grid(f"{table.title}: inside the models", heads, rows, notes)


def search(table: Table, story: Story) -> Report:
    """Best dev score of each value, and after how many epochs; what is chosen by it is written in the study."""
    found = {
        row.name: [
            [choose(record["candidates"], "source-dev") for record in story.records(point)] for point in row.points
        ]
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
                else NONE
                for kept in found[row.name]
            ),
        ]
        for row in table.rows
    ]
    heads = ["data", "model", *(f"{point.value:g}" for point in table.rows[0].points)]
    return Report([Grid(table.title, heads, rows, ["Best accuracy on source-dev, and the epoch that has it."])], {})


def counts(table: Table, story: Story) -> Report:
    """Texts of each training domain."""
    of = {row.name: story.records(row.points[0]) for row in table.rows}
    names = sorted({name for records in of.values() for one in records for name in one["texts"]["train_by_domain"]})
    rows = []
    for name in names:
        cells = []
        for column, records in enumerate(of.values()):
            paper = table.paper.get(name, ())
            told = f" ({paper[column]:,})" if column < len(paper) else ""
            cells.append(f"{records[0]['texts']['train_by_domain'].get(name, 0):,}{told}" if records else NONE)
        rows.append([name, "", *cells])
    return Report([Grid(table.title, ["domain", "", *of], rows, [PAPERS])], {})
