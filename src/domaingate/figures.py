"""Pictures: arrays to PNG bytes. Draws on a figure of its own, so that nobody's plotting state is touched."""

import math
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
from numpy.typing import NDArray

# Okabe and Ito's colours without yellow, which white swallows; then others that keep apart from them and from each
# other for readers with normal, deuteran and protan vision alike; their black last.
PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#550055", "#56B4E9", "#D55E00", "#0000FF", "#CC79A7", "#333300", "#0077FF",
    "#FFBB77", "#330099", "#000000",
)  # fmt: skip
MARKERS = ("o", "x", "^", "+", "s", "*")  # the paper's filled circle and cross first

_UNKNOWN, _UNKNOWN_COLOUR, _UNKNOWN_MARKER = "(unknown)", "#CCCCCC", "d"
_FURTHER_COLOUR = "#8C8C8C"  # of groups beyond the palette
_INK = "#444444"
_LONGEST_NAME = 32
_CELLS_WITH_NUMBERS = (40, 20)  # rows and columns up to which a number fits into its cell
_MAP = colormaps["YlGnBu"]


@dataclass(frozen=True)
class Groups:
    """What N texts are told apart by."""

    title: str
    names: Sequence[str]
    of: NDArray[np.int64]  # (N,) rows of `names`, -1 where it is not known
    unseen: frozenset[str] = frozenset()  # the names that training never saw

    @property
    def shown(self) -> list[str]:
        """The names, with a mark at the unseen ones."""
        return [f"{name} (unseen)" if name in self.unseen else name for name in self.names]


def heat_map(
    values: NDArray[np.floating[Any]], rows: Sequence[str], columns: Sequence[str], titles: tuple[str, str, str],
    parted_at: int | None = None,
) -> bytes:  # fmt: skip
    """`values` (R, C) as colours from 0 up; `titles` of picture, columns and scale; a line above row `parted_at`.

    The scale starts at 0, so that values which hardly differ look alike.
    """
    width, height = 2.5 + 0.42 * len(columns), 1.6 + 0.32 * len(rows)  # inches
    figure, axes = _new(min(max(width, 6.4), 16.0), min(max(height, 2.8), 60.0), titles[0])
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

    More groups than markers get no marker of their own; those beyond the palette share a grey.
    """
    figure, axes = _new(9.6, 6.8, title)
    axes.set(xticks=[], yticks=[])
    told_apart = len(markers.names) <= len(MARKERS)
    shapes = markers.of if told_apart else np.zeros(len(points), dtype=np.int64)
    colour_of = [_colour(group) for group in colours.of]
    for shape in np.unique(shapes):
        chosen = np.flatnonzero(shapes == shape)
        axes.scatter(
            points[chosen, 0],
            points[chosen, 1],
            s=16,
            c=[colour_of[row] for row in chosen],
            marker=_marker(int(shape)),
            linewidths=0.9,
            alpha=0.8,
        )
    if not told_apart:
        axes.set_xlabel(f"{markers.title}: {len(markers.names)} of them, not told apart here")
    _legends(figure, colours, markers if told_apart else None)
    return _png(figure)


@dataclass(frozen=True)
class Line:
    """A line of a diagram; `error` reaches to both sides of y."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] = ()
    dashed: bool = False


def curves(
    lines: Sequence[Line], title: str, x_title: str, y_title: str, base: int | None = None, levels: Sequence[float] = ()
) -> bytes:
    """Lines, over a logarithmic axis where it has a `base`; a dashed one in the colour of the line before it.

    Dotted lines lie at `levels`.
    """
    figure, axes = _new(7.2, 4.4, title)
    colour = -1
    for line in lines:
        colour += not line.dashed
        shown: dict[str, Any] = {"color": PALETTE[colour % len(PALETTE)], "label": _shown(line.name), "markersize": 4}
        if line.dashed:
            axes.plot(line.x, line.y, linestyle="--", marker="x", linewidth=1, **shown)
        else:
            marker = MARKERS[colour % len(MARKERS)]
            axes.errorbar(line.x, line.y, yerr=line.error or None, marker=marker, capsize=3, **shown)
    for level in levels:
        axes.axhline(level, color=_INK, linestyle=":", linewidth=1)
    if base:
        axes.set_xscale("log", base=base)
        places = sorted({x for line in lines for x in line.x})
        axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.set(xlabel=x_title, ylabel=y_title)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=9)
    return _png(figure)


def _new(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained", dpi=130)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(_shown(title, 200).replace("; ", "\n"), fontsize=11)
    return figure, axes


def _png(figure: Figure) -> bytes:
    stream = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a box stands for a letter the font lacks
        figure.savefig(stream, format="png")
    return stream.getvalue()


def _name_ticks(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """All names where there is room for them, else every so many."""
    for axis, names, room in ((axes.yaxis, rows, 200), (axes.xaxis, columns, 40)):
        step = math.ceil(len(names) / room)
        axis.set_ticks(range(0, len(names), step), [_shown(name) for name in names[::step]], fontsize=9)


def _write_numbers(axes: Axes, values: NDArray[np.floating[Any]], top: float) -> None:
    for (row, column), value in np.ndenumerate(values):
        shade = "white" if value > 0.55 * top else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=shade)


def _legends(figure: Figure, colours: Groups, markers: Groups | None) -> None:
    """Colours above, markers below, beside the picture."""
    entries = [_entry(name, "o", _colour(row)) for row, name in enumerate(colours.shown[: len(PALETTE)])]
    if len(colours.names) > len(PALETTE):
        entries.append(_entry(f"{len(colours.names) - len(PALETTE)} more", "o", _FURTHER_COLOUR))
    if (colours.of < 0).any():
        entries.append(_entry(_UNKNOWN, "o", _UNKNOWN_COLOUR))
    figure.legend(handles=entries, title=colours.title, loc="outside right upper", fontsize=9)
    if markers is not None:
        shapes = [_entry(name, _marker(row), _INK) for row, name in enumerate(markers.shown)]
        if (markers.of < 0).any():
            shapes.append(_entry(_UNKNOWN, _UNKNOWN_MARKER, _INK))
        figure.legend(handles=shapes, title=markers.title, loc="outside right lower", fontsize=9)


def _entry(name: str, marker: str, colour: str) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, color=colour, label=_shown(name))


def _colour(group: int) -> str:
    if group < 0:
        return _UNKNOWN_COLOUR
    return PALETTE[group] if group < len(PALETTE) else _FURTHER_COLOUR


def _marker(group: int) -> str:
    return MARKERS[group] if group >= 0 else _UNKNOWN_MARKER


def _shown(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name on one line, cut in the middle if it is too long, with dollar signs that start no formula."""
    plain = "".join(letter if letter.isprintable() else " " for letter in name)
    half = longest // 2
    short = plain if len(plain) <= longest else f"{plain[: half - 1]}…{plain[-half:]}"
    return short.replace("$", r"\$")
