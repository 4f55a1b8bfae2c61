"""Records to tables and figures: what a study's document asks for, out of what its records tell, and nothing else."""

from collections.abc import Callable, Sequence
from pathlib import Path

from domaingate import plots, scoreboard
from domaingate.layout import to_latex, to_markdown, to_text
from domaingate.ledger import Record
from domaingate.storage import write_bytes
from domaingate.story import Report, Story
from domaingate.study import Kind, Study, Table


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


_KINDS: dict[Kind, Callable[[Table, Story], Report]] = {
    "counts": scoreboard.counts,
    "search": scoreboard.search,
    "scores": scoreboard.scores,
    "curve": plots.curve,
    "ways": plots.ways,
    "diagnosis": plots.diagnosis,
    "map": plots.embedding,
    "lengths": plots.lengths,
    "calibration": plots.calibration,
}
