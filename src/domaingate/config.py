"""Every choice of a run, once: fields become flags, keys of a TOML file, estimator parameters and `config.json`.

The classes are values: they are made whole, checked with `validate`, and never changed afterwards.
"""

import dataclasses
import difflib
import json
import tomllib
import types
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from domaingate.errors import DomainGateError

ModelName = Literal["s-cnn", "m-cnn", "gen", "dsda", "csda"]
GateName = Literal["dirichlet", "beta", "gamma"]
Tokens = Literal["words", "bytes"]
ReaderName = Literal["words", "bytes", "ngrams"]
Cleaning = Literal["none", "web"]
NgramStart = Literal["random", "bayes"]
Schedule = Literal["fixed", "linear"]
Inference = Literal["sample", "mean", "monte-carlo", "importance"]
Selection = Literal["source-dev", "target-dev"]
Half = Literal["both", "F", "Y"]

ConfigT = TypeVar("ConfigT")

MOST_THREADS = 1024  # of more, systems refuse to start some


def _option(default: Any, sentence: str, low: float = -float("inf"), high: float = float("inf")) -> Any:
    """Declare a field with the sentence that explains it and the range of values that make sense."""
    return field(default=default, metadata={"help": sentence, "low": low, "high": high})


@dataclass(kw_only=True)
class ModelConfig:
    """What is built (the paper's section 2 and appendix A.1)."""

    model: ModelName = _option("csda", "Which recipe to build.")
    gate: GateName = _option("dirichlet", "Distribution of the latent domain z in CSDA.")
    channels: int | None = _option(None, "Channels k: 13 unless given; for DSDA the number of known domains.", 1, 4096)
    reader: ReaderName | None = _option(
        None, "What reads a text: CNNs over words or bytes, or ngrams, bags of runs of --tokens; CNNs unless given."
    )
    tokens: Tokens = _option("words", "Read words or UTF-8 bytes.")
    clean: Cleaning = _option(
        "none", "Read a text as it is, or, of the web, without links, names, markup and digits, in small letters."
    )
    limit: int | None = _option(None, "Tokens of a text that are read: 256 words or 1000 bytes unless given.", 1)
    min_count: int = _option(2, "Words rarer than this in the training texts count as unknown; so do runs.", 1)
    ngrams: int | None = _option(None, "Tokens of the longest run, for ngrams: 3 words or 4 bytes unless given.", 1, 16)
    ngram_rows: int = _option(1_000_000, "Runs that are known at the most: those that stand in most texts.", 1)
    ngram_domains: int = _option(1, "Runs that stand in fewer training domains than this are unknown.", 1)
    ngram_size: int = _option(32, "Size of a run's embedding.", 1)
    ngram_start: NgramStart = _option(
        "random", "Embeddings of runs start as drawn, or, bayes, with what naive Bayes knows of each label beside that."
    )
    embedding: Literal["trained", "fixed"] = _option("trained", "Train the token embedding, or keep it as drawn.")
    embedding_size: int = _option(300, "Size of a token's embedding.", 1)
    embedding_scale: float | None = _option(
        None, "Embeddings start uniform between minus and plus this: 0.25 if trained, 1 if fixed, unless given.", 0
    )
    widths: tuple[int, ...] = _option((3, 4, 5), "Filter widths of a channel.", 1, 1000)
    filters: int = _option(128, "Filters of each width in a channel.", 1)
    hidden: int = _option(300, "Hidden units of the classifier.", 1)
    dropout: float = _option(
        0.5, "Dropout on the gated representation h; on the runs, where these start by bayes.", 0, 0.99
    )
    label_size: int = _option(4, "Size of the label's embedding in the posterior.", 1)
    domain_size: int = _option(16, "Size of the domain's embedding in the posterior.", 1)
    kl_weight: float = _option(0.1, "Weight lambda of the KL term.", 0)
    kl_schedule: Schedule = _option("fixed", "Keep lambda fixed, or let it rise linearly from 0.")
    kl_epochs: float = _option(2.0, "Epochs over which a linear schedule rises.", 0)
    prior_likelihood: float = _option(
        0.0,
        "Share of the likelihood taken under a sample of the prior instead of the posterior; the paper has 0.",
        0,
        1,
    )
    inference: Inference = _option("mean", "How to predict: from one sample of the prior, its mean, or averages.")
    samples: int = _option(100, "Samples m for monte-carlo and importance.", 1)


@dataclass(kw_only=True)
class TrainingConfig:
    """How it is trained."""

    learning_rate: float = _option(5e-4, "Learning rate of Adam.", 1e-12)
    average: float = _option(
        0.0,
        "Decay, a batch, of a running average of the weights, which is scored and kept; 0 for the weights.",
        0,
        0.99999,
    )
    batch_size: int = _option(32, "Texts in a batch.", 1)
    cuts: float = _option(
        0.0,
        "Share of the training texts that are cut to a random stretch, anew in each epoch: short texts need it.",
        0,
        1,
    )
    epochs: int = _option(10, "Epochs at the most.", 1)
    patience: int = _option(2, "Stop after this many epochs without a better dev score.", 1)
    device: str = _option("cpu", "Where to compute: cpu, cuda, cuda:1, mps.")
    threads: int | None = _option(None, "Threads to compute with: all cores unless given.", 1, MOST_THREADS)
    dev_share: float = _option(0.1, "Share of each training domain that is set aside as source-dev.", 0, 0.9)


