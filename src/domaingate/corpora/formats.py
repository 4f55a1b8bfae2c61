"""The five formats, each as a lazy stream of rows: which line, and what its columns hold or why it cannot be read."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from domaingate.errors import DomainGateError

_LARGEST_FIELD = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Row:
    """What one row holds, by column name; `line` counts from 1 in the decompressed file (rows, in Parquet)."""

    line: int
    cells: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Flaw:
    """A row that cannot be read, and why, as the rest of a sentence that begins with file and line."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Request:
    """What a reader must know beside the bytes: the file's name for messages, and the columns wanted."""

    name: str
    text: str
    others: tuple[str, ...]


Rows = Iterator[Row | Flaw]
Reader = Callable[[IO[bytes], Request], Rows]


class _LineError(ValueError):
    """A line that is not text."""


class _Lines(Iterator[str]):
    """The lines of a byte stream as text, as they arrive; `number` is the line read last.

    A class rather than a generator, because it must go on after the error of one line.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.number = 0

    def __next__(self) -> str:
        raw = next(self._stream)
        self.number += 1
        if b"\0" in raw:
            raise _LineError("the line contains a NUL byte, so it is not text.")
        try:
            return raw.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise _LineError(f"the line is not UTF-8 (byte {error.start + 1} of it).") from error


def jsonl_rows(stream: IO[bytes], request: Request) -> Rows:
    """Read JSON lines, each an object of columns or a bare string; blank lines are skipped."""
    return _line_rows(stream, lambda line: _json_cells(line, request.text))


def text_rows(stream: IO[bytes], request: Request) -> Rows:
    """Read plain text, one text a line; blank lines are skipped."""
    return _line_rows(stream, lambda line: {request.text: line})


def csv_rows(stream: IO[bytes], request: Request) -> Rows:
    """Read comma-separated values below a header line."""
    return _delimited_rows(stream, request, ",")


def tsv_rows(stream: IO[bytes], request: Request) -> Rows:
    """Read tab-separated values below a header line, quoted like CSV."""
    return _delimited_rows(stream, request, "\t")


def parquet_rows(stream: IO[bytes], request: Request) -> Rows:
    """Read the wanted columns of a Parquet file, some rows at a time."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DomainGateError(f"Reading {request.name} needs pyarrow: pip install 'domaingate[parquet]'.") from error
    try:
        # The format is read from its end; what cannot be sought (standard input) is held in memory.
        table = pyarrow.parquet.ParquetFile(stream if stream.seekable() else pyarrow.BufferReader(stream.read()))
        names = table.schema_arrow.names
        _demand_text(names, request, place=request.name)
        columns = [name for name in (request.text, *request.others) if name in names]
        yield from _batch_rows(table.iter_batches(batch_size=1024, columns=columns))
    except pyarrow.ArrowException as error:
        raise DomainGateError(f"{request.name} is not a whole Parquet file ({error}).") from error


READERS: dict[str, Reader] = {
    "jsonl": jsonl_rows,
    "csv": csv_rows,
    "tsv": tsv_rows,
    "parquet": parquet_rows,
    "text": text_rows,
}


def quoted(names: Sequence[str]) -> str:
    """Return column names for a message, quoted, at most ten of them."""
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")


def _line_rows(stream: IO[bytes], cells: Callable[[str], Mapping[str, object]]) -> Rows:
    """Yield a row for each line that is not blank, with the `cells` made of it."""
    lines = _Lines(stream)
    while True:
        try:
            line = next(lines).rstrip("\r\n")
            if line.strip():
                yield Row(lines.number, cells(line))
        except StopIteration:
            return
        except _LineError as error:
            yield Flaw(lines.number, str(error))


def _json_cells(line: str, text_column: str) -> Mapping[str, object]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise _LineError(f"the line is not valid JSON ({error.msg}, column {error.colno}).") from error
    except RecursionError as error:
        raise _LineError("the line's JSON is nested too deeply.") from error
    except ValueError as error:
        raise _LineError(f"the line's JSON cannot be read ({error}).") from error
    if isinstance(value, str):
        return {text_column: value}
    if not isinstance(value, dict):
        raise _LineError("the line is JSON, but neither an object with columns nor a string.")
    if text_column not in value:
        raise _LineError(
            f"there is no column {text_column!r} (the line has: {quoted(list(value)) or 'nothing'}). "
            "Name the column that holds the text with --text-column."
        )
    return value


def _delimited_rows(stream: IO[bytes], request: Request, delimiter: str) -> Rows:
    # Python refuses fields above 128 kB unless told otherwise for the whole process; nobody relies on the refusal.
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_FIELD))
    lines = _Lines(stream)
    rows = _split_lines(lines, delimiter)
    header = _header(rows, request)
    for line, fields in rows:
        if isinstance(fields, str):
            yield Flaw(line, fields)
        elif len(fields) != len(header):
            yield Flaw(line, f"the row has {len(fields)} fields, but the header has {len(header)}: check its quotes.")
        else:
            yield Row(line, dict(zip(header, fields, strict=True)))


def _split_lines(lines: _Lines, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the first line and the fields of each row that is not blank, or a sentence where they cannot be told."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        first = lines.number + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except _LineError as error:
            yield lines.number, str(error)
        except csv.Error as error:
            yield first, f"the row cannot be split into fields ({error}): check its quotes."
        else:
            if fields and not (len(fields) == 1 and fields[0].isspace()):
                yield first, fields


def _header(rows: Iterator[tuple[int, list[str] | str]], request: Request) -> list[str]:
    line, fields = next(rows, (0, []))
    if isinstance(fields, str):
        raise DomainGateError(f"{request.name}:{line}: {fields}")
    header = [name.strip() for name in fields]
    if header:
        _demand_text(header, request, place=f"{request.name}:{line}")
    return header


def _demand_text(names: Sequence[str], request: Request, place: str) -> None:
    """Refuse a table that lacks the column of texts, or has a wanted column twice."""
    if request.text not in names:
        raise DomainGateError(
            f"{place}: there is no column {request.text!r} (there are: {quoted(names)}). "
            "Name the column that holds the text with --text-column."
        )
    for name in (request.text, *request.others):
        if names.count(name) > 1:
            raise DomainGateError(f"{place}: there are two columns {name!r}. Rename one of them.")


def _batch_rows(batches: Iterator[Any]) -> Iterator[Row]:
    line = 0
    for batch in batches:
        for cells in batch.to_pylist():
            line += 1
            yield Row(line, cells)
