"""What a person sees on the terminal: tables on standard output, progress and notes on standard error."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from domaingate.corpora import Count
from domaingate.experiment import Prepared
from domaingate.study import Run, Study
from domaingate.training import Record, Silence

out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
notes = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)


_TOLD = (
    "channels", "half", "hide_domains", "kl_weight", "kl_schedule", "prior_likelihood", "learning_rate", "seed",
)  # fmt: skip


class FitBar(Silence):
    """An observer that draws a bar with the named terms, and leaves a line for every epoch."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TextColumn("{task.fields[terms]}"),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal)
        self._task = self._bar.add_task("", total=None, terms="")

    def __enter__(self) -> "FitBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def step(self, epoch: int, done: int, steps: int, terms: Mapping[str, float]) -> None:
        """Move the bar."""
        self._bar.update(self._task, description=f"epoch {epoch}", completed=done, total=steps, terms=told_terms(terms))

    def epoch(self, record: Record) -> None:
        """Leave a line."""
        dev = "".join(
            f"  {part} {record[part]['accuracy']:.3f}" for part in ("source-dev", "target-dev") if part in record
        )
        kept = "  kept" if record["kept"] else ""
        notes.print(f"epoch {record['epoch']:>2}  {record['seconds']:6.1f} s  {told_terms(record['terms'])}{dev}{kept}")


class StudyBar:
    """A watcher that draws a bar over runs, as wide as they cost, and leaves a line for every one."""

    def __init__(self, runs: Sequence[Run]) -> None:
        columns = (TextColumn("{task.fields[done]} of {task.fields[runs]} runs"), BarColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal)
        self._task = self._bar.add_task("", total=sum(run.minutes for run in runs), done=0, runs=len(runs))
        self._runs, self._done = len(runs), 0

    def __enter__(self) -> "StudyBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def ended(self, run: Run, record: Mapping[str, Any]) -> None:
        """Move the bar and leave a line."""
        self._done += 1
        self._bar.update(self._task, advance=run.minutes, done=self._done)
        best = [f"{name} {_best(record, name)}" for name in ("source-dev", "target-dev")]
        told = ", ".join(part for part in best if not part.endswith(" "))
        notes.print(f"{self._done}/{self._runs}  {told_options(run)}  {told}  {record['seconds'] / 60:.1f} min")

    def failed(self, run: Run, problem: str) -> None:
        """Say why."""
        self._done += 1
        notes.print(f"{self._done}/{self._runs}  {told_options(run)}  failed: {problem}")


def _best(record: Mapping[str, Any], part: str) -> str:
    scores = [one[part]["accuracy"] for one in record["candidates"] if part in one]
    return f"{100 * max(scores):.1f}" if scores else ""


def told_options(run: Run) -> str:
    """What is particular about a run, in a line."""
    if run.linear:
        return run.linear
    options = {name: value for name, value in run.options.items() if name in _TOLD}
    return " ".join([run.config.name, *(f"{name.replace('_', '-')}={value}" for name, value in options.items())])


def told_study(study: Study, runs: Sequence[Run], todo: Sequence[Run], jobs: int) -> str:
    """What there is to do."""
    hours = sum(run.minutes for run in todo) / 60 / jobs
    return (
        f"{study.title}: {len(runs)} runs, {len(runs) - len(todo)} of them recorded, {len(todo)} to make, "
        f"about {hours:.1f} hours with {jobs} side by side"
    )


def told_run(prepared: Prepared, corpus: str) -> str:
    """What is about to be trained, on what."""
    parts, config = prepared.parts, prepared.config
    known = sum(document.domain is not None for document in parts.train)
    labelled = sum(document.label is not None for document in parts.train)
    unseen = len({document.domain for document in parts.target_dev + parts.target_test})
    sizes = prepared.parameters
    blind = not parts.source_dev and config.select == "source-dev"
    return (
        f"{config.name} on {corpus}: {len(parts.train):,} training texts ({labelled:,} with a label, {known:,} with "
        f"one of {len(prepared.domains)} domains), {len(prepared.labels)} labels, {unseen} held-out domains\n"
        f"source-dev {len(parts.source_dev):,}, target-dev {len(parts.target_dev):,}, test {len(parts.test):,} texts; "
        f"{sizes['total']:,} parameters, {sizes['without_embedding']:,} without the token embedding"
        + ("\nNo text is left for source-dev, so the last epoch is kept." if blind else "")
    )


def told_terms(terms: Mapping[str, float]) -> str:
    """The named terms in a line."""
    return "  ".join(f"{name} {value:.4f}" for name, value in terms.items())


