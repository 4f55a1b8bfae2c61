"""Are records whole lines, whatever happened to the file before, and is a line that is none told by its place?"""

import pytest

from domaingate import ledger
from domaingate.errors import DomainGateError

RECORDS = [{"run": name, "candidates": [{"accuracy": 0.1}], "text": "grün\n"} for name in ("a", "b")]


def test_records_come_back_as_they_were(tmp_path):
    """Is what is read what was appended, in that order?"""
    path = tmp_path / "results" / "records.jsonl"
    assert ledger.read(path) == []
    for record in RECORDS:
        ledger.append(path, record)
    assert ledger.read(path) == RECORDS
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2


def test_what_a_killed_run_left_is_passed_over_and_written_over(tmp_path):
    """Does half a line neither spoil what stands before it nor what is appended after it?"""
    path = tmp_path / "records.jsonl"
    ledger.append(path, RECORDS[0])
    with path.open("ab") as stream:
        stream.write(b'{"run": "half", "candid')
    assert ledger.read(path) == RECORDS[:1]
    ledger.append(path, RECORDS[1])
    assert ledger.read(path) == RECORDS


@pytest.mark.parametrize("line", [b"junk", b"[]", b'{"run": "x"}', b"\xff\xfe"])
def test_a_line_that_is_no_record_is_told_by_its_number(tmp_path, line):
    """Does a sentence name file and line?"""
    path = tmp_path / "records.jsonl"
    ledger.append(path, RECORDS[0])
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(DomainGateError, match=r"records\.jsonl:2 is not the record of a run"):
        ledger.read(path)


def test_a_record_says_where_and_by_what_it_was_made():
    """Are versions, machine and time there?"""
    told = ledger.provenance("cpu", 1)
    assert {"versions", "commit", "machine", "ended"} <= told.keys()
    assert told["machine"]["threads"] == 1
    assert told["machine"]["processor"]
    assert {"domaingate", "torch", "numpy", "python"} <= told["versions"].keys()
