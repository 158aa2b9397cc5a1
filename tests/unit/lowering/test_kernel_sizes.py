"""The kernels of operators are as much code as `kernel_sizes.txt` says."""

from difflib import unified_diff

import kernel_sizes
import pytest


@pytest.mark.slow
def test_sizes_are_those_on_record() -> None:
    found, known = kernel_sizes.text().splitlines(), kernel_sizes.FILE.read_text().splitlines()
    lines = unified_diff(known, found, "kernel_sizes.txt", "now", n=0, lineterm="")
    difference = "\n".join(lines)
    assert not difference, f"if this is better, run `make pages`\n{difference}"