@dataclass(kw_only=True)
class ProtocolConfig:
    """Who may see what."""

    held_out: tuple[str, ...] | None = _option(
        None, 'Domains kept out of training; "" for none; unless given, the ones that a known corpus keeps for testing.'
    )
    half: Half = _option(
        "both", "Train on all texts, or on one half: Y has those whose domain --hide-domains 0.5 hides, F the others."
    )
    hide_domains: float = _option(0.0, "Share of training texts whose domain is hidden.", 0, 1)
    hide_labels: float = _option(0.0, "Share of training texts whose label is hidden.", 0, 0.999)
    test_share: float = _option(0.1, "Share of each training domain that is set aside for testing.", 0, 0.9)
    target_dev_share: float = _option(0.4, "Share of each held-out domain that is target-dev; the rest is test.", 0, 1)
    split_seed: int = _option(
        0, "Seed of the parts and of what is hidden: runs of different --seed see the same parts.", 0, 2**63 - 1
    )
    select: Selection = _option("source-dev", "The dev part whose accuracy picks the epoch and stops the training.")


@dataclass(kw_only=True)
class FitConfig(ProtocolConfig, TrainingConfig, ModelConfig):
    """One whole run."""

    seed: int = _option(0, "Seed of weights, batches, dropout and samples.", 0, 2**63 - 1)

    @property
    def name(self) -> str:
        """What the model is called."""
        return f"{self.model}-{self.gate}" if self.model == "csda" else self.model


def flag(name: str) -> str:
    """The spelling of a field on the command line."""
    return "--" + name.replace("_", "-")


def kind(cls: type, name: str) -> tuple[Any, bool]:
    """A field's plain type (or its allowed values) and whether it may be left open."""
    hint = get_type_hints(cls)[name]
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    plain = next(option for option in options if option is not type(None))
    if get_origin(plain) is Literal:
        return get_args(plain), type(None) in options
    return plain, type(None) in options


def _parse_one(text: Any, plain: Any) -> Any:
    if isinstance(plain, tuple):
        if text not in plain:
            raise ValueError(f"one of {', '.join(plain)}")
        return text
    if plain is str:
        if not isinstance(text, str):
            raise ValueError("a word")
        return text
    expected = "a whole number" if plain is int else "a number"
    try:
        value = plain(text)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(expected) from None
    if isinstance(text, bool) or (plain is int and isinstance(text, float) and text != value):
        raise ValueError(expected)
    return value


def parse(cls: type, name: str, value: Any) -> Any:
    """A field's value from a flag's string or a TOML value; a sentence where it does not fit."""
    plain, optional = kind(cls, name)
    if value is None and optional:
        return None
    try:
        if get_origin(plain) is tuple:
            if not isinstance(value, str | list | tuple):
                raise ValueError("a list, such as 3,4,5")
            parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
            return tuple(_parse_one(part, get_args(plain)[0]) for part in parts if part != "")
        return _parse_one(value, plain)
    except (TypeError, ValueError) as error:
        raise DomainGateError(f"{flag(name)} is {value!r}; it takes {error}.") from None


def _check_range(item: Field[Any], value: Any) -> None:
    low, high = item.metadata["low"], item.metadata["high"]
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, int | float) and not (low <= number <= high and abs(number) != float("inf")):
            span = f"from {low} to {high}" if high < float("inf") else f"of at least {low}"
            raise DomainGateError(f"{flag(item.name)} is {number}; it takes a value {span}.")


def validate(config: ConfigT) -> ConfigT:
    """Return a config whose values all have the right type and range, or say which one does not."""
    cls = type(config)
    declared = [item for item in fields(config) if "help" in item.metadata]  # type: ignore[arg-type]
    parsed = {item.name: parse(cls, item.name, getattr(config, item.name)) for item in declared}
    for item in declared:
        _check_range(item, parsed[item.name])
    if parsed.get("widths") == ():
        raise DomainGateError("--widths is empty; it takes one width or more, such as 3,4,5.")
    if parsed.get("reader") in get_args(Tokens):  # the short form is the one that counts from here on
        parsed.update(reader=None, tokens=parsed["reader"])
    return dataclasses.replace(config, **parsed)  # type: ignore[type-var]


def from_mapping(cls: type[ConfigT], values: Mapping[str, Any], origin: str | None = None) -> ConfigT:
    """A config from TOML or JSON keys (`-` and `_` alike); `origin` names the file, if they come from one."""
    known = {item.name for item in fields(cls)}  # type: ignore[arg-type]
    given = {key.replace("-", "_"): value for key, value in values.items()}
    for key in given.keys() - known:
        close = difflib.get_close_matches(key, known, 1)
        hint = f"; did you mean {close[0]}?" if close else f". Known: {', '.join(sorted(known))}."
        raise DomainGateError(f"{origin or 'The command line'} sets {key}, which is no option{hint}")
    try:
        return validate(cls(**{key: parse(cls, key, value) for key, value in given.items()}))
    except DomainGateError as error:
        raise DomainGateError(f"{origin}: {error}" if origin else str(error)) from None


def read_toml(path: Path) -> dict[str, Any]:
    """The keys of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DomainGateError(f"Cannot read {path}: {error.strerror}. Give --config a TOML file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DomainGateError(f"{path} is not TOML: {error}.") from None


def to_json(config: Any) -> dict[str, Any]:
    """A config as plain JSON values."""
    return dict(json.loads(json.dumps(dataclasses.asdict(config))))
