"""Tables of texts: JSON lines, CSV, TSV, Parquet and plain text, as a lenient stream or as a strict corpus."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from domaingate.corpora.document import Corpus, Document
from domaingate.corpora.files import STDIN, Format, find_files, open_bytes, shown
from domaingate.corpora.formats import READERS, Flaw, Request, Row, quoted
from domaingate.errors import DomainGateError


@dataclass(frozen=True)
class Columns:
    """The names of the columns that hold the text, its label and its domain; one of the last two may not matter."""

    text: str = "text"
    label: str | None = "label"
    domain: str | None = "domain"


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read; `source` is "file:line", `problem` a sentence that begins with it."""

    source: str
    problem: str


DEFAULT_COLUMNS = Columns()


def read_rows(
    path: Path | str,
    columns: Columns = DEFAULT_COLUMNS,
    format: Format = "auto",  # noqa: A002 - the word people use for it, as in --format
) -> Iterator[Document | BadRow]:
    """Yield the rows of a file, a folder of files or standard input ("-", JSON lines), each as soon as it arrives.

    A row that cannot be read is yielded as a `BadRow` and reading goes on; what makes the whole file unreadable
    (not there, broken compression, a header without the text column) raises `DomainGateError`.
    """
    return _demand_rows(_stream(find_files(path, format), columns, set()), path)


def _demand_rows(rows: Iterator[Document | BadRow], path: Path | str) -> Iterator[Document | BadRow]:
    """The same rows; a stream may end before it has begun, a file that has none was meant to be another."""
    first = next(rows, None)
    if first is not None:
        yield first
        yield from rows
    elif str(path) != STDIN:
        raise DomainGateError(f"{shown(path)} has no rows: there is nothing to read.")


def read_corpus(
    path: Path | str,
    columns: Columns = DEFAULT_COLUMNS,
    format: Format = "auto",  # noqa: A002
) -> Corpus:
    """Read a file or a folder as a corpus; the first row that cannot be read raises `DomainGateError`."""
    found: set[str] = set()
    documents = []
    for row in _stream(find_files(path, format), columns, found):
        if isinstance(row, BadRow):
            raise DomainGateError(row.problem)
        documents.append(row)
    if not documents:
        raise DomainGateError(f"{shown(path)} has no rows: there is nothing to read.")
    _demand_renamed(path, columns, found)
    return Corpus(name=str(path), documents=documents)


def _stream(files: list[tuple[Path, Format]], columns: Columns, found: set[str]) -> Iterator[Document | BadRow]:
    return chain.from_iterable(_file_rows(path, kind, columns, found) for path, kind in files)


def _file_rows(path: Path, kind: Format, columns: Columns, found: set[str]) -> Iterator[Document | BadRow]:
    """Yield the rows of one file, noting in `found` the names of the columns met."""
    name = shown(path)
    request = Request(name, columns.text, tuple(other for other in (columns.label, columns.domain) if other))
    with open_bytes(path) as stream:
        for row in READERS[kind](stream, request):
            source = f"{name}:{row.line}"
            if isinstance(row, Flaw):
                yield BadRow(source, f"{source}: {row.reason}")
            else:
                found.update(row.cells)
                yield _document(row, columns, source)


def _document(row: Row, columns: Columns, source: str) -> Document | BadRow:
    try:
        return Document(
            text=_text(row.cells[columns.text]),
            label=_name(row.cells.get(columns.label), "label") if columns.label else None,
            domain=_name(row.cells.get(columns.domain), "domain") if columns.domain else None,
            source=source,
        )
    except UnicodeEncodeError:
        return BadRow(source, f"{source}: the row contains half a surrogate pair, which no UTF-8 text can hold.")
    except ValueError as error:
        return BadRow(source, f"{source}: {error}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("the text is null." if value is None else "the text is not a string.")
    if not value or value.isspace():
        raise ValueError("the text is empty.")
    value.encode()  # refuses lone surrogates, which JSON escapes can spell
    return value


def _name(value: object, what: str) -> str | None:
    """Return a label or a domain as a string without blanks around it, or `None` where it is unknown."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise ValueError(f"the {what} is neither a string nor a number.")
    name = str(value).strip()
    name.encode()
    return name or None


def _demand_renamed(path: Path | str, columns: Columns, found: set[str]) -> None:
    """Refuse a column that the caller named but that no row has: it is a slip of the pen."""
    for what in ("label", "domain"):
        name = getattr(columns, what)
        if name not in (None, getattr(DEFAULT_COLUMNS, what)) and name not in found:
            raise DomainGateError(
                f"No row of {shown(path)} has a column {name!r} (there are: {quoted(sorted(found))}): "
                f"check --{what}-column."
            )
