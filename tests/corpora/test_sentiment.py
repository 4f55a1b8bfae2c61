"""Sentiment: the two review collections, small ones made here with every nasty, and the real ones by their counts."""

import os
from collections import Counter
from pathlib import Path

import pytest

from domaingate.corpora.document import Document
from domaingate.corpora.sentiment import read_fdu_mtl, read_mdsd
from domaingate.errors import DomainGateError

REVIEW = """<review>
<unique_id>
0001:a_&_b
</unique_id>
<rating>
1.0
</rating>
<title>
Salt & pepper
</title>
<review_text>
Two grinders < one.
<b>
<title>
Not a title
</title>

AT&T sent \x85 it, caf\xe9
</review_text>
</review>
"""
TEXT = "Salt & pepper\nTwo grinders < one.\n<b>\n<title>\nNot a title\n</title>\n\nAT&T sent \x85 it, caf\xe9"
NO_TITLE = "<review>\n<title>\n\n</title>\n<review_text>\nJust text\n</review_text>\n</review>\n"


def put(path: Path, content: str, encoding: str = "latin-1") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode(encoding))


def test_fdu_mtl_order_labels_and_broken_bytes(tmp_path):
    put(tmp_path / "toys.task.test", "0\tdull\n")
    put(tmp_path / "toys.task.train", "1\tfine\tindeed\n0\tcaf\xe9 \x85 bar")
    put(tmp_path / "toys.task.unlabel", "who knows\n1\tnot a label\n")
    put(tmp_path / "books.task.train", "1\tgood\n")
    corpus = read_fdu_mtl(tmp_path)
    assert [(d.domain, d.label, d.text) for d in corpus.documents] == [
        ("books", "positive", "good"),
        ("toys", "positive", "fine\tindeed"),
        ("toys", "negative", "caf\ufffd \ufffd bar"),
        ("toys", "negative", "dull"),
    ]
    assert corpus.held_out == ("books",)
    unlabelled = read_fdu_mtl(tmp_path, unlabelled=True).documents[4:]
    assert [(d.label, d.text) for d in unlabelled] == [(None, "who knows"), (None, "1\tnot a label")]
    assert unlabelled[1].source == f"{tmp_path}/toys.task.unlabel:2"


@pytest.mark.parametrize("line", ["fine", "2\tfine", "", " 1\tfine"])
def test_fdu_mtl_tells_a_broken_line(tmp_path, line):
    put(tmp_path / "toys.task.train", f"1\tfine\n{line}\n")
    with pytest.raises(DomainGateError, match=r"toys\.task\.train:2: .*0 or 1, a tab"):
        read_fdu_mtl(tmp_path)


def test_fdu_mtl_of_another_folder(tmp_path):
    with pytest.raises(DomainGateError, match=r"no file named like books\.task\.train"):
        read_fdu_mtl(tmp_path / "absent")


def test_mdsd_nasties(tmp_path):
    kitchen = tmp_path / "sorted_data" / "kitchen_&_housewares"
    put(kitchen / "positive.review", REVIEW.replace("\n", "\r\n") + "\n\n" + NO_TITLE)
    put(kitchen / "negative.review", NO_TITLE)
    put(kitchen / "unlabeled.review", NO_TITLE)
    put(tmp_path / "sorted_data" / "baby" / "positive.review", NO_TITLE)
    corpus = read_mdsd(tmp_path)
    assert [(d.domain, d.label, d.text) for d in corpus.documents] == [
        ("baby", "positive", "Just text"),
        ("kitchen_&_housewares", "positive", TEXT),
        ("kitchen_&_housewares", "positive", "Just text"),
        ("kitchen_&_housewares", "negative", "Just text"),
    ]
    assert corpus.held_out == ("kitchen_&_housewares",)
    assert corpus.documents[2].source == f"{kitchen}/positive.review:23"
    unlabelled = read_mdsd(tmp_path, unlabelled=True).documents[-1]
    assert unlabelled == Document("Just text", None, "kitchen_&_housewares", f"{kitchen}/unlabeled.review:1")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", r"positive\.review has no <review>"),
        ("great:2 book:1 #label#:positive\n", r"positive\.review has no <review>"),
        (NO_TITLE + "<review>\n<title>\nx\n", r"positive\.review:9: .*no </review>"),
        (NO_TITLE + "<review>\n<title>\nx\n</title>\n" + NO_TITLE, r"positive\.review:9: .*no </review>"),
        (NO_TITLE + "<review>\n<title>\nx\n</title>\n</review>\n", r"positive\.review:9: .*no whole <review_text>"),
        ("<review>\n<review_text>\nx\n</review>\n" + NO_TITLE, r"positive\.review:1: .*no whole <review_text>"),
    ],
)
def test_mdsd_tells_what_is_broken(tmp_path, content, problem):
    put(tmp_path / "books" / "positive.review", content)
    with pytest.raises(DomainGateError, match=problem):
        read_mdsd(tmp_path)


def test_mdsd_refuses_a_domain_twice_and_a_folder_of_something_else(tmp_path):
    with pytest.raises(DomainGateError, match=r"no <domain>/positive\.review"):
        read_mdsd(tmp_path)
    for copy in ("sorted_data", "sorted_data_acl"):
        put(tmp_path / copy / "books" / "positive.review", NO_TITLE)
    with pytest.raises(DomainGateError, match=r"both hold the domain 'books'"):
        read_mdsd(tmp_path)


@pytest.mark.data
def test_the_real_fdu_mtl_has_the_counts_of_the_paper():
    folder = Path(os.environ.get("DOMAINGATE_DATA", "absent"), "fdu-mtl")
    if not folder.is_dir():
        pytest.skip("fdu-mtl is not under $DOMAINGATE_DATA")
    corpus = read_fdu_mtl(folder, unlabelled=True)
    labelled = Counter(d.domain for d in corpus.documents if d.label)
    unlabelled = Counter(d.domain for d in corpus.documents if d.label is None)
    seen = sorted(set(labelled) - set(corpus.held_out))
    assert [labelled[domain] for domain in seen] == [2000, 1900, 1997, 2000, 1970, 2000, 2000, 2000, 2000]
    assert [labelled[domain] for domain in corpus.held_out] == [1000, 1000, 999, 1000]
    assert unlabelled == dict.fromkeys(seen, 2000)
