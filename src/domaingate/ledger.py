"""Records of runs: JSON lines, one a run, appended as runs end. What is written is never changed."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import tokenizers
import torch

from domaingate import __version__
from domaingate.errors import DomainGateError, told

Record = dict[str, Any]


def read(path: Path) -> list[Record]:
    """The records of a file; a last line that a killed run left unfinished is passed over."""
    if not path.exists():
        return []
    with told("read", path):
        lines = path.read_bytes().split(b"\n")
    return [_record(line, f"{path}:{number}") for number, line in enumerate(lines[:-1], 1) if line]


def _record(line: bytes, place: str) -> Record:
    try:
        record = json.loads(line)
        return {**record, "run": record["run"], "candidates": record["candidates"]}
    except (ValueError, KeyError, TypeError):
        raise DomainGateError(
            f"{place} is not the record of a run; remove the line, and the run is made again."
        ) from None


def begin(path: Path) -> None:
    """Make sure that records can be written there."""
    with told("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()


def append(path: Path, record: Record) -> None:
    """Add one line, whole on disk when this returns."""
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    begin(path)
    with told("write", path), path.open("a+b") as stream:
        _drop_unfinished(stream)
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


def _drop_unfinished(stream: Any) -> None:
    """Cut off what stands after the last line end."""
    end = stream.seek(0, os.SEEK_END)
    kept = end
    while kept and (stream.seek(kept - 1), stream.read(1))[1] != b"\n":
        kept -= 1
    if kept < end:
        stream.truncate(kept)


def provenance(device: str, threads: int) -> Record:
    """Where and by what a run was made."""
    processor = torch.cuda.get_device_name(device) if device.startswith("cuda") else _processor()
    return {
        "versions": {
            "domaingate": __version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "tokenizers": tokenizers.__version__,
            "python": platform.python_version(),
        },
        "commit": _commit(),
        "machine": {"processor": processor, "device": device, "threads": threads},
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    lines: Sequence[str] = described.read_text(encoding="utf-8").splitlines() if described.exists() else ()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _commit() -> str | None:
    """The commit of this code, if it lies in a checkout; with a plus where something was changed since."""
    here = Path(__file__).parent

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(here), *words], capture_output=True, text=True, check=False)
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "--short=10", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", str(here))
    return commit and (f"{commit}+" if changed else commit)
