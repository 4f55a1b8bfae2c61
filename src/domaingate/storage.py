"""Files that are whole or not there: written under a temporary name, then renamed. Every fault is a sentence."""

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from domaingate.errors import DomainGateError, told

_UNFINISHED = ".unfinished"


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file that is complete on disk before it has its name."""
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files that all are complete on disk before the first of them has its name."""
    written: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            with told("write", path):
                path.parent.mkdir(parents=True, exist_ok=True)
                handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_UNFINISHED)
                written[path] = Path(name)
                with os.fdopen(handle, "wb") as stream:
                    os.fchmod(handle, 0o666 & ~_umask())
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
        for path, temporary in written.items():
            with told("write", path):
                temporary.replace(path)
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)


def as_json(value: Any) -> bytes:
    """JSON that a person can read."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_json(path: Path, value: Any) -> None:
    """Write JSON that a person can read."""
    write_bytes(path, as_json(value))


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors as safetensors."""
    write_bytes(path, save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}))


def read_json(path: Path) -> Any:
    """Read JSON."""
    with told("read", path):
        text = path.read_text(encoding="utf-8", errors="replace")
    try:
        return json.loads(text)
    except ValueError as error:
        raise DomainGateError(f"{path} is damaged ({error}); train the model again or restore the file.") from None


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read safetensors."""
    with told("read", path):
        data = path.read_bytes()
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise DomainGateError(f"{path} is damaged ({error}); train the model again or restore the file.") from None


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `path` when the block ends well, and vanishes when it does not."""
    with told("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=_UNFINISHED))
    try:
        yield temporary
        with told("write", path):
            temporary.chmod(0o777 & ~_umask())
            _take_place(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _take_place(folder: Path, path: Path) -> None:
    """Rename `folder` to `path`; what was there before goes once the new one stands."""
    if not path.exists():
        folder.rename(path)
        return
    aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=_UNFINISHED))
    old = aside / "old"
    try:
        path.rename(old)
        try:
            folder.rename(path)
        except BaseException:
            old.rename(path)
            raise
    finally:
        if path.exists():  # else `aside` holds the only model there is
            shutil.rmtree(aside, ignore_errors=True)


def sweep(*paths: Path) -> None:
    """Delete what a killed run left half-written beside these places."""
    for path in paths:
        for left in path.parent.glob(f".{glob.escape(path.name)}.????????{_UNFINISHED}"):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors under names that start with `prefix`."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that `prefixed` put under `prefix`, with their own names."""
    return {name[len(prefix) + 1 :]: tensor for name, tensor in tensors.items() if name.startswith(f"{prefix}.")}
