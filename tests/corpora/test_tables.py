"""Tables: what is read comes back as written, and what cannot be read is told by file and line."""

import csv
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from domaingate.corpora.document import Document
from domaingate.corpora.tables import BadRow, Columns, read_corpus, read_rows
from domaingate.errors import DomainGateError

TEXTS = [
    ("plain words", "good", "books"),
    ('a "quoted" word, a comma\tand a tab', "bad", "dvd"),
    ("two\nlines", "good", None),
    ("naïve façade 🙂", None, "books"),
    ("a\u2028separator\x85inside", None, None),
]


def write_jsonl(path, rows, opener=open):
    with opener(path, "wt", encoding="utf-8") as out:
        for text, label, domain in rows:
            out.write(json.dumps({"text": text, "label": label, "domain": domain}, ensure_ascii=False) + "\n")


def write_delimited(path, rows, opener=open, delimiter=","):
    with opener(path, "wt", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerow(["domain", "text", "label"])
        writer.writerows([domain, text, label] for text, label, domain in rows)


def write_tsv(path, rows, opener=open):
    write_delimited(path, rows, opener, delimiter="\t")


def write_parquet(path, rows, opener=open):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    text, label, domain = (list(column) for column in zip(*rows, strict=True))
    with opener(path, "wb") as out:
        parquet.write_table(pyarrow.table({"text": text, "label": label, "domain": domain}), out)


WRITERS = {"jsonl": write_jsonl, "csv": write_delimited, "tsv": write_tsv, "parquet": write_parquet}


def triples(rows):
    return [(row.text, row.label, row.domain) for row in rows]


def jsonl(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    return path


def only(path, **options):
    (row,) = read_rows(path, **options)
    return row


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("kind", WRITERS)
def test_what_was_written_is_read(tmp_path, kind, suffix):
    path = tmp_path / f"rows.{kind}{suffix}"
    WRITERS[kind](path, TEXTS, gzip.open if suffix else open)
    corpus = read_corpus(path)
    assert triples(corpus.documents) == TEXTS
    assert corpus.name == str(path)
    assert corpus.documents[1].source == f"{path}:2" if kind in ("jsonl", "parquet") else f"{path}:3"


@pytest.mark.parametrize("kind", [*WRITERS, "txt"])
def test_a_text_of_ten_megabytes(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    long = "word " * 2_000_000
    if kind == "txt":
        path.write_text(f"{long}\n")
    else:
        WRITERS[kind](path, [(long, "good", "books")])
    assert only(path).text == long


def test_plain_text_is_one_unlabelled_text_a_line(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes('\ufefffirst \r\n\n  \nsecond, "with" quotes'.encode())
    assert list(read_rows(path)) == [
        Document("first ", source=f"{path}:1"),
        Document('second, "with" quotes', source=f"{path}:4"),
    ]


def test_a_folder_is_read_in_order_without_hidden_files(tmp_path):
    write_jsonl(tmp_path / "b.JSONL", [("three", None, None)])
    (tmp_path / "a").mkdir()
    write_jsonl(tmp_path / "a" / "z.jsonl.gz", [("two", None, None)], gzip.open)
    (tmp_path / "a" / "a.txt").write_text("one\n")
    (tmp_path / "README.md").write_text("not a text\n")
    (tmp_path / ".b.jsonl").write_text("broken\n")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "c.jsonl").write_text("broken\n")
    assert [row.text for row in read_corpus(tmp_path).documents] == ["one", "two", "three"]
    assert [row.text for row in read_corpus(tmp_path, format="text").documents] == ["one"]


def test_a_folder_without_readable_files(tmp_path):
    (tmp_path / "README.md").write_text("nothing here")
    with pytest.raises(DomainGateError, match=r"no file that can be read \(\.jsonl, .*\.gz"):
        read_corpus(tmp_path)


def test_the_format_can_be_said(tmp_path):
    path = tmp_path / "rows.data"
    write_tsv(path, TEXTS)
    assert triples(read_corpus(path, format="tsv").documents) == TEXTS
    with pytest.raises(DomainGateError, match=r"rows\.data .*\.jsonl, \.csv, \.tsv, \.parquet, \.txt.* --format"):
        read_rows(path)


def test_a_missing_file_is_told_at_once(tmp_path):
    with pytest.raises(DomainGateError, match=r"no file or folder .*absent\.jsonl"):
        read_rows(tmp_path / "absent.jsonl")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = jsonl(tmp_path, b'"text"\n')
    path.chmod(0)
    with pytest.raises(DomainGateError, match=r"Cannot read .*rows\.jsonl: Permission denied"):
        read_corpus(path)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ('"good"', "good"),
        ('" good "', "good"),
        ("1", "1"),
        ("1.0", "1.0"),
        ("true", "true"),
        ("false", "false"),
        ("null", None),
        ("NaN", None),
        ('""', None),
        ('"  "', None),
        ('"nan"', "nan"),
    ],
)
def test_labels_and_domains_become_strings_or_unknown(tmp_path, value, name):
    row = only(jsonl(tmp_path, f'{{"text": "x", "label": {value}, "domain": {value}}}'.encode()))
    assert (row.label, row.domain) == (name, name)


def test_parquet_numbers_and_missing_values(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    path = tmp_path / "rows.parquet"
    labels = pyarrow.array([1.0, float("nan"), None])
    domains = pyarrow.array(["a", None, "a"]).dictionary_encode()
    table = pyarrow.table({"id": [7, 8, 9], "text": ["x", "y", None], "label": labels, "domain": domains})
    parquet.write_table(table, path)
    first, second, third = read_rows(path)
    assert triples([first, second]) == [("x", "1.0", "a"), ("y", None, None)]
    assert third == BadRow(f"{path}:3", f"{path}:3: the text is null.")


def test_a_jsonl_line_may_be_a_bare_string_or_lack_columns(tmp_path):
    path = jsonl(tmp_path, b'\xef\xbb\xbf"bare"\r\n\r\n  {"text": "object", "other": [1]}\n')
    assert triples(read_rows(path)) == [("bare", None, None), ("object", None, None)]
    assert [row.source for row in read_rows(path)] == [f"{path}:1", f"{path}:3"]


BAD_LINES = {
    "broken": (b'{"text": ', "not valid JSON"),
    "latin-1": (b'"caf\xe9"', r"not UTF-8 \(byte 5"),
    "NUL": (b'"a\0b"', "NUL byte"),
    "list": (b'["text"]', "neither an object with columns nor a string"),
    "number": (b"3", "neither an object"),
    "no column": (b'{"review": "x", "stars": 5}', "no column 'text' .*'review', 'stars'.*--text-column"),
    "empty object": (b"{}", "no column 'text'"),
    "null": (b'{"text": null}', "text is null"),
    "not a string": (b'{"text": 5}', "text is not a string"),
    "empty": (b'{"text": ""}', "text is empty"),
    "blank": (b'{"text": " \\n\\t"}', "text is empty"),
    "deep": (b'{"text": "x", "y": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    "huge number": (b'{"text": "x", "label": ' + b"9" * 5000 + b"}", "cannot be read"),
    "half a pair": (b'"\\ud83d"', "surrogate"),
    "half a pair in a label": (b'{"text": "x", "label": "\\ud83d"}', "surrogate"),
    "list for a label": (b'{"text": "x", "label": ["a"]}', "label is neither"),
    "object for a domain": (b'{"text": "x", "domain": {}}', "domain is neither"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_jsonl_line_is_told_by_its_number_and_reading_goes_on(tmp_path, case):
    line, problem = BAD_LINES[case]
    path = jsonl(tmp_path, b'"first"\n\n' + line + b'\n"last"\n')
    first, bad, last = read_rows(path)
    assert (first.text, last.text) == ("first", "last")
    assert bad.source == f"{path}:3"
    assert bad.problem.startswith(f"{path}:3: ")
    with pytest.raises(DomainGateError, match=rf"rows\.jsonl:3: .*{problem}"):
        read_corpus(path)


@pytest.mark.parametrize(("suffix", "separator"), [("csv", b","), ("tsv", b"\t")])
def test_bad_rows_of_a_table(tmp_path, suffix, separator):
    path = tmp_path / f"rows.{suffix}"
    lines = [
        b"text,label",
        b'"two\nlines",good',
        b"",
        b"too,many,fields",
        b"few",
        b"caf\xe9,good",
        b"nul\0,good",
        b",good",
        b'"closed" early,good',
        b"fine,good",
        b'"never closed,good',
        b"last,good",
    ]
    path.write_bytes(b"\r\n".join(line.replace(b",", separator) for line in lines))
    good = [row for row in read_rows(path) if isinstance(row, Document)]
    bad = {row.source.rpartition(":")[2]: row.problem for row in read_rows(path) if isinstance(row, BadRow)}
    assert [(row.text.replace("\r", ""), row.source) for row in good] == [
        ("two\nlines", f"{path}:2"),
        ("fine", f"{path}:11"),
    ]
    reasons = ["3 fields", "1 fields", "not UTF-8", "NUL", "text is empty", "cannot be split", "cannot be split"]
    assert list(bad) == ["5", "6", "7", "8", "9", "10", "12"]
    assert all(reason in problem for reason, problem in zip(reasons, bad.values(), strict=True))


@pytest.mark.parametrize("header", ["review,stars", "review,text ignored"])
def test_a_header_without_the_text_column(tmp_path, header):
    path = tmp_path / "rows.csv"
    path.write_text(f"{header}\nx,1\n")
    with pytest.raises(DomainGateError, match=r"rows\.csv:1: .*'text'.*'review', .*--text-column"):
        list(read_rows(path))


def test_a_parquet_file_without_the_text_column(tmp_path):
    path = tmp_path / "rows.parquet"
    write_parquet(path, TEXTS)
    with pytest.raises(DomainGateError, match=r"rows\.parquet: .*'review'.*'text', 'label', 'domain'.*--text-column"):
        list(read_rows(path, Columns(text="review")))


def test_a_header_with_a_column_twice_or_blanks(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text, label\nx,good\n")
    assert only(path).label == "good"
    path.write_text("text,label,label\nx,a,b\n")
    with pytest.raises(DomainGateError, match="two columns 'label'"):
        read_corpus(path)


def test_columns_can_be_renamed(tmp_path):
    path = jsonl(tmp_path, b'{"review": "x", "stars": 5, "shop": "a"}\n{"review": "y"}\n')
    columns = Columns(text="review", label="stars", domain="shop")
    assert triples(read_corpus(path, columns).documents) == [("x", "5", "a"), ("y", None, None)]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("what", ["label", "domain"])
def test_a_renamed_column_that_never_occurs_is_a_slip(tmp_path, kind, what):
    path = tmp_path / f"rows.{kind}"
    WRITERS[kind](path, TEXTS)
    with pytest.raises(DomainGateError, match=rf"rows\.{kind} has a column 'stras'.*--{what}-column"):
        read_corpus(path, Columns(**{what: "stras"}))


@pytest.mark.parametrize("content", ["", "\n", "text,label\n"])
def test_a_file_without_rows(tmp_path, content):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    with pytest.raises(DomainGateError, match=r"rows\.csv has no rows"):
        read_corpus(path)


def test_broken_and_truncated_gzip(tmp_path):
    path = tmp_path / "rows.jsonl.gz"
    whole = gzip.compress(b'"text"\n' * 100_000)
    for content in (whole[: len(whole) // 2], whole[:100] + b"\xff" * 50 + whole[150:], b"plain text\n"):
        path.write_bytes(content)
        with pytest.raises(DomainGateError, match=r"rows\.jsonl\.gz is not a whole gzip file"):
            list(read_rows(path))


def test_a_broken_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"not parquet at all")
    with pytest.raises(DomainGateError, match=r"rows\.parquet is not a whole Parquet file"):
        read_corpus(path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DomainGateError, match=r"pip install 'domaingate\[parquet\]'"):
        read_corpus(path)


def test_binary_junk_is_no_crash(tmp_path):
    path = jsonl(tmp_path, bytes(range(256)) * 40)
    assert all(isinstance(row, BadRow) for row in read_rows(path))


@pytest.mark.parametrize(("kind", "head"), [("jsonl", b""), ("csv", b"text\n"), ("tsv", b"text\n"), ("text", b"")])
def test_a_row_comes_out_before_the_next_one_goes_in(monkeypatch, kind, head):
    out_of_pipe, into_pipe = os.pipe()
    with os.fdopen(out_of_pipe, "rb") as stream, os.fdopen(into_pipe, "wb", buffering=0) as pipe:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        rows = read_rows("-", format=kind)
        pipe.write(head)
        for number, text in enumerate(["first", "second"], start=1 + bool(head)):
            pipe.write(json.dumps(text).encode() + b"\n")
            assert next(rows).source == f"<stdin>:{number}"
        pipe.close()
        assert list(rows) == []


def test_standard_input_is_jsonl_unless_told_otherwise(monkeypatch, tmp_path):
    with jsonl(tmp_path, b'"first"\nbroken\n').open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        assert [row.source for row in read_rows("-")] == ["<stdin>:1", "<stdin>:2"]


def test_reading_needs_neither_torch_nor_extras():
    code = "import sys, domaingate.corpora; sys.exit(bool({'torch', 'pyarrow', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
