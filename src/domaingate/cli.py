"""The command line: one verb per stage, each a thin call. `domaingate COMMAND --help` shows an example."""

import inspect as python_inspect
import json
import os
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_args, get_origin

import typer
from typer.core import TyperGroup

from domaingate import __version__
from domaingate.config import MOST_THREADS, FitConfig, Inference, flag, from_mapping, kind, parse, read_toml
from domaingate.errors import DomainGateError, is_out_of_memory


class _Commands(TyperGroup):
    """Sees Ctrl-C and a closed pipe before the library does, which would end the program in its own way."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            return _fail("Stopped. A fit goes on from its last epoch with --resume.", 130)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: not an error of ours
            sys.exit(0)


app = typer.Typer(
    cls=_Commands,
    help="Text classifiers for heaps of heterogeneous text, gated by a latent domain.\n\n"
    "Example: domaingate fit synthetic --epochs 2 --out model",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
corpus_app = typer.Typer(
    help="Known corpora, and what is in a file.\n\nExample: domaingate corpus show synthetic",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(corpus_app, name="corpus")

CorpusArgument = Annotated[
    str, typer.Argument(metavar="CORPUS", help="A known name, or a file or folder of JSONL, CSV, TSV, Parquet (.gz).")
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")]
TextColumn = Annotated[str, typer.Option(help="Column with the text.")]
LabelColumn = Annotated[str, typer.Option(help="Column with the label.")]
DomainColumn = Annotated[str, typer.Option(help="Column with the domain.")]
FormatOption = Annotated[str, typer.Option("--format", help="auto, jsonl, csv, tsv, parquet or text.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
DeviceOption = Annotated[str, typer.Option(help="Where to compute.")]
ThreadsOption = Annotated[
    int | None, typer.Option(help="Threads to compute with: all cores unless given.", min=1, max=MOST_THREADS)
]


def main() -> None:
    """Run a command; a mistake that a person can mend becomes a sentence and exit code 2."""
    # Threads that wait must not spin: a step on a busy machine would take ten times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        app()
    except DomainGateError as error:
        _fail(str(error))
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        _fail("The memory does not suffice; use a smaller --batch-size, fewer --channels or --filters.")
    except OSError as error:
        place = f" {error.filename}" if error.filename else ""
        _fail(f"The system refused{place}: {error.strerror or error}.")


def _fail(sentence: str, code: int = 2) -> NoReturn:
    sys.stderr.write(f"domaingate: {sentence}\n")
    sys.exit(code)


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()  # here, where a pipe that nobody reads and a full disk are told


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"domaingate {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Text classifiers for heaps of heterogeneous text, gated by a latent domain."""


def _with_config(command: Callable[..., None]) -> Callable[..., None]:
    """Give `command` a flag for every field of `FitConfig`; those that are given arrive as `given`."""
    signature = python_inspect.signature(command)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "given"]
    flags = [
        python_inspect.Parameter(
            item.name,
            python_inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None, typer.Option(flag(item.name), metavar=_metavar(item.name), help=_help(item))
            ],
        )
        for item in fields(FitConfig)
    ]

    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        given = {item.name: arguments.pop(item.name) for item in flags}
        command(**arguments, given={name: value for name, value in given.items() if value is not None})

    wrapper.__signature__ = signature.replace(parameters=own + flags)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {item.name: item.annotation for item in own + flags}
    return wrapper


def _metavar(name: str) -> str:
    plain: Any = kind(FitConfig, name)[0]
    if isinstance(plain, tuple):
        return "|".join(str(value) for value in plain)
    if plain is str:
        return "NAME"
    return "A,B" if get_origin(plain) is tuple else "N" if plain is int else "X"


def _help(item: Any) -> str:
    shown = ",".join(map(str, item.default)) if isinstance(item.default, tuple) else item.default
    default = f" [default: {shown}]" if shown is not None else ""
    return f"{item.metadata['help']}{default}"


