"""
Compiled kernels of the tensor operators against the NumPy interpreter: for every named target that
runs here, and for the processor itself, with one thread and with two.
"""

import re
from collections.abc import Iterator
from itertools import product

import pytest
from _pytest.mark import ParameterSet
from cases.kernel import Case, extensive_repeats, turn
from cases.tensor import TABLES
from graphs import Graph
from vector_functions import targets_here

CASES: dict[str, Case] = {name: case for table in TABLES for name, case in table.cases.items()}
TARGETS = (*(target for target in targets_here() if target != "x86-64-v4"), "native")
WIDELY = [name for name in CASES if not re.search(r"-(u?int|float64|bool)", name)]
"""Cases of f32 and no dtype, and of floats of 16 bits: all targets have them in `make conformance`."""


def places() -> Iterator[ParameterSet]:
    """
    The cases with targets and threads, which take turns; those of f32 in fast code, the others in
    plain code (see RawCode). Extensive: cases of f32 for the other targets, and with another number of
    threads; other dtypes in fast code; and dtypes that are like others.
    """
    for (i, name), (j, target) in product(enumerate(CASES), enumerate(TARGETS)):
        own, widely = turn(name, len(TARGETS)) == j, name in WIDELY
        fast = widely and not name.endswith("float16")
        if own:
            yield pytest.param(name, target, 1 + i % 2, fast, marks=extensive_repeats(name, CASES))
        if own and not fast or not own and widely:
            yield pytest.param(name, target, 1 + (i + j) % 2, True, marks=pytest.mark.extensive)
    for i, name in enumerate(CASES):
        if name in WIDELY:
            yield pytest.param(name, "x86-64-v3", 2 - i % 2, True, marks=pytest.mark.extensive)


@pytest.mark.parametrize(("name", "target", "threads", "optimized"), list(places()))
def test_agrees_with_the_interpreter(
    name: str, target: str, threads: int, optimized: bool, graph: Graph
):
    CASES[name](graph)
    graph.check(target, threads, optimized=optimized)
