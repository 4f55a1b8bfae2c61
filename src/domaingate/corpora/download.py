"""HTTP downloads that go on where they were cut, from the same version of the file or else from the start."""

import http.client
import time
from collections.abc import Callable, Iterator
from email.message import Message
from http import HTTPStatus
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from domaingate.errors import DomainGateError

Progress = Callable[[int, int | None], None]

_ATTEMPTS = 5
_PAUSE = 0.5  # seconds before the second attempt, doubled for each later one
_TIMEOUT = 30.0
_CHUNK = 1 << 16
_PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


class _CutError(Exception):
    """The download stopped for a reason that may pass."""


def download(url: str, part: Path, progress: Progress) -> None:
    """Download into `part`, going on after the bytes it holds already, and trying again when the connection is cut."""
    for attempt in range(_ATTEMPTS):
        try:
            return _go_on(url, part, progress)
        except _CutError as error:
            reason = error
        if attempt < _ATTEMPTS - 1:
            time.sleep(_PAUSE * 2**attempt)
    raise DomainGateError(
        f"The download of {url} was cut off ({reason}); {_size(part)} bytes are kept. "
        "Run the same command again: it goes on from there."
    )


def discard(part: Path) -> None:
    """Delete an unfinished download, if there is one."""
    part.unlink(missing_ok=True)
    _tag_file(part).unlink(missing_ok=True)


def _go_on(url: str, part: Path, progress: Progress) -> None:
    """Make one request for the bytes still missing, and store what comes."""
    try:
        response = urlopen(_request(url, part), timeout=_TIMEOUT)
    except HTTPError as error:
        with error:
            return _judge(error, url, part)
    except URLError as error:
        raise _CutError(str(error.reason)) from error
    except (OSError, http.client.HTTPException) as error:
        raise _CutError(str(error)) from error
    with response:
        return _store(response, part, progress)


def _request(url: str, part: Path) -> Request:
    headers = {}
    if held := _size(part):
        headers["Range"] = f"bytes={held}-"
        if tag := _stored_tag(part):
            headers["If-Range"] = tag
    return Request(url, headers=headers)


def _judge(error: HTTPError, url: str, part: Path) -> None:
    """Tell an answer that means "you have it all" from one worth another attempt and from a refusal."""
    if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        if error.headers.get("Content-Range") == f"bytes */{_size(part)}":
            return
        discard(part)
        raise _CutError("the file on the server is shorter than the part kept from before")
    if error.code in _PASSING or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise _CutError(f"the server answered {error.code} {error.reason}")
    raise DomainGateError(f"{url} cannot be had: the server answered {error.code} {error.reason}.")


def _store(response: http.client.HTTPResponse, part: Path, progress: Progress) -> None:
    done = _first_byte(response, part)
    length = response.headers.get("Content-Length")
    total = None if length is None else done + int(length)
    if done == 0:
        discard(part)
        _tag_file(part).write_text(_tag(response.headers), encoding="latin-1")
    with part.open("ab") as out:
        progress(done, total)
        for chunk in _chunks(response):
            out.write(chunk)
            done += len(chunk)
            progress(done, total)
    if total is not None and done < total:
        raise _CutError(f"{done} of {total} bytes came")


def _first_byte(response: http.client.HTTPResponse, part: Path) -> int:
    """Return where in the file the answer begins: the end of `part`, or 0 where the server sends the whole file."""
    if response.status != HTTPStatus.PARTIAL_CONTENT:
        return 0
    held = _size(part)
    tag = _tag(response.headers)
    fits = response.headers.get("Content-Range", "").startswith(f"bytes {held}-")
    if not fits or (tag and tag != _stored_tag(part)):
        discard(part)
        raise _CutError("the server answered with a piece of another file")
    return held


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the bytes as they come; only failures of the network are told apart here, not those of the disk."""
    while True:
        try:
            chunk = response.read1(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _CutError(str(error)) from error
        if not chunk:
            return
        yield chunk


def _tag(headers: Message) -> str:
    """Return what tells this version of the file from others, or ""; a weak ETag does not."""
    etag = headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")


def _tag_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.tag")


def _stored_tag(part: Path) -> str:
    path = _tag_file(part)
    return path.read_text(encoding="latin-1") if path.exists() else ""


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
