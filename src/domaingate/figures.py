"""Pictures: arrays to PNG bytes. Draws on a figure of its own, so that nobody's plotting state is touched."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

# Martin Krzywinski's twelve colours for colour-blind readers, in an order that keeps neighbours apart; and black.
PALETTE = (
    "#008DF9", "#E20134", "#009F81", "#FFC33B", "#8400CD", "#FF5AAF", "#00C2F9", "#A40122", "#00D4AC", "#FF6E3A",
    "#9F0162", "#C79CFF", "#000000",
)  # fmt: skip
MARKERS = ("o", "x", "^", "+", "s", "*")  # the paper's filled circle and cross first

_GREY = "#B3B3B3"  # of what is not known, and of groups beyond the palette
_LONGEST_NAME = 32
_CELLS_WITH_NUMBERS = (40, 20)  # rows and columns up to which a number fits into its cell
_MAP = colormaps["YlGnBu"]


@dataclass(frozen=True)
class Groups:
    """What N things are told apart by: -1 in `of` where that is not known."""

    title: str
    names: Sequence[str]
    of: NDArray[np.int64]  # (N,) rows of `names`


def heat_map(
    values: NDArray[np.floating[Any]], rows: Sequence[str], columns: Sequence[str], titles: tuple[str, str, str],
    parted_at: int | None = None,
) -> bytes:  # fmt: skip
    """`values` (R, C) as colours from 0 up; `titles` of picture, columns and scale; a line above row `parted_at`.

    The scale starts at 0, so that values which hardly differ look alike.
    """
    width, height = min(2.5 + 0.42 * len(columns), 16.0), min(1.6 + 0.32 * len(rows), 60.0)
    figure, axes = _new(max(width, 6.4), height, titles[0])
    top = max(float(np.max(values, initial=0)), 1e-9)
    image = axes.imshow(values, aspect="auto", cmap=_MAP, vmin=0, vmax=top, interpolation="nearest")
    figure.colorbar(image, ax=axes, label=titles[2], pad=0.02)
    axes.set_xlabel(titles[1])
    _name_ticks(axes, rows, columns)
    if parted_at:
        axes.axhline(parted_at - 0.5, color="black", linewidth=1.5)
    if len(rows) <= _CELLS_WITH_NUMBERS[0] and len(columns) <= _CELLS_WITH_NUMBERS[1]:
        _write_numbers(axes, values, top)
    return _png(figure)


def scatter(points: NDArray[np.floating[Any]], colours: Groups, markers: Groups, title: str) -> bytes:
    """`points` (N, 2) in the order given, one over the other: a colour for each group, a marker for each group.

    More groups than markers get no marker of their own; those beyond the palette share its grey.
    """
    figure, axes = _new(9.6, 6.8, title)
    axes.set(xticks=[], yticks=[])
    told_apart = len(markers.names) <= len(MARKERS)
    shapes = markers.of if told_apart else np.zeros(len(points), dtype=np.int64)
    colour_of = [_colour(group) for group in colours.of]
    for shape in np.unique(shapes):
        chosen = np.flatnonzero(shapes == shape)
        axes.scatter(
            *points[chosen].T, c=[colour_of[row] for row in chosen], marker=_marker(int(shape)), s=16, linewidths=0.9,
            alpha=0.8,
        )  # fmt: skip
    _legends(figure, colours, markers, told_apart)
    return _png(figure)


def _new(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained", dpi=130)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    figure.suptitle(_shown(title, 200), fontsize=11, wrap=True)
    return figure, axes


def _png(figure: Figure) -> bytes:
    stream = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a box stands for a letter the font lacks
        figure.savefig(stream, format="png")
    return stream.getvalue()


def _name_ticks(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """All names where there is room for them, else every so many."""
    step = 1 + len(rows) // 220
    axes.set_yticks(range(0, len(rows), step), [_shown(name) for name in rows[::step]], fontsize=9)
    if len(columns) <= 2 * _CELLS_WITH_NUMBERS[1]:
        turned = 90 if max(map(len, columns), default=0) > 3 else 0
        axes.set_xticks(range(len(columns)), [_shown(name) for name in columns], fontsize=9, rotation=turned)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _write_numbers(axes: Axes, values: NDArray[np.floating[Any]], top: float) -> None:
    for (row, column), value in np.ndenumerate(values):
        shade = "white" if value > 0.55 * top else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=shade)


def _legends(figure: Figure, colours: Groups, markers: Groups, told_apart: bool) -> None:
    """Colours above, markers below, beside the picture."""
    named = min(len(colours.names), len(PALETTE))
    entries = [_entry(name, "o", _colour(row)) for row, name in enumerate(colours.names[:named])]
    if len(colours.names) > named:
        entries.append(_entry(f"{len(colours.names) - named} more", "o", _GREY))
    if (colours.of < 0).any():
        entries.append(_entry("not known", "o", _GREY))
    figure.legend(handles=entries, title=colours.title, loc="outside right upper", fontsize=9)
    shapes = [_entry(name, _marker(row), "black") for row, name in enumerate(markers.names)] if told_apart else []
    if told_apart and (markers.of < 0).any():
        shapes.append(_entry("not known", _marker(-1), "black"))
    title = markers.title if told_apart else f"{markers.title}: {len(markers.names)}, not shown"
    figure.legend(handles=shapes, title=title, loc="outside right lower", fontsize=9)


def _entry(name: str, marker: str, colour: str) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, color=colour, label=_shown(name))


def _colour(group: int) -> str:
    return PALETTE[group] if 0 <= group < len(PALETTE) else _GREY


def _marker(group: int) -> str:
    return MARKERS[group] if group >= 0 else "1"


def _shown(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name on one line, not too long, with dollar signs that start no formula."""
    plain = "".join(letter if letter.isprintable() else " " for letter in name)
    short = plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
    return short.replace("$", r"\$")
