"""
Compiled kernels against the NumPy interpreter, for every operator of the dialect.

A *case* fills a graph with uses of one or several operators; it is compiled for every named
target and all results are compared: bit for bit where elements are moved, as numbers where
arithmetic is exact (integers, and small whole numbers in floating point, whose sums are exact in
every order), and within a few units of the last place otherwise.
"""

import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from cases.kernel import extensive_repeats, turn
from cases.operators import CASES, COVERED, ONE_DTYPE
from cases.tensor import COVERED as TENSOR_OPERATORS
from graphs import Graph
from vector_functions import targets_here
from xdsl.ir import Operation

from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.relay import Relay
from xrelay.dialects.tensor import unary
from xrelay.lowering.program.registry import (
    INTERPRETER_ONLY,
    REWRITTEN,
    RULES,
    STAGED,
    STRATEGIES,
    STRUCTURE,
    how_lowered,
)


@pytest.mark.parametrize(
    "op", sorted(Relay.operations, key=lambda op: op.name), ids=lambda op: op.name
)
def test_every_operator_has_code_and_a_case(op: type[Operation]):
    # Those of no kernel are steps, places or bodies in `xrelay.lowering.program.program`, or replaced.
    program = {*STRUCTURE, *REWRITTEN}
    if op is LetOp:
        return  # `to-graph-normal-form` erases it.
    if op in INTERPRETER_ONLY or op in STAGED:
        assert op not in RULES and op not in STRATEGIES
        return
    assert op in RULES or op in STRATEGIES or op in program
    # That which ends programs: tests/unit/api/test_program_data_types.py.
    assert op in COVERED or op in TENSOR_OPERATORS or op.name == "relay.fail"


def test_operators_of_the_first_levels_have_code():
    """Relay sorts its operators by how common they are: of levels 1 to 5, 95 % run as code."""
    path = Path(__file__).parent.parent / "unit" / "data" / "relay_ops.csv"
    with path.open(newline="") as file:
        names = {f"relay.{row['op']}" for row in csv.DictReader(file) if int(row["level"]) <= 5}
    common = [op for op in Relay.operations if op.name in names]
    assert len(common) == len(names) > 150
    without = [op.name for op in common if not how_lowered(op).has_code]
    assert len(without) <= 0.05 * len(names), without


def places() -> Iterator[ParameterSet]:
    """
    The cases with targets, which take turns, and threads. What threads share does not depend on the
    dtype: two of them compute the cases of f32 and of no dtype. LLVM makes fast code of these; for
    other dtypes, whose kernels are ours in the same way, it makes plain code (see RawCode). Extensive:
    cases of f32 for the other targets, and with one thread; other dtypes in fast code; f16 for the
    target that has no instructions for it; and dtypes that are like others.
    """
    targets = targets_here()
    for name, (j, target) in product(CASES, enumerate(targets)):
        if name in ONE_DTYPE:
            if turn(name, len(targets)) == j:
                yield pytest.param(name, target, 2, True)
            else:
                yield pytest.param(name, target, 1 + j % 2, True, marks=pytest.mark.extensive)
        elif turn(name, len(targets)) == j:
            yield pytest.param(name, target, 1, False, marks=extensive_repeats(name, CASES))
            yield pytest.param(name, target, 1, True, marks=pytest.mark.extensive)
        elif "float16" in name and j == 0:
            yield pytest.param(name, target, 1, True, marks=pytest.mark.extensive)


@pytest.mark.parametrize(
    ("name", "target", "threads", "optimized"), list(places()), indirect=["target"]
)
def test_agrees_with_the_interpreter(
    name: str, target: str, threads: int, optimized: bool, graph: Graph
):
    CASES[name](graph)
    graph.check(target, threads, optimized=optimized)


def test_inputs_lie_in_memory_as_they_like(graph: Graph):
    graph.show(unary.NegativeOp(graph.input(graph.small("float32", 5, 33))))
    model = graph.compile("x86-64")
    ((_, expected),) = graph.expected()
    unaligned = np.frombuffer(b"." + graph.inputs[0].tobytes(), np.uint8)[1:].view(np.float32)
    strided = np.repeat(graph.inputs[0], 2, axis=1)[:, ::2]
    for array in (unaligned.reshape(5, 33), strided, np.asfortranarray(graph.inputs[0])):
        (found,) = model.run({"input0": array}).values()
        assert np.array_equal(found, expected)
