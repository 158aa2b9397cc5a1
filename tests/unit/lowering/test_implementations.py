"""The implementations of operators are as much code as `implementations.txt` says."""

import pytest
from code_records import implementations
from code_records.reading import pairs

KNOWN = pairs(implementations.FILE.read_text().splitlines())
ENTRIES = {each.name: each for each in implementations.entries()}


def test_all_entries_are_on_record() -> None:
    assert list(KNOWN) == list(ENTRIES), "run `make pages`"


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_code_is_as_on_record(name: str) -> None:
    """Where the new code is better, `make pages` writes it."""
    assert ENTRIES[name].text() == KNOWN[name]
