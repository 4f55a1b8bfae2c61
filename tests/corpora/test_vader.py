"""VADER: the ratings inside the nested archive, of a small one made here and of the real one by its counts."""

import io
import tarfile
import zipfile
from collections import Counter

import pytest

from domaingate.corpora.catalogue import KNOWN, locate
from domaingate.corpora.document import Document
from domaingate.corpora.vader import read_vader
from domaingate.errors import DomainGateError

FILES = {
    "tweets": b"1\t2.7\tso good :)\r\n2\t0.5\tso so\r\n3\t-0.5\tmeh\r\n4\t-0.51\tso bad\r\n",
    "amazonReviewSnippets": b"1_1\t1.5\tcaf\xe9 \x85\r\n",
    "movieReviewSnippets": "1\t3\tMünch\r\n".encode(),
    "nytEditorialSnippets": b"1_1\t-3\tThe last line has no end",
}


def archive(tmp_path, files):
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"hutto_ICWSM_2014/{name}_GroundTruth.txt")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    path = tmp_path / "vaderSentiment-0.5.zip"
    with zipfile.ZipFile(path, "w") as outer:
        outer.writestr("vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz", inner.getvalue())
    return path


def test_signs_neutral_texts_encodings_and_sources(tmp_path):
    assert read_vader(archive(tmp_path, FILES)).documents == [
        Document("so good :)", "positive", "tweets", "hutto_ICWSM_2014/tweets_GroundTruth.txt:1"),
        Document("so bad", "negative", "tweets", "hutto_ICWSM_2014/tweets_GroundTruth.txt:4"),
        Document("café \x85", "positive", "products", "hutto_ICWSM_2014/amazonReviewSnippets_GroundTruth.txt:1"),
        Document("Münch", "positive", "films", "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt:1"),
        Document(
            "The last line has no end",
            "negative",
            "editorials",
            "hutto_ICWSM_2014/nytEditorialSnippets_GroundTruth.txt:1",
        ),
    ]


@pytest.mark.parametrize("line", [b"2\t0.9", b"2\tgood\ttext", b"2\t0.9\ta\tb"])
def test_a_broken_line_is_told(tmp_path, line):
    path = archive(tmp_path, FILES | {"tweets": b"1\t2.7\tgood\r\n" + line + b"\r\n"})
    with pytest.raises(DomainGateError, match=r"tweets_GroundTruth\.txt:2: .*a mean rating"):
        read_vader(path)


def test_a_broken_archive_is_told(tmp_path):
    path = archive(tmp_path, {"tweets": b""})
    whole = path.read_bytes()
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("something", "else")
    for content in (whole, whole[:50], b"", (tmp_path / "other.zip").read_bytes()):
        path.write_bytes(content)
        with pytest.raises(DomainGateError, match="not the whole source distribution"):
            read_vader(path)
    with pytest.raises(DomainGateError, match=r"Cannot read .*absent\.zip: No such file"):
        read_vader(tmp_path / "absent.zip")


@pytest.mark.data
def test_the_real_archive_has_the_known_counts():
    path = locate(KNOWN["vader"])
    if path is None:
        pytest.skip("vaderSentiment-0.5.zip is neither under $DOMAINGATE_DATA nor in the cache")
    counts = Counter(d.domain for d in read_vader(path).documents)
    assert counts == {"tweets": 3362, "products": 2943, "films": 10043, "editorials": 2788}
