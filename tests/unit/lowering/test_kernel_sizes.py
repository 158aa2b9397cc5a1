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
    found = {name: kernel_sizes.size(kernel_sizes.all_cases()[name]) for name in sorted(names)}
    lines = [
        f"- {name}: {KNOWN[name]}\n+ {name}: {found[name]}"
        for name in found
        if found[name] != KNOWN[name]
    ]
    difference = "\n".join(lines)
    assert not difference, f"if this is better, run `make pages`\n{difference}"


def test_all_cases_are_on_record() -> None:
    assert KNOWN.keys() == kernel_sizes.all_cases().keys(), "run `make pages`"


@pytest.mark.slow
def test_sizes_are_those_on_record() -> None:
    check(KNOWN.keys() - LONG)


@pytest.mark.extensive
def test_sizes_of_long_code_are_those_on_record() -> None:
    check(LONG)
