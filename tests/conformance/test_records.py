"""All records of TVM's passes: passes, chains of passes, and the round trip of their texts."""

from collections.abc import Sequence

import pytest
from recorded_passes import (
    CRASH,
    EXCEPTIONS,
    PASSES,
    Family,
    exceptions,
    known_differences,
    surprise,
    without_collection,
)
from recorded_passes import KNOWN as KNOWN_FILE
from records import Record, all_records, families, parts

from tests.conformance.parity import FILE as PARITY
from tests.conformance.parity import parity

RECORDS = all_records()
EXCUSES = exceptions()
KNOWN = known_differences()
PART = 800_000
"""What `parts` counts in a test: two or three seconds."""


def findings(family: Family) -> list[str]:
    """What is not as it should be with some records that share texts."""
    found: list[str] = []
    agreeing: list[Record] = []
    for record in family.records:
        problem = family.pass_difference(record)
        if problem is None:
            agreeing.append(record)
        lists = (KNOWN_FILE, record.place in KNOWN), (EXCEPTIONS, record.place in EXCUSES)
        wrong = surprise(problem, *lists)
        if wrong is not None:
            found.append(f"{record.place}: {wrong}")
    for chain, problem in family.chain_differences(agreeing):
        found.append(f"{' -> '.join(record.place for record in chain)}: {problem}")
    for record in family.records:
        problem = family.roundtrip_difference(record)
        excuse = EXCUSES.get(record.place)
        wrong = surprise(problem, (EXCEPTIONS, excuse is not None and not excuse.is_read))
        if wrong is not None:
            found.append(f"{record.place}: round trip: {wrong}")
    return found


PARTS = parts(RECORDS, PART)
FIRST = [part[0][0] for part in PARTS]
NAMES = [f"{number}-{record.path.name}:{record.line}" for number, record in enumerate(FIRST)]
"""The file and the line of the first record of each part."""


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS, ids=NAMES)
def test_records(part: Sequence[Sequence[Record]]):
    with without_collection():
        found = [finding for members in part for finding in findings(Family(members))]
    assert found == []


def test_every_recorded_pass_exists():
    assert {record.name for record in RECORDS} == PASSES.keys()


def test_parity_is_current():
    assert PARITY.read_text() == parity(RECORDS), "run `make pages`"


def test_lists_name_records():
    assert KNOWN - {record.place for record in RECORDS} == set()
    assert EXCUSES.keys() - {record.place for record in RECORDS} == set()


def test_crashes_and_excuses_that_are_not_needed_are_findings():
    listed, other = (KNOWN_FILE, True), (EXCEPTIONS, False)
    crash = f"{CRASH} (most recent call last)"
    assert [surprise(each, listed, other) for each in ("differs", crash)] == [None, crash]
    assert [surprise(each, other) for each in ("differs", None)] == ["differs", None]
    assert surprise(None, listed, other) == "agrees now, remove it from known.txt"


@pytest.mark.slow
def test_chains_are_found():
    """Of all that was annotated, what was made of it in the end; `test_records` compares."""
    ways: list[str] = []
    partitioned: set[Record] = set()
    for members in families(RECORDS):
        there = [record for record in members if record.name in PASSES]
        for chain in Family(members).chains(there):
            ways.append(" ".join(record.name for record in chain))
            for place, record in enumerate(chain):
                if record.name == "PartitionGraph":
                    partitioned.update(r for r in chain[:place] if r.name == "AnnotateTarget")
    assert partitioned == {record for record in RECORDS if record.name == "AnnotateTarget"}
    assert sum("AnnotateTarget MergeCompilerRegions PartitionGraph" in way for way in ways) > 400
    assert sum("FuseOps DefuseOps" in way for way in ways) > 100
