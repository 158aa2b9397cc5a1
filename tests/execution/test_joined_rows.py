"""Tensors that are joined along the last axis: in vectors, one after the other, with what is computed before and behind."""

from itertools import product

import numpy as np
import pytest
from graphs import Graph
from vector_functions import targets_here
from xdsl.ir import SSAValue

import xrelay
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.transform import ConcatenateOp, TransposeOp
from xrelay.dialects.tensor.unary import NegativeOp
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.relay import interpret


def compiled(
    g: Graph, target: str = "native", threads: int = 1
) -> tuple[list[Array], list[Array], list[str]]:
    """What the interpreter and the code give, and what computes the steps."""
    module = g.module()
    expected = interpret(module, g.inputs)
    model = xrelay.compile(module, target=target, threads=threads, cache=False)
    assert isinstance(model, xrelay.Model)
    inputs = {f"input{i}": each for i, each in enumerate(g.inputs)}
    found = list(model.run(inputs).values())
    return list(expected), found, [step.implementation for step in model.signature.steps]


def joined(g: Graph, *fields: SSAValue) -> SSAValue:
    """Some tensors, along the last axis."""
    return g.op(ConcatenateOp(g.op(TupleOp(fields)), axis=-1))


WIDTHS = [(1, 1), (64, 32), (17, 3, 40), (5, 0, 16), (2, 1, 100)]


@pytest.mark.parametrize("target", targets_here())
@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_of_any_width(widths: tuple[int, ...], target: str) -> None:
    for dtype, threads in product(("float32", "int8", "float64"), (1, 2)):
        g = Graph(sum(widths))
        fields = [g.op(NegativeOp(g.input(g.numbers(dtype, 3, 7, width)))) for width in widths]
        other = g.input(g.numbers(dtype, 3, 7, sum(widths)))
        g.returns(g.op(AddOp(joined(g, *fields), other)))
        (expected,), (found,), steps = compiled(g, target, threads)
        assert steps == ["rows"]
        np.testing.assert_array_equal(found, expected)


def test_rows_by_index_beside_others() -> None:
    g = Graph()
    table, indices = g.input(g.numbers("float32", 50, 24)), g.input(np.arange(0, 57, 3) % 50)
    features = g.input(g.numbers("float32", 19, 9))
    g.returns(joined(g, g.op(TakeOp(table, indices, axis=0)), features))
    (expected,), (found,), steps = compiled(g)
    assert steps == ["rows"]
    np.testing.assert_array_equal(found, expected)


def test_only_what_ends_a_kernel_has_loops() -> None:
    """Of one tensor that is joined and then in another order, elements are found on demand."""
    g = Graph()
    parts = [g.input(g.numbers("float32", 6, width)) for width in (20, 12)]
    both = joined(g, *parts)
    g.returns(joined(g, g.op(TransposeOp(both, (1, 0))), g.input(g.numbers("float32", 32, 3))))
    (expected,), (found,), steps = compiled(g)
    assert "rows" in steps
    np.testing.assert_array_equal(found, expected)


def test_along_another_axis() -> None:
    g = Graph()
    fields = [g.op(NegativeOp(g.input(g.numbers("float32", 4, n, 16)))) for n in (2, 3)]
    g.returns(g.op(NegativeOp(g.op(ConcatenateOp(g.op(TupleOp(fields)), axis=1)))))
    (expected,), (found,), steps = compiled(g)
    assert "rows" not in steps
    np.testing.assert_array_equal(found, expected)