@corpus_app.command("list")
def corpus_list(as_json: JsonOption = False) -> None:
    """Name the known corpora and say which are here.

    Example: domaingate corpus list
    """
    from domaingate.corpora import KNOWN, locate

    rows = [
        {
            "name": known.name,
            "here": not known.place or locate(known) is not None,
            "fetch": bool(known.sources),
            "description": known.description,
            "licence": known.licence,
        }
        for known in KNOWN.values()
    ]
    if as_json:
        _print_json({"corpora": rows})
        return
    from domaingate.terminal import table

    said = {(True, True): "here", (True, False): "here", (False, True): "fetch", (False, False): "by hand"}
    shown = [[row["name"], said[bool(row["here"]), bool(row["fetch"])], row["description"]] for row in rows]
    table("Known corpora", ["name", "", "what it is"], shown)


@corpus_app.command("show")
def corpus_show(
    corpus: CorpusArgument,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    domain_column: DomainColumn = "domain",
    format_: FormatOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Count a corpus's texts by domain and label.

    Example: domaingate corpus show vader
    """
    from dataclasses import asdict

    from domaingate.corpora import summary
    from domaingate.terminal import count_table, out

    loaded = _load(corpus, text_column, label_column, domain_column, format_)
    counts = summary(loaded)
    if as_json:
        rows = [asdict(count) for count in counts]
        _print_json(
            {"corpus": loaded.name, "texts": len(loaded.documents), "held_out": loaded.held_out, "counts": rows}
        )
        return
    count_table(loaded.name, counts)
    if loaded.held_out:
        out.print(f"Kept for testing unless --held-out says otherwise: {', '.join(loaded.held_out)}")


@corpus_app.command("fetch")
def corpus_fetch(name: Annotated[str, typer.Argument(help="A known corpus.")], as_json: JsonOption = False) -> None:
    """Get a known corpus and check it.

    It is checked against its SHA-256; a download over HTTP that was cut goes on where it stopped.

    Example: domaingate corpus fetch vader
    """
    from domaingate.corpora import fetch_known
    from domaingate.terminal import download_bar, out

    bar, move = download_bar(name)
    with bar:
        path = fetch_known(name, move)
    if as_json:
        _print_json({"corpus": name, "path": str(path)})
    else:
        out.print(f"{name} is at {path}")


@app.command()
@_with_config
def fit(
    corpus: CorpusArgument,
    given: dict[str, str],
    out: Annotated[Path, typer.Option(help="Where the model folder goes.")] = Path("model"),
    config: Annotated[Path | None, typer.Option(help="A TOML file with options; flags win over it.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    domain_column: DomainColumn = "domain",
    format_: FormatOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Train a model and write its folder.

    Example: domaingate fit vader --held-out editorials --hide-domains 0.5 --out model
    """
    from domaingate import artifact, experiment, storage, terminal
    from domaingate.card import card
    from domaingate.protocol import divide

    options = _config(config, given)
    loaded = _load(corpus, text_column, label_column, domain_column, format_)
    artifact.check_place(out)
    prepared = experiment.prepare(divide(loaded, options), options)
    terminal.notes.print(terminal.told_run(prepared, loaded.name))
    checkpoint = out.parent / f"{out.name}.checkpoint"
    with terminal.FitBar() as bar:
        fitted, problem = experiment.fit(prepared, checkpoint, resume, bar)
    artifact.save(fitted, out, card(fitted, loaded.name))
    checkpoint.unlink(missing_ok=True)
    storage.sweep(out, checkpoint)
    if as_json:
        _print_json({"model": str(out), **fitted.metrics})
    else:
        terminal.score_table(
            f"Test texts; one run, epoch kept by {fitted.metrics['selection']}", fitted.metrics["scores"]
        )
        terminal.out.print(f"The model is in {out}.")
    if problem:
        raise DomainGateError(f"{problem} It is in {out}.")


@app.command()
def evaluate(
    model: ModelArgument,
    corpus: CorpusArgument,
    inference: Annotated[str | None, typer.Option(help="sample, mean, monte-carlo or importance.")] = None,
    samples: Annotated[int | None, typer.Option(help="Samples for monte-carlo and importance.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Seed for the ways to predict that draw.", min=0)] = 0,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    domain_column: DomainColumn = "domain",
    format_: FormatOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Score a model by domain.

    Texts that the model was trained or chosen on are passed over.

    Example: domaingate evaluate model vader
    """
    from domaingate import evaluation
    from domaingate.terminal import out, score_table

    predictor = _predictor(model, device, threads, inference, samples, seed)
    loaded = _load(corpus, text_column, label_column, domain_column, format_)
    result = evaluation.evaluate(predictor, loaded.documents)
    passed_over = (
        f"Passed over: {result.seen:,} texts that training has seen, {result.copies:,} copies of texts of training "
        f"domains, {result.unlabelled:,} without a label."
    )
    if not result.scores:
        raise DomainGateError(f"There is no text to score; check --label-column. {passed_over}")
    if as_json:
        _print_json({"model": str(model), "corpus": loaded.name, **result.to_json()})
        return
    score_table(f"{model} on {loaded.name}; one run, epoch kept by {result.selection}", result.to_json())
    out.print(passed_over)


@app.command()
def predict(
    model: ModelArgument,
    file: Annotated[str, typer.Argument(metavar="[FILE or -]", help="Texts; - is standard input, JSON lines.")] = "-",
    inference: Annotated[str | None, typer.Option(help="sample, mean, monte-carlo or importance.")] = None,
    samples: Annotated[int | None, typer.Option(help="Samples for monte-carlo and importance.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Seed for the ways to predict that draw.", min=0)] = 0,
    languages: Annotated[
        str, typer.Option(metavar="A,B", help="The labels that an answer may be, such as de,fr,nl; all unless given.")
    ] = "",
    abstain_below: Annotated[
        float, typer.Option(metavar="P", help="Answer und where no label is as probable as this.", min=0, max=1)
    ] = 0.0,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
    text_column: TextColumn = "text",
    format_: FormatOption = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="One object with all predictions, instead of lines.")] = False,
) -> None:
    """Predict a label for each text.

    One JSON line a text, in the order of the input: label, probabilities, and gates (the k values of z). A row that
    cannot be read gives a line with an `error`, and exit code 1 at the end.

    Example: echo '{"text": "A fine film."}' | domaingate predict model -
    """
    from dataclasses import replace

    from domaingate.corpora import Columns, read_rows
    from domaingate.streaming import predictions

    among = [name.strip() for name in languages.split(",") if name.strip()]
    predictor = replace(
        _predictor(model, device, threads, inference, samples, seed), among=among, abstain_below=abstain_below
    )
    rows = read_rows(file, Columns(text_column, label=None, domain=None), _format(format_))
    stream = predictions(predictor, rows)
    if as_json:
        everything = list(stream)
        _print_json({"predictions": everything})
        failed = any("error" in line for line in everything)
    else:
        failed = False
        for line in stream:
            _print_json(line)
            failed = failed or "error" in line
    if failed:
        raise typer.Exit(1)


@app.command()
def inspect(
    model: ModelArgument,
    corpus: CorpusArgument,
    out: Annotated[Path, typer.Option(help="Folder for pictures and numbers.")] = Path("inspection"),
    seed: Annotated[int, typer.Option(help="Seed of samples and splits.", min=0)] = 0,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    domain_column: DomainColumn = "domain",
    format_: FormatOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Show what a model has learned.

    Gates by domain and t-SNE as pictures, diagnostic classifiers as numbers.

    Example: domaingate inspect model vader --out inspection
    """
    from domaingate.inspection import inspect_model
    from domaingate.terminal import out as terminal_out

    predictor = _predictor(model, device, threads, None, None, seed)
    loaded = _load(corpus, text_column, label_column, domain_column, format_)
    numbers = inspect_model(predictor.artifact, loaded.documents, out, seed)
    if as_json:
        _print_json(numbers)
    else:
        terminal_out.print(f"Pictures and numbers.json are in {out}.")


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="sentiment, langid, or a .toml file.")],
    out: Annotated[Path | None, typer.Option(help="Where records.jsonl grows; results/STUDY unless given.")] = None,
    table: Annotated[str, typer.Option(metavar="A,B", help="Only these tables and figures.")] = "",
    only: Annotated[
        str, typer.Option(metavar="TEXT", help="Only rows with this in their name, or the run called so.")
    ] = "",
    seeds: Annotated[int | None, typer.Option(help="Only so many seeds of each row.", min=1)] = None,
    small: Annotated[bool, typer.Option("--small", help="Everything at toy size, in two minutes.")] = False,
    jobs: Annotated[int, typer.Option(help="Runs side by side.", min=1)] = 1,
    device: DeviceOption = "cpu",
    threads: Annotated[
        int | None, typer.Option(help="Threads of each run: its share of the cores.", min=1, max=MOST_THREADS)
    ] = None,
    dry: Annotated[bool, typer.Option("--dry", help="Only say what there is to do.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make the runs of a study that are not recorded yet, then its tables and figures beside the records.

    Records are appended as runs end. A study that was stopped goes on where it was, with the same command.

    Example: domaingate reproduce sentiment --small --jobs 2 --out small
    """
    from domaingate import ledger, report, reproduction, terminal
    from domaingate.study import load_study

    document = load_study(study, small)
    folder = out or Path("results") / document.name.replace(" ", "-")
    records = folder / "records.jsonl"
    runs = document.runs([name.strip() for name in table.split(",") if name.strip()], only, seeds)
    todo = reproduction.missing(runs, ledger.read(records))
    terminal.notes.print(terminal.told_study(document, runs, todo, jobs))
    if not dry:
        means = reproduction.Means(jobs, threads or max(1, (os.cpu_count() or 1) // jobs), device)
        with terminal.StudyBar(todo) as bar:
            reproduction.reproduce(todo, records, means, bar)
        report.write(report.report(document, ledger.read(records)), folder)
    if as_json:
        _print_json({"study": document.name, "runs": len(runs), "missing": len(todo), "records": str(records)})


@app.command("report")
def report_(
    records: Annotated[Path, typer.Argument(metavar="RECORDS", help="The records.jsonl of a study.")],
    study: Annotated[str | None, typer.Option(help="The study, if it is a .toml file of your own.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for tables and figures; that of the records unless given.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make tables and figures from records alone.

    Tables as text, Markdown and LaTeX; the text is printed too.

    Example: domaingate report results/sentiment/records.jsonl
    """
    from dataclasses import asdict

    from domaingate import layout, ledger, report, terminal
    from domaingate.study import load_study

    found = ledger.read(records)
    if not found:
        raise DomainGateError(f"{records} has no records; give the records.jsonl that `domaingate reproduce` wrote.")
    made = report.report(load_study(study or found[0]["study"]), found)
    report.write(made, out or records.parent)
    if as_json:
        _print_json({"tables": [asdict(grid) for grid in made.grids], "figures": sorted(made.figures)})
    else:
        terminal.out.print("\n".join(layout.to_text(grid) for grid in made.grids))


@app.command()
def bench(
    corpus: Annotated[str | None, typer.Argument(metavar="[CORPUS]", help="Real reviews unless given.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A minute, on few batches.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure speed beside the plain implementation.

    Training and prediction, words and bytes, one and two threads, in one run on this machine. Leave it alone meanwhile.

    Example: domaingate bench --quick
    """
    from domaingate import bench as measuring
    from domaingate import terminal

    measured = measuring.measure(corpus or measuring.default_corpus(), quick, terminal.notes.print)
    if as_json:
        _print_json(measured)
    else:
        terminal.bench_tables(measured)


def _config(path: Path | None, given: dict[str, str]) -> FitConfig:
    """Defaults, then the file, then flags."""
    file = from_mapping(FitConfig, read_toml(path), str(path)) if path else FitConfig()
    values = {item.name: getattr(file, item.name) for item in fields(FitConfig)}
    return from_mapping(FitConfig, {**values, **given})


def _format(name: str) -> Any:
    from domaingate.corpora import Format

    if name not in get_args(Format):
        raise DomainGateError(f"--format is {name!r}; it takes one of {', '.join(get_args(Format))}.")
    return name


def _load(corpus: str, text: str, label: str, domain: str, format_: str) -> Any:
    from domaingate.corpora import Columns, load

    return load(corpus, Columns(text, label, domain), _format(format_))


def _predictor(
    folder: Path, device: str, threads: int | None, inference: str | None, samples: int | None, seed: int
) -> Any:
    import torch

    from domaingate.artifact import load
    from domaingate.predictor import Predictor

    way: Inference | None = None if inference is None else parse(FitConfig, "inference", inference)
    if threads:
        torch.set_num_threads(threads)
    return Predictor(load(folder, device), way, samples, seed)
