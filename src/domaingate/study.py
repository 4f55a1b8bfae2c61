"""A study: a TOML document of tables and figures, whose rows say which runs they are made of.

`[fit]` holds the options of every run, `[data]` what is trained on; a row adds its own options, and a table may take
each row `over` several values of one option. A run that several rows need is one run. `[small]` is the same study at
toy size.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

from domaingate.config import FitConfig, from_mapping, read_toml, to_json
from domaingate.errors import DomainGateError, listed

Kind = Literal["counts", "search", "scores", "ways", "curve", "diagnosis", "map", "lengths", "calibration"]
Rule = Literal["target-dev", "source-dev", "oracle"]  # which candidate of a run counts
Linear = Literal[  # no network: what users would try, or the bare parts
    "words", "word pairs", "in domain", "counts",
    "byte n-grams, naive Bayes", "byte n-grams, logistic regression", "langid.py", "py3langid",
]  # fmt: skip
_MACHINE = ("device", "threads")  # where a run is made does not change which run it is
_SMALL = " at toy size"


@dataclass(frozen=True)
class Run:
    """One thing to train and record."""

    study: str  # told in the record; a run of the same name is the same in any study
    corpus: str
    config: FitConfig
    linear: Linear | None
    also: frozenset[str]  # what to look at besides the scores: ways, diagnosis, map
    minutes: float  # about what it costs on one thread

    @property
    def options(self) -> dict[str, Any]:
        """What tells this run from others: the options that are not at their default."""
        usual, mine = to_json(FitConfig()), to_json(self.config)
        return {name: value for name, value in mine.items() if value != usual[name] and name not in _MACHINE}

    @property
    def name(self) -> str:
        """Twelve letters that stand for the corpus and the options."""
        story = [self.corpus, self.linear, self.options]
        return sha256(json.dumps(story, sort_keys=True).encode()).hexdigest()[:12]

    def is_told_by(self, record: Mapping[str, Any]) -> bool:
        """Whether a record is of this run: the same options, those added since then at today's default."""
        told = {name: value for name, value in record["config"].items() if name not in _MACHINE}
        mine = to_json(self.config)
        return (
            (record["corpus"], record["linear"]) == (self.corpus, self.linear)
            and {**to_json(FitConfig()), **told, **{name: mine[name] for name in _MACHINE}} == mine
            and self.also <= set(record["also"])
        )


@dataclass(frozen=True)
class Point:
    """The runs, one a seed, of a row at one value of the option that its table goes over."""

    value: float | None
    runs: Sequence[Run]


@dataclass(frozen=True)
class Row:
    """A line of a table or figure."""

    name: str
    data: str
    points: Sequence[Point]
    paper: Sequence[float]  # the paper's figures: a column each, the average last
    spread: Sequence[float]  # and their standard deviations

    def is_called(self, text: str) -> bool:
        """Whether `text` is a part of its name, with or without its data."""
        return text.lower() in f"{self.data} {self.name}".lower()

    @property
    def runs(self) -> Sequence[Run]:
        """Those of all points."""
        return [run for point in self.points for run in point.runs]


@dataclass(frozen=True)
class Table:
    """A table or figure."""

    name: str
    kind: Kind
    title: str
    rows: Sequence[Row]
    against: str | None  # the row that the others of its data are tested against
    over: str | None  # the option that differs along a row
    rules: Sequence[Rule]  # by which the scores are told; the first one where there is room for one only
    paper: Mapping[str, Any]  # what the paper shows that belongs to no row


@dataclass(frozen=True)
class Study:
    """The whole document."""

    name: str
    title: str
    columns: Mapping[str, str]  # unseen domains, and the letters that stand for them
    tables: Sequence[Table]
    small: bool

    def runs(self, tables: Sequence[str] = (), only: str = "", seeds: int | None = None) -> list[Run]:
        """The runs of some tables, rows (or the one run of a name) and seeds, each once, those of low seeds first."""
        for name in tables:
            if name not in [table.name for table in self.tables]:
                known = ", ".join(table.name for table in self.tables)
                raise DomainGateError(f"--table {name} is no table of {self.name}; it has {known}.")
        rows = [row for table in self.tables if not tables or table.name in tables for row in table.rows]
        chosen = [run for row in rows for run in row.runs if only in (run.name, "") or row.is_called(only)]
        if not chosen:
            names = listed(list(dict.fromkeys(f"{row.data} {row.name}" for row in rows)), 40)
            raise DomainGateError(f"--only {only!r} is in the name of no row, and no run is called so: {names}.")
        found = {run.name: run for run in chosen if seeds is None or run.config.seed < seeds}
        return sorted(found.values(), key=lambda run: run.config.seed)


