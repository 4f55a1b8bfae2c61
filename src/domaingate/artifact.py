"""The model folder: config, weights, tokenizer, labels, metrics and a card. It is data, never code."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from domaingate import __version__
from domaingate.config import FitConfig, from_mapping, to_json
from domaingate.encoding import Encoder, encoder_from_json
from domaingate.errors import DomainGateError
from domaingate.model.base import Model, Sizes
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
    """Refuse a place that holds something other than a model."""
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
    described = read_json(folder / "config.json")
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise DomainGateError(
            f"{folder / 'config.json'} is not of format {FORMAT}, the one that domaingate {__version__} reads; "
            "train the model again or install the version that wrote it."
        )
    try:
        config = replace(from_mapping(FitConfig, described["config"], str(folder / "config.json")), device=device)
        encoder = encoder_from_json(read_json(folder / "tokenizer.json"))
        names, metrics = read_json(folder / "labels.json"), read_json(folder / "metrics.json")
        model = build(config, Sizes(encoder.size, len(names["labels"]), len(names["domains"])))
        model.load_state_dict(read_tensors(folder / "weights.safetensors"))
        seen = _unpack(metrics.pop("seen"))
    except DomainGateError:
        raise
    except Exception as error:  # whatever a damaged file can bring about
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DomainGateError(
            f"The model folder {folder} is damaged: {reason}. Train it again or restore it."
        ) from None
    return Artifact(config, encoder, names["labels"], names["domains"], model.to(device).eval(), seen, metrics)


def _pack(digests: frozenset[int]) -> str:
    return base64.b64encode(np.array(sorted(digests), dtype="<i8").tobytes()).decode()


def _unpack(packed: str) -> frozenset[int]:
    return frozenset(np.frombuffer(base64.b64decode(packed), dtype="<i8").tolist())
