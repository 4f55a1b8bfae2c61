"""Fetching: a file comes whole and checked or not at all, and a cut download goes on where it stopped."""

import errno
import hashlib
import multiprocessing
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from domaingate.corpora import download
from domaingate.corpora.fetch import FileSource, HttpSource, PipSource, fetch
from domaingate.errors import DomainGateError

CONTENT = os.urandom(300_000)
OTHER = os.urandom(200_000)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Server:
    """What the server offers, how it behaves, and what it was asked."""

    content: bytes = CONTENT
    etag: str = '"one"'
    status: int = 200
    ranges: bool = True
    obeys_if_range: bool = True
    cuts: list[int] = field(default_factory=list)  # bytes after which an answer breaks off, one per request
    asked: list[tuple[str | None, str | None]] = field(default_factory=list)
    sent: int = 0
    url: str = ""


def handler_of(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            wanted, condition = self.headers["Range"], self.headers["If-Range"]
            server.asked.append((wanted, condition))
            fresh = not server.obeys_if_range or condition in (None, server.etag)
            start = int(wanted[len("bytes=") : -1]) if wanted and server.ranges and fresh else 0
            size = len(server.content)
            if server.status != 200:
                self.answer(server.status, b"", {})
            elif start >= size:
                self.answer(416, b"", {"Content-Range": f"bytes */{size}"})
            elif start:
                self.answer(206, server.content[start:], {"Content-Range": f"bytes {start}-{size - 1}/{size}"})
            else:
                self.answer(200, server.content, {})

        def answer(self, status, body, headers):
            self.send_response(status)
            for name, value in {**headers, "ETag": server.etag, "Content-Length": str(len(body))}.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            sent = body[: server.cuts.pop(0)] if server.cuts else body
            server.sent += len(sent)
            self.wfile.write(sent)

        def log_message(self, *_):
            pass

    return Handler


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download, "_PAUSE", 0.0)
    offered = Server()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler_of(offered)) as http:
        offered.url = f"http://127.0.0.1:{http.server_port}/file.zip"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield offered
        http.shutdown()
        thread.join()


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"file.zip.lock"}


def test_a_whole_download_and_its_progress(tmp_path, server):
    seen = []
    target = tmp_path / "new" / "file.zip"
    assert fetch(HttpSource(server.url, sha256(CONTENT)), target, lambda *step: seen.append(step)) == target
    assert target.read_bytes() == CONTENT
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert files(target.parent) == {"file.zip"}


def test_what_is_there_and_right_is_not_fetched_again(tmp_path, server):
    target = tmp_path / "file.zip"
    target.write_bytes(CONTENT)
    fetch(HttpSource(server.url, sha256(CONTENT)), target)
    assert server.asked == []
    target.write_bytes(b"damaged")
    fetch(HttpSource(server.url, sha256(CONTENT)), target)
    assert target.read_bytes() == CONTENT


def test_a_cut_download_goes_on_within_one_call(tmp_path, server):
    server.cuts = [100_000, 50_000]
    fetch(HttpSource(server.url, sha256(CONTENT)), tmp_path / "file.zip")
    assert server.asked == [(None, None), ("bytes=100000-", '"one"'), ("bytes=150000-", '"one"')]
    assert server.sent == len(CONTENT)
    assert (tmp_path / "file.zip").read_bytes() == CONTENT


def test_a_download_cut_too_often_goes_on_in_the_next_call(tmp_path, server):
    source, target = HttpSource(server.url, sha256(CONTENT)), tmp_path / "file.zip"
    server.cuts = [10_000] * 5
    with pytest.raises(DomainGateError, match=r"cut off .*50000 bytes are kept.*same command again"):
        fetch(source, target)
    assert not target.exists()
    seen = []
    fetch(source, target, lambda *step: seen.append(step))
    assert server.asked[-1] == ("bytes=50000-", '"one"')
    assert seen[0] == (50_000, len(CONTENT))
    assert server.sent == len(CONTENT)
    assert files(tmp_path) == {"file.zip"}


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_a_server_without_a_strong_etag_still_goes_on(tmp_path, server, etag):
    server.etag, server.cuts = etag, [100_000]
    fetch(HttpSource(server.url, sha256(CONTENT)), tmp_path / "file.zip")
    assert server.asked[1] == ("bytes=100000-", None)
    assert server.sent == len(CONTENT)


def test_a_server_that_ignores_ranges_starts_over(tmp_path, server):
    server.ranges, server.cuts = False, [100_000]
    fetch(HttpSource(server.url, sha256(CONTENT)), tmp_path / "file.zip")
    assert (tmp_path / "file.zip").read_bytes() == CONTENT
    assert server.sent == len(CONTENT) + 100_000


@pytest.mark.parametrize("obeys", [True, False])
def test_a_file_that_changed_on_the_server_is_not_spliced(tmp_path, server, obeys):
    server.cuts = [10_000] * 5
    with pytest.raises(DomainGateError):
        fetch(HttpSource(server.url, sha256(CONTENT)), tmp_path / "file.zip")
    server.content, server.etag, server.obeys_if_range = OTHER, '"two"', obeys
    fetch(HttpSource(server.url, sha256(OTHER)), tmp_path / "file.zip")
    assert (tmp_path / "file.zip").read_bytes() == OTHER


