"""Runs side by side until all are recorded: each in a process of its own, what is recorded is never made again."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Protocol

from domaingate import ledger, storage
from domaingate.corpora import load
from domaingate.errors import DomainGateError
from domaingate.inference import check_device
from domaingate.ledger import Record
from domaingate.study import Run
from domaingate.trial import play

_UNFINISHED = ".unfinished"


class Watcher(Protocol):
    """Somebody who watches a study."""

    def ended(self, run: Run, record: Record) -> None:
        """A run is recorded."""

    def failed(self, run: Run, problem: str) -> None:
        """A run is not."""


@dataclass(frozen=True)
class Means:
    """What runs are made with."""

    jobs: int
    threads: int  # of each job
    device: str


def missing(runs: Sequence[Run], records: Sequence[Record]) -> list[Run]:
    """The runs that no record tells."""
    of = {record["run"]: record for record in records}
    return [run for run in runs if run.name not in of or not run.is_told_by(of[run.name])]


def reproduce(runs: Sequence[Run], path: Path, means: Means, watcher: Watcher) -> None:
    """Make the runs and append their records to `path`. A run that a kill cut short goes on from its last epoch."""
    check_device(means.device)
    for corpus in sorted({run.corpus for run in runs}):
        load(corpus)  # what is not there is told once, before anything is begun
    ledger.begin(path)
    failures: list[Exception] = []
    unfinished = path.parent / _UNFINISHED
    context = get_context("spawn")
    with _surroundings(means.threads), ProcessPoolExecutor(means.jobs, context, _end_with_parent) as pool:
        way = f"{means.device.replace(':', '')}-{means.threads}"  # a run goes on as it began or not at all
        waiting = {
            pool.submit(play, run, means.device, means.threads, unfinished / f"{run.name}-{way}.checkpoint"): run
            for run in runs
        }
        try:
            for future in as_completed(waiting):
                run = waiting[future]
                try:
                    record = future.result()
                except Exception as error:  # whatever it was, the other runs are worth their time
                    failures.append(error)
                    watcher.failed(run, str(error) or repr(error))
                    continue
                ledger.append(path, record)
                for left in unfinished.glob(f"{run.name}-*"):
                    left.unlink()
                watcher.ended(run, record)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    for failure in failures:
        if not isinstance(failure, DomainGateError | BrokenProcessPool):
            raise failure  # a fault of this program, with its traceback
    if failures:
        raise DomainGateError(f"{len(failures)} of {len(runs)} runs failed, the first with: {failures[0]}")
    storage.sweep(unfinished / "any")
    if unfinished.exists() and not any(unfinished.iterdir()):
        unfinished.rmdir()


def _end_with_parent() -> None:
    """In a worker: leave as soon as the study is gone, killed perhaps; its run goes on from its last epoch."""

    def wait() -> None:
        study = parent_process()
        if study is not None:
            study.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def _surroundings(threads: int) -> Iterator[None]:
    """Libraries with threads of their own read how many from the environment, when a process begins."""
    wanted = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), str(threads))
    before: Mapping[str, str | None] = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
