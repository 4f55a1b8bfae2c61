"""Getting one file from elsewhere: whole, checked against its SHA-256, and never left half-written under its name."""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from domaingate.corpora.download import Progress, discard, download
from domaingate.errors import DomainGateError, told


@dataclass(frozen=True)
class HttpSource:
    """A file on a web server."""

    url: str
    sha256: str


@dataclass(frozen=True)
class FileSource:
    """A file on this machine."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class PipSource:
    """A file that `pip download` brings: the source distribution of a package."""

    requirement: str
    filename: str
    sha256: str


Source = HttpSource | FileSource | PipSource

_CHUNK = 1 << 20


def unseen(done: int, total: int | None) -> None:
    """Show no progress."""


def fetch(source: Source, target: Path, progress: Progress = unseen) -> Path:
    """Bring the file of `source` to `target`, unless it is there already with the right checksum.

    `progress` is called with the bytes done and the bytes expected, if known. A cut download leaves `target` with
    `.part` added to its name, from which the next call goes on; another process fetching the same file is waited for.
    """
    with told("fetch", target):
        if not is_whole(target, source.sha256):
            target.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{target}.lock"):
                # Another process may have brought it while this one waited.
                if not is_whole(target, source.sha256):
                    _bring(source, target, progress)
    return target


def is_whole(path: Path, sha256: str) -> bool:
    """Whether a file is there with that checksum."""
    return path.is_file() and _sha256(path) == sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _bring(source: Source, target: Path, progress: Progress) -> None:
    match source:
        case HttpSource(url=url):
            part = target.with_name(f"{target.name}.part")
            download(url, part, progress)
            _keep(part, target, source.sha256, url)
            discard(part)
        case FileSource(path=path):
            with _folder_beside(target) as folder:
                _copy(path, folder / target.name, progress)
                _keep(folder / target.name, target, source.sha256, str(path))
        case PipSource(requirement=requirement, filename=filename):
            with _folder_beside(target) as folder:
                _pip_download(requirement, folder)
                _keep(folder / filename, target, source.sha256, f"pip download {requirement}")
            progress(target.stat().st_size, target.stat().st_size)


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """Make a passing folder on the same disk, so that a file of it can be renamed to `target` in one step."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
        yield Path(folder)


def _copy(path: Path, copy: Path, progress: Progress) -> None:
    with path.open("rb") as read, copy.open("wb") as write:
        total = path.stat().st_size
        progress(0, total)
        while chunk := read.read(_CHUNK):
            write.write(chunk)
            progress(write.tell(), total)


def _pip_download(requirement: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", requirement]
    quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}  # its notice would stand last, after the error
    done = subprocess.run(
        [*command, "-d", str(folder)], env=quiet, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it gave no reason"]
        raise DomainGateError(f"pip could not download {requirement}: {lines[-1]}")


def _keep(whole: Path, target: Path, sha256: str, origin: str) -> None:
    """Give a file its final name if its checksum is right; otherwise delete it and say so."""
    if not whole.is_file():
        raise DomainGateError(f"{origin} did not bring {whole.name}.")
    found = _sha256(whole)
    if found != sha256:
        discard(whole)
        raise DomainGateError(
            f"The file from {origin} has the SHA-256 {found}, not {sha256}: it was changed, or damaged on the way. "
            "It was deleted; run the same command again, or get the file elsewhere."
        )
    whole.replace(target)
