"""The kernels of operators are as much code as `kernel_sizes.txt` says."""

import pytest
from code_records import kernel_sizes
from code_records.reading import pairs

KNOWN = pairs(kernel_sizes.FILE.read_text().splitlines())
CASES = kernel_sizes.all_cases()


def test_all_cases_are_on_record() -> None:
    assert KNOWN.keys() == CASES.keys(), "run `make pages`"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES))
def test_sizes_are_those_on_record(name: str) -> None:
    """Where the new code is better, `make pages` writes it."""
    assert kernel_sizes.size(CASES[name]) == KNOWN[name]
