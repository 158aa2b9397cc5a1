"""bf16 of kernels: conversions bit by bit as ml_dtypes makes them, in models that are run, saved and kept."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from graphs import BITS, Graph
from vector_functions import targets_here
from xdsl.dialects.builtin import bf16, f16, f32, f64

import xrelay
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.interpreters.arrays import Array
from xrelay.lowering.emit.elements import nearest_float

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
EVERY = np.arange(2**16).astype(np.uint16)
"""The bits of all bf16 numbers, and the upper halves of all f32 numbers."""


def near_every_number() -> Array:
    """Of every bf16 number, with its NaN, infinities and subnormals: itself, f32 close to it, and ties."""
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    return ((EVERY.astype(np.uint32) << 16)[:, None] | lower).ravel().view(np.float32)


@pytest.mark.parametrize("target", (*targets_here(), "native"))
def test_conversions_are_those_of_ml_dtypes(target: str):
    graph, singles = Graph(), near_every_number()
    graph.show(CastOp(graph.input(EVERY.view(BFLOAT16)), f32), BITS)
    graph.show(CastOp(graph.input(EVERY.view(BFLOAT16)), f64))
    graph.show(CastOp(graph.input(EVERY.view(BFLOAT16)), f16))
    graph.show(CastOp(graph.input(EVERY.view(np.float16)), bf16), BITS)
    graph.show(CastOp(graph.input(singles), bf16), BITS)
    # Ties that are none in f64: it is rounded twice, to f32 and to bf16.
    with np.errstate(invalid="ignore"):
        doubles = singles[::7].astype(np.float64) * (1 + 2.0**-40)
    graph.show(CastOp(graph.input(doubles), bf16), BITS)
    graph.check(target)


def test_constants_are_rounded_as_arrays_are():
    singles = near_every_number()[::11]
    with np.errstate(invalid="ignore"):
        expected = singles.astype(BFLOAT16).astype(np.float64)
    found = np.array([nearest_float(number, bf16) for number in singles.tolist()])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_models_take_give_and_keep_it(tmp_path: Path):
    graph = Graph(1)
    x = graph.input(graph.numbers(BFLOAT16, 3, 17))
    graph.show(AddOp(x, graph.constant(graph.numbers(BFLOAT16, 17))))
    model = xrelay.compile(graph.module(), cache=False)
    assert str(model.signature.inputs[0]) == "'input0' bfloat16[3, 17]"
    model.save(tmp_path / "sum.so")
    assert "'input0' bfloat16[3, 17]" in (tmp_path / "sum.h").read_text()
    ((_, expected),) = graph.expected()
    for each in (model, xrelay.load(tmp_path / "sum.so")):
        (found,) = each.run({"input0": graph.inputs[0]}).values()
        assert found.dtype == BFLOAT16
        np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))
    with pytest.raises(xrelay.ModelError, match="is uint16"):
        model.run({"input0": graph.inputs[0].view(np.uint16)})
