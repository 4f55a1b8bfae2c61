"""Sentences rated by people: tweets, product reviews, film reviews and editorials (Hutto and Gilbert 2014)."""

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domaingate.corpora.document import Corpus, Document
from domaingate.errors import DomainGateError

_INNER_FOLDER = "hutto_ICWSM_2014"
_DOMAINS = {
    "tweets": "tweets_GroundTruth.txt",
    "products": "amazonReviewSnippets_GroundTruth.txt",
    "films": "movieReviewSnippets_GroundTruth.txt",
    "editorials": "nytEditorialSnippets_GroundTruth.txt",
}
_NEUTRAL = 0.5


def read_vader(archive_path: Path) -> Corpus:
    """Read the ratings out of the source distribution of vaderSentiment 0.5, without unpacking it to disk.

    The label is the sign of the mean rating; texts rated within 0.5 of zero are left out.
    """
    documents: list[Document] = []
    with _inner_archive(archive_path) as archive:
        for domain, name in _DOMAINS.items():
            documents.extend(_documents(archive, name, domain))
    return Corpus("vader", documents)


@contextmanager
def _inner_archive(path: Path) -> Iterator[tarfile.TarFile]:
    """Open the archive within the archive; whatever is broken in either becomes one sentence."""
    try:
        with zipfile.ZipFile(path) as outer:
            inner = next(name for name in outer.namelist() if name.endswith(f"/{_INNER_FOLDER}.tar.gz"))
            with tarfile.open(fileobj=io.BytesIO(outer.read(inner))) as archive:
                yield archive
    except (zipfile.BadZipFile, tarfile.TarError, StopIteration, KeyError, EOFError, zlib.error) as error:
        message = f"{path} is not the whole source distribution of vaderSentiment 0.5: delete it and fetch it again."
        raise DomainGateError(message) from error
    except OSError as error:
        raise DomainGateError(f"Cannot read {path}: {error.strerror or error}.") from error


def _documents(archive: tarfile.TarFile, name: str, domain: str) -> Iterator[Document]:
    member = f"{_INNER_FOLDER}/{name}"
    stream = archive.extractfile(member)
    for number, raw in enumerate(stream or (), start=1):
        source = f"{member}:{number}"
        rating, text = _rating_and_text(raw, source)
        if abs(rating) > _NEUTRAL:
            yield Document(text, "positive" if rating > 0 else "negative", domain, source)


def _rating_and_text(raw: bytes, source: str) -> tuple[float, str]:
    try:
        _, rating, text = _decoded(raw).rstrip("\r\n").split("\t")
        return float(rating), text
    except ValueError as error:
        raise DomainGateError(f"{source}: the line must be an id, a mean rating and a text, between tabs.") from error


def _decoded(raw: bytes) -> str:
    # The accented letters are UTF-8 in the archive we know; latin-1 alone would garble them.
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
