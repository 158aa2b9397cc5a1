"""Whole networks of integers, f16 and bf16, through all passes: images in blocks, pools, joins and matrix products."""

import ml_dtypes
import numpy as np
import pytest
from graphs import Graph
from xdsl.ir import SSAValue

import xrelay
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, MaxPool2DOp
from xrelay.dialects.tensor.binary import AddOp, MaximumOp, MinimumOp, RightShiftOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.dialects.tensor.unary import CastOp, ReluOp
from xrelay.interpreters.arrays import Array, element_type_of
from xrelay.interpreters.relay import interpret
from xrelay.tools.verify import largest_difference


class Network:
    """Layers of one type, those of bytes with sums of 32 bits. Floating-point numbers are exact in another type, too."""

    def __init__(self, dtype: np.dtype[np.generic], other: np.dtype[np.generic] | None = None):
        self.g, self.dtype, self.other = Graph(0), dtype, other or dtype
        self.sums = np.dtype(np.int32) if dtype.itemsize == 1 else dtype

    def numbers(self, *shape: int) -> Array:
        """Weights, or an image."""
        if self.dtype.itemsize == 1:
            return self.g.numbers("int8", *shape)
        depth = int(np.prod(shape[1:]))
        numbers = (self.g.rng.standard_normal(shape) / np.sqrt(depth)).astype(self.other)
        return numbers.astype(self.dtype)

    def finished(self, value: SSAValue) -> SSAValue:
        """The sums as elements of the network's type."""
        if self.sums == self.dtype:
            return self.g.op(ReluOp(value))
        g = self.g
        value = g.op(RightShiftOp(value, g.constant(np.array(9, np.int32))))
        value = g.op(MaximumOp(value, g.constant(np.array(0, np.int32))))
        value = g.op(MinimumOp(value, g.constant(np.array(255, np.int32))))
        return g.op(CastOp(value, element_type_of(self.dtype)))

    def conv(
        self, x: SSAValue, inputs: int, outputs: int, taps: int, groups: int = 1, stride: int = 1
    ) -> SSAValue:
        """A convolution with a bias."""
        g, dtype = self.g, element_type_of(self.sums)
        weight = g.constant(self.numbers(outputs, inputs // groups, taps, taps))
        padding = (taps // 2, taps // 2)
        options = {"groups": groups, "strides": (stride, stride), "padding": padding}
        value = g.op(Conv2DOp(x, weight, out_dtype=dtype, **options))
        bias = g.constant(self.numbers(outputs).astype(self.sums))
        return self.finished(g.op(BiasAddOp(value, bias)))

    def build(self) -> None:
        """A network."""
        g = self.g
        image = (
            self.numbers(1, 3, 21, 23).view(np.uint8)
            if self.dtype.itemsize == 1
            else self.numbers(1, 3, 21, 23)
        )
        x = self.conv(g.input(image), 3, 24, 3, stride=2)
        x = g.op(MaxPool2DOp(x, (3, 3), strides=(2, 2), padding=(1, 1)))
        left, right = self.conv(x, 24, 32, 1), self.conv(x, 24, 20, 3)
        x = g.op(ConcatenateOp(g.op(TupleOp([left, right])), axis=1))
        x = self.conv(x, 52, 52, 3, groups=52)
        x = g.op(PadOp(x, g.constant(np.array(3, self.dtype)), [(0, 0), (0, 0), (1, 0), (0, 2)]))
        y = self.conv(x, 52, 52, 3)
        x = g.op(AddOp(x, y))
        x = g.op(AvgPool2DOp(x, (2, 2)))
        x = g.op(BatchFlattenOp(g.op(GlobalAvgPool2DOp(x))))
        product = DenseOp(x, g.constant(self.numbers(10, 52)), out_dtype=element_type_of(self.sums))
        g.returns(g.op(product))


CASES = (
    ("uint8", "x86-64"),
    ("uint8", "x86-64-v3-vnni"),
    ("uint8", "x86-64-v4-bf16"),
    ("float16", "x86-64-v3"),
    ("bfloat16", "x86-64-v4"),
    ("bfloat16", "x86-64-v4-bf16"),
)


@pytest.mark.parametrize(("dtype", "any_target"), CASES, indirect=["any_target"])
def test_networks(any_target: str, dtype: str) -> None:
    network = Network(np.dtype(getattr(ml_dtypes, dtype, dtype)))
    network.build()
    g = network.g
    (expected,) = interpret(g.module(), g.inputs)
    model = xrelay.compile(g.module(), target=any_target, cache=False, winograd=False)
    used = {step.implementation for step in model.signature.steps}
    assert any("blocked" in name for name in used), used
    (found,) = model.run({model.signature.inputs[0].name: g.inputs[0]}).values()
    bound = 0.0 if dtype == "uint8" else 0.02
    assert largest_difference(found, expected) <= bound


@pytest.mark.parametrize("any_target", ["x86-64", "x86-64-v3", "x86-64-v4"], indirect=True)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_nothing_is_rounded_between_operators(any_target: str, dtype: str) -> None:
    """Where products are those of f32, a network is the one of the same numbers in f32, rounded at the end."""
    short = np.dtype(getattr(ml_dtypes, dtype, dtype))
    results: list[Array] = []
    for network in (Network(short), Network(np.dtype(np.float32), short)):
        network.build()
        model = xrelay.compile(network.g.module(), target=any_target, cache=False, winograd=False)
        (result,) = model.run({model.signature.inputs[0].name: network.g.inputs[0]}).values()
        results.append(result)
    found, expected = results
    assert (found.dtype, expected.dtype) == (short, np.float32)
    np.testing.assert_array_equal(found.view(np.uint16), expected.astype(short).view(np.uint16))
