"""Of random programs passes make what `passes.txt` says."""

from collections.abc import Iterator

import pytest
from code_records import passes

from tests.fuzz.pass_rows import pass_names


def known() -> Iterator[tuple[str, str]]:
    """What is on record: the lines under each name."""
    name, below = "", ""
    for line in passes.FILE.read_text().splitlines(keepends=True):
        if line.startswith(" "):
            below += line
            continue
        if name:
            yield name, below
        name, below = line.rstrip("\n"), ""
    yield name, below


KNOWN = dict(known())


def test_all_passes_are_on_record() -> None:
    assert list(KNOWN) == pass_names(), "run `make pages`"


@pytest.mark.parametrize("name", KNOWN)
def test_passes_do_what_is_on_record(name: str) -> None:
    """Where the new programs are better, `make pages` writes them."""
    assert passes.entry(name) == KNOWN[name]