def load_study(name_or_path: str, small: bool = False) -> Study:
    """A study that the package brings, or one from a file; its name in a record says by itself that it is small."""
    if name_or_path.endswith(_SMALL):
        return load_study(name_or_path.removesuffix(_SMALL), small=True)
    shipped = resources.files("domaingate") / "studies"
    names = sorted(place.name.removesuffix(".toml") for place in shipped.iterdir() if place.name.endswith(".toml"))
    path = Path(name_or_path)
    if name_or_path in names:
        with resources.as_file(shipped / f"{name_or_path}.toml") as place:
            return _study(name_or_path, read_toml(place), name_or_path, small)
    if path.suffix == ".toml":
        return _study(path.stem, read_toml(path), str(path), small)
    raise DomainGateError(f"There is no study {name_or_path}; give one of {', '.join(names)}, or a .toml file.")


def _study(name: str, document: Mapping[str, Any], origin: str, small: bool) -> Study:
    try:
        toy = document["small"] if small else {}
        toys = {"small": toy, "fit": document["fit"], "name": name + (_SMALL if small else "")}
        settings = {**document, **toy, **toys}
        tables = _share_looks([_table(table, settings, origin) for table in document["table"]])
        title = settings["title"] + (_SMALL if small else "")
        return Study(settings["name"], title, settings["columns"], tables, small)
    except (KeyError, TypeError, AttributeError) as error:
        raise DomainGateError(f"{origin} is not the document of a study: {error} is missing or misplaced.") from None


def _table(table: Mapping[str, Any], settings: Mapping[str, Any], origin: str) -> Table:
    kind = table["kind"]
    _check([kind], Kind, f"{origin}: the kind of table {table['name']}")
    rows = [_row(row, table, settings, origin) for row in table["rows"]]
    rules = table.get("rules", settings.get("rules", get_args(Rule)))
    _check(rules, Rule, f"{origin}: a rule of table {table['name']}")
    return Table(
        str(table["name"]),
        kind,
        table["title"],
        rows,
        table.get("against"),
        table.get("over"),
        rules,
        table.get("paper", {}),
    )


def _check(values: Sequence[str], allowed: Any, what: str) -> None:
    for value in values:
        if value not in get_args(allowed):
            raise DomainGateError(f"{what} is {value}; known: {', '.join(get_args(allowed))}.")


def _row(row: Mapping[str, Any], table: Mapping[str, Any], settings: Mapping[str, Any], origin: str) -> Row:
    values = table.get("values", [None])
    points = [Point(value, _runs(row, table, value, settings, origin)) for value in values]
    return Row(row["name"], row["data"], points, row.get("paper", ()), row.get("spread", ()))


def _runs(
    row: Mapping[str, Any], table: Mapping[str, Any], value: float | None, settings: Mapping[str, Any], origin: str
) -> list[Run]:
    small = settings["small"]
    seeds = min(row.get("seeds", table["seeds"]), small.get("seeds", table["seeds"]))
    options = {**settings["fit"], **settings["data"][row["data"]], **row.get("fit", {})}
    if value is not None:
        options[table["over"]] = value
    config = from_mapping(FitConfig, {**options, **small.get("fit", {})}, f"{origin}, row {row['name']}")
    corpus = small.get("corpus", row.get("corpus", settings["corpus"]))
    linear, also = row.get("linear"), frozenset(table.get("also", ()))
    _check([linear] if linear else [], Linear, f"{origin}: what row {row['name']} is made by")
    minutes = 0.05 if small else row["minutes"] * (value / table["minutes-at"] if "minutes-at" in table else 1)
    return [Run(settings["name"], corpus, replace(config, seed=seed), linear, also, minutes) for seed in range(seeds)]


def _share_looks(tables: Sequence[Table]) -> list[Table]:
    """The same tables, where a run that several of them need looks at all that any of them asks for."""
    also: dict[str, frozenset[str]] = {}
    for run in [run for table in tables for row in table.rows for run in row.runs]:
        also[run.name] = also.get(run.name, frozenset()) | run.also

    def told(run: Run) -> Run:
        return replace(run, also=also[run.name])

    return [
        replace(
            table,
            rows=[
                replace(row, points=[replace(point, runs=[told(run) for run in point.runs]) for point in row.points])
                for row in table.rows
            ],
        )
        for table in tables
    ]


def machine_free(config: FitConfig) -> FitConfig:
    """The same choices, without where they are carried out."""
    return replace(config, device=FitConfig.device, threads=FitConfig.threads)
