"""Passes without records of their own, on the programs of the original's tests of types."""

from itertools import islice

import pytest
from guards.passes import passes_of
from records import DATA, records
from xdsl.context import Context

from xrelay.frontends.relay_text import RelayTextError, read_relay_text

FILE = DATA / "InferType.tests.jsonl.xz"
SPECS = (
    "canonicalize-cast",
    "legalize",
    "qnn-legalize",
    'qnn-legalize{target="arm"}',
    'qnn-legalize{target="cuda"}',
    'qnn-legalize{target="x86"}',
)
SHARE = 40
"""Of so many programs one is tried in each run of the tests."""


def check(step: int) -> set[str]:
    """The passes that change something; what they leave is typed as before, and they do so once."""
    changing: set[str] = set()
    for text in islice(dict.fromkeys(each.after for each in records(FILE)), 0, None, step):
        try:
            module = read_relay_text(text)
        except RelayTextError:
            continue  # What operators were given beside their meaning; the records say which.
        for spec in SPECS:
            (found,) = passes_of(spec)
            copy = module.clone()
            found.apply(Context(), copy)
            copy.verify()
            if not copy.is_structurally_equivalent(module):
                changing.add(spec)
                once = copy.clone()
                found.apply(Context(), copy)
                assert copy.is_structurally_equivalent(once), f"{spec} again on\n{text}"
    return changing


def test_programs_stay_valid():
    check(SHARE)


@pytest.mark.extensive
def test_all_programs_stay_valid():
    assert check(1) == set(SPECS)
