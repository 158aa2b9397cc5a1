"""
`alter-op-layout` on random networks: the interpreter gives the same results before and after, a
second run changes nothing, and no transform stands where it cancels with another.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_programs import shape_of
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from xrelay.dialects.conv import conv
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn import norm, space
from xrelay.dialects.pool import pool
from xrelay.dialects.tensor import binary, reshape, transform, unary
from xrelay.dialects.tensor import reduce as reduction
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.interpreters.arrays import Array, type_of
from xrelay.interpreters.constants import constant_op
from xrelay.interpreters.relay import interpret
from xrelay.transforms.layout.alter_op_layout import AlterOpLayoutPass


class Network:
    """A function under construction, from random choices."""

    def __init__(self, draw: Callable[[Any], Any]):
        self.draw = draw
        self.rng = np.random.default_rng(0)
        self.block = Block()
        self.inputs: list[Array] = []
        self.images: list[SSAValue] = []

    def op(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def numbers(self, *shape: int) -> Array:
        return self.rng.standard_normal(shape).astype(np.float32)

    def constant(self, *shape: int) -> SSAValue:
        return self.op(constant_op(self.numbers(*shape)))

    def input(self, *shape: int) -> SSAValue:
        self.inputs.append(self.numbers(*shape))
        return self.block.insert_arg(type_of(self.inputs[-1]), len(self.block.args))

    def image(self) -> SSAValue:
        return self.draw(st.sampled_from(self.images))

    # Each way to go on adds an image.

    def convolution(self) -> SSAValue:
        data = self.image()
        channels = shape_of(data)[1]
        kind = self.draw(st.sampled_from(("dense", "depthwise", "grouped")))
        if kind == "depthwise":
            weight, groups = self.constant(channels, 1, 3, 3), channels
        elif kind == "grouped" and channels % 2 == 0:
            weight, groups = self.constant(8, channels // 2, 1, 1), 2
        else:
            outputs = self.draw(st.sampled_from((3, 4, 8, 10)))
            taps = self.draw(st.sampled_from((1, 3)))
            weight, groups = self.constant(outputs, channels, taps, taps), 1
        pad = shape_of(weight)[2] // 2
        result = self.op(conv.Conv2DOp(data, weight, padding=(pad, pad), groups=groups))
        if self.draw(st.booleans()):
            result = self.op(norm.BiasAddOp(result, self.constant(shape_of(result)[1])))
        return result

    def activation(self) -> SSAValue:
        kinds = (unary.ReluOp, unary.SigmoidOp, unary.NegativeOp)
        return self.op(self.draw(st.sampled_from(kinds))(self.image()))

    def with_constant(self) -> SSAValue:
        data = self.image()
        _, channels, height, width = shape_of(data)
        shapes = [(), (1,), (channels, 1, 1), (1, channels, 1, 1), (height, width), (width,)]
        shapes.append((1, channels, height, width))
        other = self.constant(*self.draw(st.sampled_from(shapes)))
        kind = self.draw(st.sampled_from((binary.AddOp, binary.MultiplyOp, binary.DivideOp)))
        operands = (data, other) if self.draw(st.booleans()) else (other, data)
        return self.op(kind(*operands))

    def residual(self) -> SSAValue:
        data = self.image()
        alike = [image for image in self.images if shape_of(image) == shape_of(data)]
        return self.op(binary.AddOp(data, self.draw(st.sampled_from(alike))))

    def excitation(self) -> SSAValue:
        """Each channel times a number that the image itself gives."""
        data = self.image()
        channels = shape_of(data)[1]
        if self.draw(st.booleans()):
            mean = self.op(pool.GlobalAvgPool2DOp(data))
        else:
            mean = self.op(reduction.MeanOp(data, (2, 3), keepdims=True))
        scale = self.op(conv.Conv2DOp(mean, self.constant(channels, channels, 1, 1)))
        return self.op(binary.MultiplyOp(data, self.op(unary.SigmoidOp(scale))))

    def spatial_mask(self) -> SSAValue:
        """Each pixel times a number that is the same in all channels."""
        data = self.image()
        mask = self.op(conv.Conv2DOp(data, self.constant(1, shape_of(data)[1], 1, 1)))
        return self.op(binary.MultiplyOp(data, mask))

    def choice(self) -> SSAValue:
        data = self.image()
        zero = self.op(constant_op(np.zeros((), np.float32)))
        positive = self.op(binary.GreaterOp(data, zero))
        slope = self.op(binary.MultiplyOp(data, self.constant(shape_of(data)[1], 1, 1)))
        return self.op(transform.WhereOp(positive, data, slope))

    def pooling(self) -> SSAValue:
        data = self.image()
        kind = self.draw(st.sampled_from((pool.MaxPool2DOp, pool.AvgPool2DOp)))
        return self.op(kind(data, (3, 3), padding=(1, 1)))

    def border(self) -> SSAValue:
        """A border that the next convolution takes away again."""
        data = self.image()
        zero = self.op(constant_op(np.ones((), np.float32)))
        wider = self.op(space.PadOp(data, zero, [(0, 0), (0, 0), (1, 1), (1, 1)]))
        return self.op(conv.Conv2DOp(wider, self.constant(8, shape_of(data)[1], 3, 3)))

    def joined(self) -> SSAValue:
        fields = [self.image() for _ in range(self.draw(st.integers(1, 3)))]
        return self.op(transform.ConcatenateOp(self.op(TupleOp(fields)), axis=1))

    def halves(self) -> SSAValue:
        """Something that needs all channels in one row."""
        return self.op(transform.StridedSliceOp(self.image(), [0], [2], axes=[1]))

    STEPS = (
        convolution,
        convolution,
        activation,
        with_constant,
        residual,
        excitation,
        spatial_mask,
        choice,
        pooling,
        border,
        joined,
        halves,
    )

    def module(self) -> ModuleOp:
        self.images.append(self.input(2, self.draw(st.sampled_from((3, 8))), 5, 4))
        for _ in range(self.draw(st.integers(1, 8))):
            self.images.append(self.draw(st.sampled_from(self.STEPS))(self))
        results = [self.images[-1], self.image()]
        results.append(self.op(reshape.BatchFlattenOp(self.image())))
        self.block.add_op(func.ReturnOp(*results))
        arguments = [arg.type for arg in self.block.args]
        type_ = FunctionType.from_lists(arguments, [result.type for result in results])
        return ModuleOp([func.FuncOp("main", type_, Region(self.block))])


@st.composite
def networks(draw: Any) -> tuple[ModuleOp, list[Array]]:
    network = Network(draw)
    module = network.module()
    module.verify()
    return module, network.inputs


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(networks(), st.sampled_from(((4, 0, 0), (8, 0, 0), (4, 0, 8))))
def test_meaning_is_kept(network: tuple[ModuleOp, list[Array]], lanes: tuple[int, int, int]):
    module, inputs = network
    expected = interpret(module, inputs)
    changed = module.clone()
    AlterOpLayoutPass(*lanes).apply(Context(), changed)
    changed.verify()
    for found, wanted in zip(interpret(changed, inputs), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)

    again = changed.clone()
    AlterOpLayoutPass(*lanes).apply(Context(), again)
    assert str(again) == str(changed)

    for op in changed.walk():
        if isinstance(op, LayoutTransformOp):
            assert op.result.uses
            before = op.data.owner
            while isinstance(before, transform.StridedSliceOp):
                before = before.data.owner
            assert not undoes(op, before)


def undoes(op: LayoutTransformOp, before: Operation | Block) -> bool:
    """Whether a transform goes back to where another one came from."""
    return isinstance(before, LayoutTransformOp) and op.dst_layout == before.src_layout