def download_bar(name: str) -> tuple[Progress, Callable[[int, int | None], None]]:
    """A bar for a download, and the function that moves it."""
    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal)
    task = bar.add_task(name, total=None)
    return bar, lambda done, total: bar.update(task, completed=done, total=total)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], footer: int = 0) -> None:
    """Print a table: words to the left, numbers to the right; the last `footer` rows below a line."""
    drawn = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        numbers = number > 0 and all(str(row[number])[:1].isdigit() for row in rows if str(row[number]))
        drawn.add_column(column, justify="right" if numbers else "left")
    for number, row in enumerate(rows):
        drawn.add_row(*map(str, row), end_section=number == len(rows) - footer - 1)
    out.print(drawn)


def score_table(title: str, scores: Mapping[str, Any]) -> None:
    """Scores by domain and their averages, as `metrics.json` and `evaluate --json` hold them."""
    rows = [
        [one["domain"], "unseen" if one["unseen"] else "training", *_numbers(one)] for one in scores["domains"]
    ]  # fmt: skip
    means = [[f"mean of {name}", f"{one['domains']}", *_numbers(one)] for name, one in scores["averages"].items()]
    if len(scores["averages"]) == 2:
        means = means[:1]  # all domains are the same group as the one that there is
    table(title, ["domain", "", "texts", "accuracy", "macro-F1", "majority"], rows + means, len(means))


def _numbers(score: Mapping[str, Any]) -> list[str]:
    shares = [f"{100 * score[name]:.1f}" for name in ("accuracy", "macro_f1", "majority")]
    return [f"{score['texts']:,}", *shares]


def count_table(name: str, counts: Sequence[Count]) -> None:
    """Documents by domain and label, as a cross table where the labels are few."""
    labels = list(
        dict.fromkeys(
            count.label for count in sorted(counts, key=lambda count: (count.label is None, str(count.label)))
        )
    )
    domains = list(dict.fromkeys(count.domain for count in counts))
    of = {(count.domain, count.label): count.documents for count in counts}
    total = [sum(of.get((domain, label), 0) for label in labels) for domain in domains]
    if len(labels) > 6:
        rows = [
            [domain or "(unknown)", sum((domain, label) in of for label in labels), f"{number:,}"]
            for domain, number in zip(domains, total, strict=True)
        ]
        table(name, ["domain", "labels", "texts"], [*rows, ["all", len(labels), f"{sum(total):,}"]], 1)
        return
    rows = [
        [domain or "(unknown)", *(f"{of.get((domain, label), 0):,}" for label in labels), f"{number:,}"]
        for domain, number in zip(domains, total, strict=True)
    ]
    columns = [f"{sum(of.get((domain, label), 0) for domain in domains):,}" for label in labels]
    heads = ["domain", *(label or "(no label)" for label in labels), "texts"]
    table(name, heads, [*rows, ["all", *columns, f"{sum(total):,}"]], 1)


def bench_tables(measured: Mapping[str, Any]) -> None:
    """What `bench` measured."""
    rows = [
        [
            one["what"],
            one["threads"],
            f"{one['plain']:,.1f}",
            f"{one['ours']:,.1f}",
            f"{one['ratio']:.1f}",
            f"{one['texts_per_second']:,.0f}",
            f"{one['of_peak']:.0%}",
        ]
        for one in measured["comparisons"]
    ]
    heads = ["CSDA, k = 13", "threads", "plain, ms", "ours, ms", "times", "texts/s", "of peak"]
    predicted = ", ".join(f"{texts} ({tokens})" for tokens, texts in measured["predicted"].items())
    sizes = f"a batch of {measured['trained']} to train, of {predicted} to predict"
    table(f"{measured['corpus']}: {sizes}", heads, rows)
    growth = [[one["k"], f"{one['ms']:,.1f}"] for one in measured["growth"]]
    table("A training step on one thread, by k", ["k", "ms"], growth)
    if measured["processes"]:
        told = measured["processes"]
        out.print(f"Memory at its peak, MB: {told['megabytes']['plain']:,} plain, {told['megabytes']['ours']:,} ours")
        for name, steps in told["steps_per_second"].items():
            out.print(f"{name}: {steps:.2f} training steps a second in all")
    if pairs := measured["word_pairs"]:
        out.print(
            f"Bag of word pairs, one thread: trained on {pairs['texts']:,} texts in {pairs['training_seconds']} s, "
            f"predicts {pairs['texts_per_second']:,.0f} texts/s"
        )
    told = [[one["what"], f"{one['short']:,}", f"{one['pages']:,}"] for one in measured["languages"]]
    table("Languages told a second, one thread", ["", "short texts", "pages"], told)
