"""
Operators that do not keep neighbours together, before and behind those of which an element is many instructions; and tensors that are
joined along the last axis: in vectors, one after the other.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from graphs import Graph
from raw_calls import RawCode
from vector_functions import targets_here
from xdsl.ir import SSAValue

import xrelay
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn.space import MirrorPadOp, PadOp
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reorder import ReverseOp, ReverseSequenceOp, TriluOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import ConcatenateOp, StridedSliceOp, TileOp, TransposeOp
from xrelay.dialects.tensor.unary import NegativeOp, SigmoidOp
from xrelay.interpreters.arrays import Array
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


def mirrored(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(MirrorPadOp(x, ((2, 0), (1, 1)), mode="SYMMETRIC"))


def bordered(g: Graph, x: SSAValue) -> SSAValue:
    number = g.constant(np.zeros((), np.float32))
    return g.op(PadOp(x, number, ((0, 1), (5, 40)), pad_mode="edge"))


def triangle(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(TriluOp(x, g.constant(np.array(2)), upper=True))


def reversed_sequences(g: Graph, x: SSAValue) -> SSAValue:
    (_, width), parts = shape_of(x), g.constant(np.array([3, 1, 0]))
    x = g.op(ReshapeOp(x, (3, 3, width)))
    return g.op(ReshapeOp(g.op(ReverseSequenceOp(x, parts, seq_axis=0, batch_axis=1)), (9, width)))


MOVES: tuple[Move, ...] = (
    *(tiled, every_second, reversed_rows, twice, mirrored, bordered),
    *(triangle, reversed_sequences),
)


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
    moves = ((tiled, 50), (tiled, 64), (mirrored, 20), (mirrored, 100), (bordered, 100))
    for (move, width), (kind, is_kept) in product(moves, ((SigmoidOp, True), (NegativeOp, False))):
        g = Graph()
        g.returns(move(g, g.op(kind(g.input(np.ones((4, width), np.float32))))))
        model = xrelay.compile(g.module(), cache=False)
        assert isinstance(model, xrelay.Model)
        assert len(model.signature.steps) == 1
        assert (model.signature.workspace_bytes > 0) == is_kept


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16, np.bool_])
def test_padded_and_repeated_rows_of_any_width(dtype: type[np.generic], target: str) -> None:
    """Bit for bit what NumPy makes of them, -0 and payloads of NaN included."""
    modes = {"constant": "constant", "edge": "edge", "reflect": "reflect", "SYMMETRIC": "symmetric"}
    size = np.dtype(dtype).itemsize
    for width, threads in ((1, 1), (5, 2), (47, 1), (100, 2)):
        g, expected = Graph(width), list[Array]()
        bits = g.rng.integers(0, 2 if dtype == np.bool_ else 256, (3, 2, width * size))
        array = bits.astype(np.uint8).view(dtype)
        x, number = g.input(array), g.input(np.ones((), dtype))
        for (name, mode), pads in product(modes.items(), ((0, 1), (3, 3), (33, 99))):
            most = {"reflect": width - 1, "symmetric": width}.get(mode, 99)
            widths = [(0, 0), (1, 0), (min(pads[0], most), min(pads[1], most))]
            if name == "SYMMETRIC":
                g.returns(g.op(MirrorPadOp(x, widths, mode=name)))
            else:
                g.returns(g.op(PadOp(x, number, widths, pad_mode=name)))
            fill = {"constant_values": 1} if mode == "constant" else {}
            expected.append(np.pad(array, widths, mode, **fill))
        for reps in ((2, 1, 3), (1, 3, 17)):
            g.returns(g.op(TileOp(x, reps)))
            expected.append(np.tile(array, reps))
        code = RawCode(g.code(target, threads), optimized=dtype == np.float32)
        for found, wanted in zip(code.run(g.inputs, threads), expected, strict=True):
            assert found.tobytes() == wanted.tobytes()


def results(
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
def test_joined_rows_of_any_width(widths: tuple[int, ...], target: str) -> None:
    for dtype, threads in product(("float32", "int8", "float64"), (1, 2)):
        g = Graph(sum(widths))
        fields = [g.op(NegativeOp(g.input(g.numbers(dtype, 3, 7, width)))) for width in widths]
        other = g.input(g.numbers(dtype, 3, 7, sum(widths)))
        g.returns(g.op(AddOp(joined(g, *fields), other)))
        (expected,), (found,), steps = results(g, target, threads)
        assert steps == ["rows"]
        np.testing.assert_array_equal(found, expected)


def test_rows_by_index_joined_with_others() -> None:
    g = Graph()
    table, indices = g.input(g.numbers("float32", 50, 24)), g.input(np.arange(0, 57, 3) % 50)
    features = g.input(g.numbers("float32", 19, 9))
    g.returns(joined(g, g.op(TakeOp(table, indices, axis=0)), features))
    (expected,), (found,), steps = results(g)
    assert steps == ["rows"]
    np.testing.assert_array_equal(found, expected)


def test_only_tensors_joined_at_the_end_of_a_kernel_have_loops() -> None:
    """Of one tensor that is joined and then in another order, elements are found on demand."""
    g = Graph()
    parts = [g.input(g.numbers("float32", 6, width)) for width in (20, 12)]
    both = joined(g, *parts)
    g.returns(joined(g, g.op(TransposeOp(both, (1, 0))), g.input(g.numbers("float32", 32, 3))))
    (expected,), (found,), steps = results(g)
    assert "rows" in steps
    np.testing.assert_array_equal(found, expected)


def test_tensors_joined_along_another_axis() -> None:
    g = Graph()
    fields = [g.op(NegativeOp(g.input(g.numbers("float32", 4, n, 16)))) for n in (2, 3)]
    g.returns(g.op(NegativeOp(g.op(ConcatenateOp(g.op(TupleOp(fields)), axis=1)))))
    (expected,), (found,), steps = results(g)
    assert "rows" not in steps
    np.testing.assert_array_equal(found, expected)
