"""The kernels of operators are as much code as `kernel_sizes.txt` says."""

import re

import pytest
from code_records import kernel_sizes
from code_records.reading import pairs, require_same

KNOWN = pairs(kernel_sizes.FILE.read_text().splitlines())
LONG = {
    name for name, size in KNOWN.items() if int(re.findall(r"(\d+) operations", size)[0]) > 2500
}
"""Cases whose code takes half a second and more to make."""


def check(names: set[str]) -> None:
    cases = kernel_sizes.all_cases()
    require_same(KNOWN, ((name, kernel_sizes.size(cases[name])) for name in sorted(names)))


def test_all_cases_are_on_record() -> None:
    assert KNOWN.keys() == kernel_sizes.all_cases().keys(), "run `make pages`"


@pytest.mark.slow
def test_sizes_are_those_on_record() -> None:
    check(KNOWN.keys() - LONG)


@pytest.mark.extensive
def test_sizes_of_long_code_are_those_on_record() -> None:
    check(LONG)
