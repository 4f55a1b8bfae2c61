"""Commands: called in this process, or run as real processes that can be killed, without importing torch each time."""

import atexit
import io
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from domaingate.cli import main
from domaingate.corpora.document import Document

# A model that trains in a fraction of a second, on one thread.
TINY = (
    "--threads", "1", "--channels", "3", "--min-count", "1", "--embedding-size", "8", "--widths", "1,2",
    "--filters", "4", "--hidden", "8", "--label-size", "2", "--domain-size", "3", "--dropout", "0.1",
    "--batch-size", "16", "--epochs", "2", "--learning-rate", "0.02", "--samples", "5",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a person sees of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON object on standard output; an error where there is more or less."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def lines(self):
        """JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


def call(capsys, monkeypatch, *arguments, stdin: str | bytes = b"") -> Outcome:
    """`domaingate ARGUMENTS` in this process."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    monkeypatch.setattr(sys, "argv", ["domaingate", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
    capsys.readouterr()
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    else:
        code = 0
    return Outcome(code, *capsys.readouterr())


def sentence(outcome: Outcome, code: int = 2) -> str:
    """What the last line on standard error says, after making sure that it is one clear sentence and an exit code."""
    assert outcome.code == code, outcome
    assert "Traceback" not in outcome.err
    last = outcome.err.splitlines()[-1]
    assert last.startswith("domaingate: "), outcome.err
    assert sum(line.startswith("domaingate: ") for line in outcome.err.splitlines()) == 1
    assert last.endswith((".", "?")), last
    return last.removeprefix("domaingate: ")


def write_jsonl(path: Path, documents: Sequence[Document | dict]) -> Path:
    """A JSONL file of documents, or of any rows."""
    rows = (
        {"text": row.text, "label": row.label, "domain": row.domain} if isinstance(row, Document) else row
        for row in documents
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def model_files(folder: Path) -> dict[str, bytes]:
    """Every file of a model folder with its bytes, the seconds in its history left out."""
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    metrics = json.loads(files["metrics.json"])
    for record in metrics["history"]:
        record.pop("seconds")
    files["metrics.json"] = json.dumps(metrics, sort_keys=True).encode()
    return files


_SERVER = """
import gc, json, os, sys
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # threads that wait must not spin on a busy machine
import domaingate.card, domaingate.evaluation, domaingate.experiment, domaingate.inspection, domaingate.streaming
import domaingate.terminal, torch._dynamo, torch._inductor
from domaingate.cli import main

def next_job():
    for line in sys.stdin:
        job = json.loads(line)
        if "wait" in job:
            print(os.waitstatus_to_exitcode(os.waitpid(job["wait"], 0)[1]), flush=True)
        elif pid := os.fork():
            print(pid, flush=True)
        else:
            return job
    os._exit(0)

gc.collect()
gc.freeze()  # a child does not touch what it does not need
job = next_job()
os.dup2(os.open(job["stdin"], os.O_RDONLY), 0)
os.dup2(os.open(job["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
os.dup2(os.open(job["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
sys.stdin = open(0)
exec(job["before"])
sys.argv = ["domaingate", *job["arguments"]]
main()
"""


class Processes:
    """A server that has imported everything and forks a process for each command."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory()
        self._folder = Path(self._place.name)
        self._count = 0
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def close(self) -> None:
        """End the server."""
        self._server.stdin.close()
        self._server.wait(10)
        self._server.stdout.close()
        self._place.cleanup()

    def start(self, *arguments, before: str = "", stdin: Path | str = os.devnull, stdout: Path | str | None = None):
        """`domaingate ARGUMENTS` as a process of its own, in which `before` is executed first."""
        self._count += 1
        out, err = (self._folder / f"{self._count}.{name}" for name in ("out", "err"))
        job = {"arguments": [str(one) for one in arguments], "before": before, "stdin": str(stdin)}
        pid = self._ask({**job, "stdout": str(stdout or out), "stderr": str(err)})
        return _Process(self, pid, out, err)

    def run(self, *arguments, **options) -> Outcome:
        """The same, waited for."""
        return self.start(*arguments, **options).wait()

    def _ask(self, job: dict, seconds: float = 20) -> int:
        self._server.stdin.write(json.dumps(job) + "\n")
        ready, _, _ = select.select([self._server.stdout], [], [], seconds)
        if not ready:
            raise TimeoutError(f"{job} took longer than {seconds} seconds.")
        return int(self._server.stdout.readline())


@cache
def shared_processes() -> Processes:
    """The one server of all tests."""
    processes = Processes()
    atexit.register(processes.close)
    return processes


@dataclass(frozen=True)
class _Process:
    """A command that runs."""

    server: Processes
    pid: int
    out: Path
    err: Path

    def send(self, number: signal.Signals) -> None:
        """A signal."""
        os.kill(self.pid, number)

    def wait(self) -> Outcome:
        """Its end; one that does not end is killed."""
        try:
            code = self.server._ask({"wait": self.pid})
        except TimeoutError:
            self.send(signal.SIGKILL)
            raise
        return Outcome(code, *(path.read_text() if path.exists() else "" for path in (self.out, self.err)))
