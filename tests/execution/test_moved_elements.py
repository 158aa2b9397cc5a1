"""Operators that do not keep neighbours together, before and behind those of which an element is many instructions."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from graphs import Graph
from vector_functions import targets_here
from xdsl.ir import SSAValue

import xrelay
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.reorder import ReverseOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TileOp
from xrelay.dialects.tensor.unary import NegativeOp, SigmoidOp
from xrelay.interpreters.relay import interpret

Move = Callable[[Graph, SSAValue], SSAValue]


def tiled(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(TileOp(x, (1, 3)))


def every_second(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(StridedSliceOp(x, (0,), (1000,), (2,), axes=(1,)))


def reversed_rows(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(ReverseOp(x, 1))


def twice(g: Graph, x: SSAValue) -> SSAValue:
    return every_second(g, g.op(SigmoidOp(reversed_rows(g, x))))


MOVES: tuple[Move, ...] = (tiled, every_second, reversed_rows, twice)


@pytest.mark.parametrize("target", targets_here())
@pytest.mark.parametrize("move", MOVES)
def test_before_and_behind(move: Move, target: str) -> None:
    for width, threads in product((1, 32, 64, 77), (1, 2)):
        for before, behind in ((True, False), (False, True), (True, True)):
            g = Graph(width)
            x = g.input(g.rng.standard_normal((9, width)).astype(np.float32))
            value = g.op(SigmoidOp(x)) if before else g.op(NegativeOp(x))
            value = move(g, value)
            value = g.op(SigmoidOp(value)) if behind else value
            g.returns(g.op(AddOp(value, value)))
            module = g.module()
            (expected,) = interpret(module, g.inputs)
            model = xrelay.compile(module, target=target, threads=threads, cache=False)
            (found,) = model.run({"input0": g.inputs[0]}).values()
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-30)


def test_what_takes_long_is_computed_once() -> None:
    """In vectors, in memory of the kernel, before it is repeated; what is a few instructions is computed again."""
    for kind, is_kept in ((SigmoidOp, True), (NegativeOp, False)):
        g = Graph()
        g.returns(tiled(g, g.op(kind(g.input(np.ones((4, 50), np.float32))))))
        model = xrelay.compile(g.module(), cache=False)
        assert isinstance(model, xrelay.Model)
        assert len(model.signature.steps) == 1
        assert (model.signature.workspace_bytes > 0) == is_kept
