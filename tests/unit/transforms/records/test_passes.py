"""Of random programs passes make what `passes.txt` says."""

import pytest
from code_records import passes
from code_records.reading import entries

from tests.fuzz.pass_rows import pass_names

KNOWN = entries(passes.FILE.read_text().splitlines())


def test_all_passes_are_on_record() -> None:
    assert list(KNOWN) == pass_names(), "run `make pages`"


@pytest.mark.parametrize("name", KNOWN)
def test_passes_do_what_is_on_record(name: str) -> None:
    """Where the new programs are better, `make pages` writes them."""
    assert passes.entry(name) == KNOWN[name]
