"""The kernels of operators are as much code as `kernel_sizes.txt` says."""

import re

import pytest
from code_records import kernel_sizes

KNOWN = dict(line.split(": ", 1) for line in kernel_sizes.FILE.read_text().splitlines())
LONG = {
    name for name, size in KNOWN.items() if int(re.findall(r"(\d+) operations", size)[0]) > 2500
}
"""Cases whose code takes half a second and more to make."""


def check(names: set[str]) -> None:
    cases, differences = kernel_sizes.all_cases(), list[str]()
    for name in sorted(names):
        found = kernel_sizes.size(cases[name])
        if found != KNOWN[name]:
            differences.append(f"- {name}: {KNOWN[name]}\n+ {name}: {found}")
    assert not differences, "\n".join(["if this is better, run `make pages`", *differences])


def test_all_cases_are_on_record() -> None:
    assert KNOWN.keys() == kernel_sizes.all_cases().keys(), "run `make pages`"


@pytest.mark.slow
def test_sizes_are_those_on_record() -> None:
    check(KNOWN.keys() - LONG)


@pytest.mark.extensive
def test_sizes_of_long_code_are_those_on_record() -> None:
    check(LONG)
