"""
Compiled kernels of the tensor operators against the NumPy interpreter: for every named target that
runs here, and for the processor itself, with one thread and with two.
"""

import re
from itertools import product

import pytest
from graphs import Graph
from kernel_cases import Case
from tensor_cases import TABLES
from vector_functions import targets_here

CASES: dict[str, Case] = {name: case for table in TABLES for name, case in table.cases.items()}
TARGETS = ("x86-64", "x86-64-v3", "native")
EVERYWHERE = [name for name in CASES if not re.search(r"-(u?int|float64|bool)", name)]
"""Cases for each target; those of other dtypes take turns."""


@pytest.mark.parametrize(
    ("name", "target", "threads"),
    [
        (name, target, 1 + (i + j) % 2)
        for (i, name), (j, target) in product(enumerate(CASES), enumerate(TARGETS))
        if name in EVERYWHERE or i % len(TARGETS) == j
    ]
    + [(name, "x86-64-v3", 2 - i % 2) for i, name in enumerate(CASES) if name in EVERYWHERE],
)
def test_agrees_with_the_interpreter(name: str, target: str, threads: int, graph: Graph):
    if target not in ("native", *targets_here()):
        pytest.skip(f"this processor cannot run code for {target}")
    CASES[name](graph)
    graph.check(target, threads)
