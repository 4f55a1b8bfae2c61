"""Tables as values, and how they are spelled: plain text, Markdown, LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass

_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "±": r"$\pm$", "λ": r"$\lambda$", "–": "--"}


@dataclass(frozen=True)
class Grid:
    """A table: a title, names of columns, rows of cells, and what to know when reading it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def to_text(grid: Grid) -> str:
    """Columns of equal width: the first two to the left, figures to the right."""
    lines = [list(grid.columns), *map(list, grid.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(grid.columns))]
    drawn = [
        "  ".join(cell.ljust(width) if column < 2 else cell.rjust(width) for column, (cell, width) in enumerate(cells))
        for cells in (list(zip(line, widths, strict=True)) for line in lines)
    ]
    ruled = [drawn[0].rstrip(), "-" * len(drawn[0]), *(line.rstrip() for line in drawn[1:])]
    return "\n".join([grid.title, "", *ruled, *(["", *grid.notes] if grid.notes else [])]) + "\n"


def to_markdown(grid: Grid) -> str:
    """A table as GitHub reads it."""
    rule = "|".join(["---" if column < 2 else "---:" for column in range(len(grid.columns))])
    lines = [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in [grid.columns, *grid.rows]]
    notes = [f"\n{' '.join(grid.notes)}"] if grid.notes else []
    return "\n".join([f"### {grid.title}\n", lines[0], f"|{rule}|", *lines[1:], *notes]) + "\n"


def to_latex(grid: Grid) -> str:
    """A `tabular` for the package booktabs."""
    shape = "ll" + "r" * (len(grid.columns) - 2)
    lines = [" & ".join(map(_escaped, line)) + r" \\" for line in [grid.columns, *grid.rows]]
    body = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    caption = " ".join([f"{grid.title}.", *grid.notes])
    return "\n".join(
        [
            r"\begin{table}\centering\small",
            rf"\begin{{tabular}}{{{shape}}}",
            *body,
            r"\end{tabular}",
            rf"\caption{{{_escaped(caption)}}}",
            r"\end{table}",
            "",
        ]
    )


def _escaped(cell: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in cell)
