"""Files as bytes: which ones belong to a corpus, what format each has, and how a broken one is told."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, cast

from domaingate.errors import DomainGateError, told

Format = Literal["auto", "jsonl", "csv", "tsv", "parquet", "text"]

STDIN = "-"
SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".txt": "text"}
_ACCEPTED = f"{', '.join(SUFFIXES)}, each also with .gz"


def shown(path: Path | str) -> str:
    """Return the name of a file as messages and `Document.source` give it."""
    return "<stdin>" if str(path) == STDIN else str(path)


def find_files(path: Path | str, wanted: Format) -> list[tuple[Path, Format]]:
    """Return the files to read and the format of each: one for a file, or all the readable ones of a folder.

    In a folder the suffix decides, and `wanted` other than "auto" keeps to the files of that format.
    """
    path = Path(path)
    if str(path) == STDIN:
        return [(path, "jsonl" if wanted == "auto" else wanted)]
    if not path.exists():
        raise DomainGateError(f"There is no file or folder {str(path)!r}: check the path.")
    if path.is_dir():
        return _files_of_folder(path, wanted)
    return [(path, _format_by_suffix(path) if wanted == "auto" else wanted)]


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, a gzip'ed file or standard input ("-"); failures to read become sentences that name the file."""
    with told("read", shown(path)):
        try:
            if str(path) == STDIN:
                with _standard_input() as stream:
                    yield stream
            elif path.suffix.lower() == ".gz":
                with gzip.open(path) as unpacked:
                    yield cast(IO[bytes], unpacked)
            else:
                with path.open("rb") as stream:
                    yield stream
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            message = f"{path} is not a whole gzip file ({error}): get it or pack it again."
            raise DomainGateError(message) from error


@contextmanager
def _standard_input() -> Iterator[IO[bytes]]:
    """Standard input through a buffer of its own.

    Python aborts when it ends while a thread waits inside of `sys.stdin`, as after Ctrl-C in a stream of predictions.
    """
    try:
        handle = sys.stdin.buffer.fileno()
    except OSError:  # no real file stands behind it
        yield sys.stdin.buffer
        return
    with open(handle, "rb", closefd=False) as stream:
        yield stream


def _files_of_folder(folder: Path, wanted: Format) -> list[tuple[Path, Format]]:
    visible = (p for p in sorted(folder.rglob("*")) if p.is_file() and not _hidden(p.relative_to(folder)))
    known = ((p, SUFFIXES[_suffix(p)]) for p in visible if _suffix(p) in SUFFIXES)
    files = [(p, kind) for p, kind in known if wanted in ("auto", kind)]
    if not files:
        accepted = _ACCEPTED if wanted == "auto" else f"of format {wanted}"
        raise DomainGateError(f"The folder {folder} has no file that can be read ({accepted}).")
    return files


def _hidden(relative: Path) -> bool:
    return any(part.startswith(".") for part in relative.parts)


def _suffix(path: Path) -> str:
    """Return the suffix that tells the format, lower-cased, below a `.gz`."""
    inner = Path(path.stem) if path.suffix.lower() == ".gz" else path
    return inner.suffix.lower()


def _format_by_suffix(path: Path) -> Format:
    if _suffix(path) not in SUFFIXES:
        raise DomainGateError(
            f"The name of {path} does not tell its format: use one of {_ACCEPTED}, or say it with --format."
        )
    return SUFFIXES[_suffix(path)]
