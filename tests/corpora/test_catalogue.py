"""The catalogue: one entrance for names and paths, and a plain sentence when a corpus is not there."""

import hashlib
from dataclasses import replace

import pytest

from domaingate.corpora import KNOWN, Columns, Corpus, Document, catalogue, fetch_known, load, locate, summary
from domaingate.corpora.catalogue import Count
from domaingate.corpora.fetch import FileSource
from domaingate.errors import DomainGateError


@pytest.fixture(autouse=True)
def roots(tmp_path, monkeypatch):
    monkeypatch.setenv("DOMAINGATE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data", tmp_path / "cache" / "domaingate"


def test_every_known_corpus_says_what_it_is_and_how_to_get_it():
    assert list(KNOWN) == ["synthetic", "vader", "fdu-mtl", "fdu-mtl+unlabel", "mdsd", "mdsd+unlabel", "langid"]
    for name, known in KNOWN.items():
        assert known.name == name
        assert known.description
        assert known.licence
        assert bool(known.place) == bool(known.where)


def test_data_roots_are_searched_in_order(roots):
    assert locate(KNOWN["fdu-mtl"]) is None
    for root in reversed(roots):
        (root / "fdu-mtl").mkdir(parents=True)
        assert locate(KNOWN["fdu-mtl"]) == root / "fdu-mtl"
    assert locate(KNOWN["synthetic"]) is None


def test_a_known_corpus_is_loaded_under_its_name(roots):
    (roots[1] / "fdu-mtl").mkdir(parents=True)
    (roots[1] / "fdu-mtl" / "toys.task.train").write_text("1\tfine\n")
    (roots[1] / "fdu-mtl" / "toys.task.unlabel").write_text("hm\n")
    assert load("fdu-mtl").name == "fdu-mtl"
    assert len(load("fdu-mtl").documents) == 1
    assert load("fdu-mtl+unlabel").name == "fdu-mtl+unlabel"
    assert len(load("fdu-mtl+unlabel").documents) == 2
    with pytest.raises(DomainGateError, match="'fdu-mtl' has its own format"):
        load("fdu-mtl", Columns(text="review"))


def test_the_synthetic_corpus_needs_no_file(monkeypatch):
    monkeypatch.setattr(catalogue, "synthetic_corpus", lambda: Corpus("made", [Document("text")]))
    assert load("synthetic") == Corpus("synthetic", [Document("text")])
    with pytest.raises(DomainGateError, match="nothing to fetch"):
        fetch_known("synthetic")


def test_a_path_is_loaded_with_its_columns(tmp_path):
    path = tmp_path / "rows"
    path.write_text("review\nfine\n")
    assert load(str(path), Columns(text="review"), "csv").documents[0].text == "fine"
    assert load(path, Columns(text="review"), format="csv").name == str(path)


def test_a_name_that_is_neither(tmp_path):
    with pytest.raises(DomainGateError, match=r"no file or folder 'vadr'.*Did you mean 'vader'\? .*synthetic, vader,"):
        load("vadr")
    with pytest.raises(DomainGateError, match=r"no known corpus 'fdu_mtl'.*Did you mean 'fdu-mtl'"):
        fetch_known("fdu_mtl")


def test_a_known_corpus_that_is_not_there(roots):
    with pytest.raises(DomainGateError, match="run `domaingate corpus fetch vader`"):
        load("vader")
    places = f"{roots[0]}/mdsd or {roots[1]}/mdsd"
    for attempt in (load, fetch_known):
        with pytest.raises(DomainGateError, match=rf"sorted_data\.tar\.gz .*Put it at {places}"):
            attempt("mdsd")


def test_fetching_goes_to_the_cache_from_the_first_source_that_works(tmp_path, roots, monkeypatch):
    (tmp_path / "origin").write_bytes(b"content")
    good = FileSource(tmp_path / "origin", hashlib.sha256(b"content").hexdigest())
    bad = FileSource(tmp_path / "absent", good.sha256)
    vader = KNOWN["vader"]
    monkeypatch.setitem(catalogue.KNOWN, "vader", replace(vader, sources=(bad, good)))
    assert fetch_known("vader") == roots[1] / vader.place
    (tmp_path / "origin").unlink()
    assert fetch_known("vader").read_bytes() == b"content"
    fetch_known("vader").unlink()
    with pytest.raises(DomainGateError, match=r"absent: No such file.*origin: No such file.*Put it at"):
        fetch_known("vader")


def test_what_a_data_root_has_need_not_be_fetched(tmp_path, roots, monkeypatch):
    """Is a whole file in any data root enough, where no source is to be reached, and another one not?"""
    vader = KNOWN["vader"]
    source = FileSource(tmp_path / "absent", hashlib.sha256(b"content").hexdigest())
    monkeypatch.setitem(catalogue.KNOWN, "vader", replace(vader, sources=(source,)))
    roots[0].mkdir(parents=True, exist_ok=True)
    (roots[0] / vader.place).write_bytes(b"content")
    assert fetch_known("vader") == roots[0] / vader.place
    (roots[0] / vader.place).write_bytes(b"other")
    with pytest.raises(DomainGateError, match="absent: No such file"):
        fetch_known("vader")


def test_a_summary_counts_unknown_ones_last():
    pairs = [("b", "x"), (None, "x"), ("a", None), ("a", "y"), ("a", "x"), ("a", "y"), (None, None)]
    corpus = Corpus("some", [Document("text", label, domain) for domain, label in pairs])
    assert summary(corpus) == [
        Count("a", "x", 1),
        Count("a", "y", 2),
        Count("a", None, 1),
        Count("b", "x", 1),
        Count(None, "x", 1),
        Count(None, None, 1),
    ]