@pytest.mark.parametrize("held", [CONTENT, CONTENT + b"more"])
def test_a_part_that_is_whole_or_longer_than_the_file(tmp_path, server, held):
    (tmp_path / "file.zip.part").write_bytes(held)
    fetch(HttpSource(server.url, sha256(CONTENT)), tmp_path / "file.zip")
    assert (tmp_path / "file.zip").read_bytes() == CONTENT
    assert server.sent == (0 if held == CONTENT else len(CONTENT))
    assert files(tmp_path) == {"file.zip"}


def test_a_wrong_checksum_keeps_nothing(tmp_path, server):
    with pytest.raises(DomainGateError, match=f"SHA-256 {sha256(CONTENT)}, not {sha256(OTHER)}"):
        fetch(HttpSource(server.url, sha256(OTHER)), tmp_path / "file.zip")
    assert files(tmp_path) == set()


def test_a_refusal_is_told_at_once_and_a_failing_server_is_asked_again(tmp_path, server):
    server.status = 404
    with pytest.raises(DomainGateError, match=r"file\.zip cannot be had: the server answered 404 Not Found"):
        fetch(HttpSource(server.url, sha256(CONTENT)), tmp_path / "file.zip")
    assert len(server.asked) == 1
    server.status = 503
    with pytest.raises(DomainGateError, match=r"answered 503 .*same command again"):
        fetch(HttpSource(server.url, sha256(CONTENT)), tmp_path / "file.zip")
    assert len(server.asked) == 6
    assert files(tmp_path) == set()


def test_nobody_listens(tmp_path, server, monkeypatch):
    monkeypatch.setattr(download, "_ATTEMPTS", 2)
    with pytest.raises(DomainGateError, match=r"cut off .*refused.*0 bytes are kept"):
        fetch(HttpSource("http://127.0.0.1:9/file.zip", ""), tmp_path / "file.zip")


def test_a_full_disk_is_told_and_not_taken_for_the_network(tmp_path, server, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(DomainGateError, match="No space left on device"):
        fetch(HttpSource(server.url, sha256(CONTENT)), tmp_path / "file.zip", full)
    assert len(server.asked) == 1


def test_a_file_is_copied_and_checked(tmp_path):
    origin, target = tmp_path / "origin", tmp_path / "to" / "file.zip"
    origin.write_bytes(CONTENT)
    seen = []
    fetch(FileSource(origin, sha256(CONTENT)), target, lambda *step: seen.append(step))
    assert target.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert files(target.parent) == {"file.zip"}
    with pytest.raises(DomainGateError, match=f"origin has the SHA-256 .* not {sha256(OTHER)}"):
        fetch(FileSource(origin, sha256(OTHER)), target)
    assert target.read_bytes() == CONTENT
    with pytest.raises(DomainGateError, match=r"absent: No such file"):
        fetch(FileSource(tmp_path / "absent", ""), target)


def test_a_target_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_bytes(b"in the way")
    with pytest.raises(DomainGateError, match=r"Cannot fetch .*file\.zip"):
        fetch(FileSource(tmp_path / "file", sha256(CONTENT)), tmp_path / "file" / "file.zip")


def pip(returncode: int, stderr: str = "", brings: str = "some-1.zip"):
    commands = []

    def run(command, **_):
        commands.append(command)
        Path(command[-1], brings).write_bytes(CONTENT)
        return subprocess.CompletedProcess(command, returncode, "", stderr)

    return run, commands


def test_pip_brings_a_source_distribution(tmp_path, monkeypatch):
    run, commands = pip(0)
    monkeypatch.setattr(subprocess, "run", run)
    fetch(PipSource("some==1", "some-1.zip", sha256(CONTENT)), tmp_path / "file.zip")
    assert (tmp_path / "file.zip").read_bytes() == CONTENT
    assert commands[0][1:-1] == ["-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "some==1", "-d"]
    assert commands[0][0] == sys.executable
    assert files(tmp_path) == {"file.zip"}


@pytest.mark.parametrize(
    ("run", "checksum", "problem"),
    [
        (pip(1, "looking\nERROR: No matching distribution\n")[0], sha256(CONTENT), "could not .*: ERROR: No matching"),
        (pip(1)[0], sha256(CONTENT), "gave no reason"),
        (pip(0, brings="some-2.zip")[0], sha256(CONTENT), r"did not bring some-1\.zip"),
        (pip(0)[0], sha256(OTHER), "SHA-256"),
    ],
)
def test_pip_fails(tmp_path, monkeypatch, run, checksum, problem):
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(DomainGateError, match=problem):
        fetch(PipSource("some==1", "some-1.zip", checksum), tmp_path / "file.zip")
    assert files(tmp_path) == set()


def test_two_processes_at_once(tmp_path, server):
    arguments = (HttpSource(server.url, sha256(CONTENT)), tmp_path / "file.zip")
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=fetch, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
        process.close()
    assert (tmp_path / "file.zip").read_bytes() == CONTENT
    assert len(server.asked) == 1
