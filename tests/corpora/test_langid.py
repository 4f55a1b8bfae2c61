"""Language identification: training domains and benchmarks from their two folders."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from domaingate.corpora.langid import read_langid
from domaingate.errors import DomainGateError


def put(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(dict(zip(("text", "label", "domain"), row, strict=True))) + "\n" for row in rows)


def test_benchmarks_are_held_out(tmp_path):
    put(tmp_path / "train" / "web.jsonl.gz", ("ein Satz", "de", "web"))
    put(tmp_path / "heldout" / "tweets.jsonl.gz", ("a tweet", "en", "tweets"), ("un tuit", "es", "tweets"))
    (tmp_path / "README.md").write_text("about")
    corpus = read_langid(tmp_path)
    assert [d.label for d in corpus.documents] == ["de", "en", "es"]
    assert corpus.held_out == ("tweets",)
    with pytest.raises(DomainGateError, match=r"no file or folder .*train"):
        read_langid(tmp_path / "train")


@pytest.mark.data
def test_the_real_corpus_has_the_counts_of_its_readme():
    folder = Path(os.environ.get("DOMAINGATE_DATA", "absent"), "langid")
    if not folder.is_dir():
        pytest.skip("langid is not under $DOMAINGATE_DATA")
    corpus = read_langid(folder)
    counts = Counter(d.domain for d in corpus.documents)
    training = {"government": 3877, "software": 22156, "newswire": 20750, "encyclopedia": 22626, "web": 14289}
    benchmarks = dict(
        zip(
            ("eurogov", "europarl", "medical", "tbe", "tcl", "tsc", "wikipedia"),
            (1500, 3003, 3000, 3000, 3000, 3106, 2990),
            strict=True,
        )
    )
    assert counts == training | benchmarks
    assert corpus.held_out == tuple(benchmarks)
    assert len({d.label for d in corpus.documents if d.domain in training}) == 96
