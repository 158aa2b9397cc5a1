"""
Products in tile registers agree with the interpreter, between pages that fault on access, and are the same bits for any
number of threads.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from cases.dots import BYTES, TypedProduct, Types, bound
from cases.strategy import Case
from strategy_checks import Trial, problems

from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp

TARGET = "x86-64-v4-amx"
BFLOATS: tuple[Types, ...] = (
    ("bfloat16", "bfloat16", "bfloat16"),
    ("bfloat16", "bfloat16", "float32"),
)
SIZES = (
    # operator, rows, depth, columns, whether the right operand is stored by columns
    (DenseOp, 5, 64, 33, True),
    (DenseOp, 1, 300, 96, True),
    (DenseOp, 37, 256, 80, True),
    (MatmulOp, 16, 131, 48, False),
    (MatmulOp, 33, 64, 1, False),
    (BatchMatmulOp, 17, 37, 31, True),
    (BatchMatmulOp, 9, 128, 32, False),
    (BatchMatmulOp, 34, 30, 50, False),
)
pytestmark = pytest.mark.parametrize("target", [TARGET], indirect=True)


def cases(types: Types) -> Iterator[Case]:
    """Products of all sizes, by constants and by inputs."""
    for (op, *sizes, transposed), constant in product(SIZES, (True, False)):
        drawn = TypedProduct(types, op, *sizes, constant, transposed)
        yield Case("tile-registers", str(drawn), bound(types, sizes[1]), drawn.build)


def check(found: Sequence[Case], target: str, threads: int) -> None:
    """All of some cases are right."""
    problem = problems(found, target, threads)
    assert not problem, problem


@pytest.mark.parametrize("types", (*BYTES, *BFLOATS), ids="-".join)
def test_agrees_with_the_interpreter(target: str, types: Types) -> None:
    check(list(cases(types)), target, 2)


def test_extreme_bytes(target: str) -> None:
    """All elements are the least ones of their types, or the largest ones."""
    check(
        [
            Case("tile-registers", str(drawn), 0.0, drawn.build)
            for types, depth in product(BYTES, (1, 7, 65))
            for drawn in [TypedProduct(types, DenseOp, 18, depth, 17, True, True, extreme=True)]
        ],
        target,
        1,
    )


def test_what_is_not_finite_spreads_no_further(target: str) -> None:
    """What fills up a depth is zero in both operands."""
    problem = Trial(list(cases(BFLOATS[1])), target, 1).leaks()
    assert not problem, problem
