"""The model folder: config, weights, tokenizer, labels, metrics and a card. It is data, never code."""

import base64
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from domaingate import __version__
from domaingate.config import FitConfig, from_mapping, to_json
from domaingate.encoding import Encoder, encoder_from_json
from domaingate.errors import DomainGateError
from domaingate.inference import check_device
from domaingate.model.base import Model
from domaingate.model.reader import Sizes
from domaingate.model.recipes import build
from domaingate.storage import new_folder, read_json, read_tensors, write_bytes, write_json, write_tensors

FORMAT = 1
Label = str | int | float | bool


@dataclass(frozen=True)
class Artifact:
    """All that prediction needs, and what is known about how the model came to be."""

    config: FitConfig
    encoder: Encoder
    labels: Sequence[Label]
    domains: Sequence[str]  # those that training knew
    model: Model
    seen: frozenset[int]  # digests of the texts that it was trained or chosen on
    metrics: dict[str, Any] = field(default_factory=dict)


def save(artifact: Artifact, folder: Path, card: str) -> None:
    """Write the folder, whole or not at all; an older model of that name gives way, anything else does not."""
    check_place(folder)
    with new_folder(folder) as new:
        config = {"format": FORMAT, "version": __version__, "config": to_json(artifact.config)}
        write_json(new / "config.json", config)
        write_tensors(new / "weights.safetensors", artifact.model.state_dict())
        write_json(new / "tokenizer.json", artifact.encoder.to_json())
        write_json(new / "labels.json", {"labels": list(artifact.labels), "domains": list(artifact.domains)})
        write_json(new / "metrics.json", {**artifact.metrics, "seen": _pack(artifact.seen)})
        write_bytes(new / "README.md", card.encode())


def check_place(folder: Path) -> None:
    """Refuse a place that holds something other than a model, or that nothing can be written to."""
    above = next(place for place in folder.absolute().parents if place.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise DomainGateError(f"Cannot write {folder}: {above} is not a folder that can be written to.")
    if folder.exists() and not is_model(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise DomainGateError(f"{folder} exists and is not a model folder; choose another place for the model.")


def is_model(folder: Path) -> bool:
    """Whether `folder` looks like a model folder."""
    return (folder / "config.json").is_file() and (folder / "weights.safetensors").is_file()


def load(folder: Path, device: str = "cpu") -> Artifact:
    """Read a model folder, ready to predict."""
    if not is_model(folder):
        raise DomainGateError(
            f"{folder} is not a model folder (no config.json with weights.safetensors in it); "
            "give the folder that `domaingate fit --out` wrote."
        )
    check_device(device)
    described = read_json(folder / "config.json")
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise DomainGateError(
            f"{folder / 'config.json'} is not of format {FORMAT}, the one that domaingate {__version__} reads; "
            "train the model again or install the version that wrote it."
        )
    with _whole(folder / "config.json"):
        config = replace(from_mapping(FitConfig, described["config"], str(folder / "config.json")), device=device)
    with _whole(folder / "tokenizer.json"):
        encoder = encoder_from_json(read_json(folder / "tokenizer.json"))
    with _whole(folder / "labels.json"):
        names = read_json(folder / "labels.json")
        labels, domains = _listed(names["labels"]), _listed(names["domains"])
    with _whole(folder / "metrics.json"):
        metrics = read_json(folder / "metrics.json")
        _listed([metrics["selection"], *metrics["trained_on"]])
        seen = _unpack(metrics.pop("seen"))
    with _whole(folder / "weights.safetensors", "does not fit config.json, tokenizer.json and labels.json beside it"):
        weights = read_tensors(folder / "weights.safetensors")
        with torch.random.fork_rng(devices=[]):
            model = build(config, Sizes(encoder.size, len(labels), len(domains), encoder.weights))
        model.load_state_dict(weights)
        if not all(bool(weight.isfinite().all()) for weight in weights.values()):
            raise DomainGateError(
                f"{folder / 'weights.safetensors'} holds weights that are no finite numbers; train the model again."
            )
    return Artifact(config, encoder, labels, domains, model.to(device).eval(), seen, metrics)


@contextmanager
def _whole(path: Path, problem: str = "does not hold what domaingate wrote") -> Iterator[None]:
    """Tell whatever a damaged file can bring about by the file's name."""
    try:
        yield
    except DomainGateError:
        raise
    except Exception:
        raise DomainGateError(f"{path} {problem}; train the model again or restore the file.") from None


def _listed(values: Any) -> list[Any]:
    if not isinstance(values, list) or not all(isinstance(value, Label) for value in values):
        raise TypeError
    return values


def label_name(label: Label) -> str:
    """A label as it stands in files of texts: as JSON spells it."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def _pack(digests: frozenset[int]) -> str:
    return base64.b64encode(np.array(sorted(digests), dtype="<i8").tobytes()).decode()


def _unpack(packed: str) -> frozenset[int]:
    return frozenset(np.frombuffer(base64.b64decode(packed), dtype="<i8").tolist())
