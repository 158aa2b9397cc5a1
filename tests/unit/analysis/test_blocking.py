"""Which operators could compute on images in blocks of channels, and which of them do, by cost."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from graphs import Graph
from xdsl.ir import Operation, SSAValue

from xrelay.analysis.facts.blocking import (
    blocked_images,
    both_layouts,
    cuts_last_block,
    has_channels,
    image_dimensions,
    is_image,
    is_whole,
    plan_blocking,
    takes_few_channels,
)
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn.norm import BiasAddOp, SoftmaxOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import GlobalAvgPool2DOp, MaxPool2DOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.reduce import MeanOp, SumOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp, StridedSliceOp, WhereOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.interpreters.arrays import element_type_of

LANES = 4
Make = Callable[[Graph, SSAValue], Operation]


def zeros(g: Graph, *shape: int, dtype: str = "float32") -> SSAValue:
    return g.input(np.zeros(shape, dtype))


def known(g: Graph, *shape: int, dtype: str = "float32") -> SSAValue:
    return g.constant(np.zeros(shape, dtype))


def relu(g: Graph, x: SSAValue) -> Operation:
    return ReluOp(x)


def conv(*weight: int, constant: bool = True, **options: Any) -> Make:
    make = known if constant else zeros
    return lambda g, x: Conv2DOp(x, make(g, *weight), **options)


def pad(*widths: tuple[int, int]) -> Make:
    return lambda g, x: PadOp(x, g.constant(np.float32(0)), widths)


def joined(axis: int, *channels: int, constant: bool = False) -> Make:
    def make(g: Graph, x: SSAValue) -> Operation:
        fields = [(known if constant else zeros)(g, 1, count, 6, 6) for count in channels]
        return ConcatenateOp(g.op(TupleOp([x, *fields])), axis=axis)

    return make


def plus(*shape: int, constant: bool = True) -> Make:
    make = known if constant else zeros
    return lambda g, x: AddOp(make(g, *shape), x)


NONE = (0, 0)
NHWC = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
TAKEN: dict[str, tuple[tuple[int, ...], Make]] = {
    "a convolution": ((1, 8, 6, 6), conv(8, 8, 3, 3)),
    "of other numbers of channels": ((1, 7, 6, 6), conv(5, 7, 3, 3)),
    "depthwise": ((1, 6, 6, 6), conv(6, 1, 3, 3, groups=6)),
    "groups of whole blocks": ((1, 8, 6, 6), conv(16, 4, 3, 3, groups=2)),
    "groups of several blocks": ((1, 16, 6, 6), conv(16, 8, 3, 3, groups=2)),
    "relu": ((1, 3, 6, 6), relu),
    "pooling": ((1, 8, 6, 6), lambda g, x: MaxPool2DOp(x, (2, 2))),
    "pooling of all": ((1, 8, 6, 6), lambda g, x: GlobalAvgPool2DOp(x)),
    "bias": ((1, 8, 6, 6), lambda g, x: BiasAddOp(x, known(g, 8))),
    "bias from the end": ((1, 8, 6, 6), lambda g, x: BiasAddOp(x, known(g, 8), axis=-3)),
    "a border": ((1, 8, 6, 6), pad(NONE, NONE, (1, 0), (0, 2))),
    "a mean": ((1, 8, 6, 6), lambda g, x: MeanOp(x, (2, 3), keepdims=True)),
    "a mean from the end": ((1, 8, 6, 6), lambda g, x: MeanOp(x, (-1, -2), keepdims=True)),
    "whole blocks and a part": ((1, 8, 6, 6), joined(1, 4, 3)),
    "channels": ((1, 8, 6, 6), plus(8, 1, 1)),
    "images": ((1, 8, 6, 6), plus(1, 8, 6, 6, constant=False)),
    "rows": ((1, 8, 6, 6), plus(6)),
    "one channel": ((1, 1, 6, 6), plus(1, 6, 6)),
    "a choice": ((1, 8, 6, 6), lambda g, x: WhereOp(zeros(g, 8, 1, 1, dtype="bool"), x, x)),
}
LEFT: dict[str, tuple[tuple[int, ...], Make]] = {
    "a computed weight": ((1, 8, 6, 6), conv(8, 8, 3, 3, constant=False)),
    "channels last": ((1, 6, 6, 8), conv(3, 3, 8, 8, **NHWC)),
    "channels come last": ((1, 8, 6, 6), conv(8, 8, 3, 3, data_layout="NCHW", out_layout="NHWC")),
    "another weight": ((1, 8, 6, 6), conv(3, 3, 8, 8, kernel_layout="HWIO")),
    "blocks come in": (
        (1, 2, 6, 6, 4),
        conv(8, 8, 3, 3, data_layout="NCHW4c", out_layout="NCHW"),
    ),
    "no images": ((0, 8, 6, 6), conv(8, 8, 3, 3)),
    "groups of parts of inputs": ((1, 12, 6, 6), conv(8, 6, 3, 3, groups=2)),
    "groups of parts of outputs": ((1, 8, 6, 6), conv(12, 4, 3, 3, groups=2)),
    "groups of less than a block": ((1, 4, 6, 6), conv(8, 2, 3, 3, groups=2)),
    "one output of two channels": ((1, 8, 6, 6), conv(4, 2, 3, 3, groups=4)),
    "two outputs of each channel": ((1, 4, 6, 6), conv(8, 1, 3, 3, groups=4)),
    "pooling, channels last": ((1, 6, 6, 8), lambda g, x: MaxPool2DOp(x, (2, 2), layout="NHWC")),
    "bias of rows": ((1, 6, 6, 6), lambda g, x: BiasAddOp(x, known(g, 6), axis=2)),
    "more channels": ((1, 8, 6, 6), pad(NONE, (0, 4), NONE, NONE)),
    "channels in front": ((1, 8, 6, 6), pad(NONE, (4, 0), NONE, NONE)),
    "more images": ((1, 8, 6, 6), pad((0, 1), NONE, NONE, NONE)),
    "a mean of channels": ((1, 8, 6, 6), lambda g, x: MeanOp(x, (1, 2), keepdims=True)),
    "a mean of columns": ((1, 8, 6, 6), lambda g, x: MeanOp(x, (3,), keepdims=True)),
    "a mean without axes": ((1, 8, 6, 6), lambda g, x: MeanOp(x, (2, 3))),
    "a sum, which would be rounded otherwise": (
        (1, 8, 6, 6),
        lambda g, x: SumOp(x, (2, 3), keepdims=True),
    ),
    "a part and a block": ((1, 6, 6, 6), joined(1, 8)),
    "a part between": ((1, 8, 6, 6), joined(1, 3, 4)),
    "halves": ((1, 8, 6, 6), lambda g, x: ConcatenateOp(g.op(SplitOp(x, 2, axis=1)), axis=1)),
    "rows one after the other": ((1, 8, 6, 6), joined(2, 8)),
    "another rank": ((8, 6, 6), relu),
    "another operator": ((1, 8, 6, 6), lambda g, x: SoftmaxOp(x)),
    "a matrix": ((6, 6), plus(1, 8, 1, 1)),
}


@pytest.mark.parametrize("name", [*TAKEN, *LEFT])
def test_what_could_be_computed_in_blocks(name: str):
    g = Graph()
    shape, make = (TAKEN | LEFT)[name]
    x = zeros(g, *shape)
    op = make(g, x)
    g.op(op)
    images = blocked_images(op, LANES)
    assert (images is not None) == (name in TAKEN)
    assert images is None or x in images


CONVOLVED = {
    ("float32", "float16", "float32"): True,
    ("bfloat16", "bfloat16", "bfloat16"): True,
    ("float16", "float16", "float32"): True,
    ("uint8", "int8", "int32"): True,
    ("int32", "int8", "int16"): True,
    # Operands would be rounded first.
    ("float32", "float16", "float16"): False,
    ("float64", "float64", "float64"): False,
    ("int8", "int8", "int64"): False,
    ("int8", "bool", "int32"): False,
    ("int8", "int8", "float32"): False,
}
"""The elements of image, weight and result, and whether a convolution works in blocks."""


@pytest.mark.parametrize("types", CONVOLVED, ids="-".join)
def test_convolutions_of_other_types(types: tuple[str, str, str]):
    g = Graph()
    image, weight, result = (np.dtype(getattr(ml_dtypes, each, each)) for each in types)
    x = zeros(g, 1, 8, 6, 6, dtype=image)
    op = Conv2DOp(x, known(g, 8, 8, 3, 3, dtype=weight), out_dtype=element_type_of(result))
    g.op(op)
    assert (blocked_images(op, LANES) == (x,)) == CONVOLVED[types]


def test_a_mean_of_integers_stays():
    """What pooling makes of integers is rounded otherwise."""
    g = Graph()
    op = MeanOp(zeros(g, 1, 8, 6, 6, dtype="int32"), (2, 3), keepdims=True)
    g.op(op)
    assert blocked_images(op, LANES) is None


def test_sums_of_integers():
    for options, expected in (
        ({"axis": (2, 3), "keepdims": True}, True),
        ({"axis": (2, 3)}, False),
        ({"axis": (1, 2), "keepdims": True}, False),
    ):
        g = Graph()
        image = zeros(g, 1, 8, 6, 6, dtype="int32")
        op = SumOp(image, **options)
        g.op(op)
        assert blocked_images(op, LANES) == ((image,) if expected else None)


def test_images_of_several_operands():
    g = Graph()
    image, channels, number, rows = (zeros(g, *s) for s in ((1, 8, 6, 6), (8, 1, 1), (), (6, 6)))
    for other, expected in ((channels, True), (number, False), (rows, False), (image, True)):
        op = AddOp(image, other)
        g.op(op)
        assert blocked_images(op, LANES) == ((image, other) if expected else (image,))
    op = AddOp(known(g, 1, 8, 6, 6), rows)
    g.op(op)
    assert blocked_images(op, LANES) is None


def test_types_and_shapes_of_images():
    g = Graph()
    for dtype, expected in (
        *((name, True) for name in ("float32", "float16", "bool", "int8", "uint8", "int32")),
        *((name, False) for name in ("float64", "int64", "uint64")),
    ):
        assert is_image(zeros(g, 1, 2, 3, 4, dtype=dtype).type) == expected
    assert not is_image(zeros(g, 2, 3, 4).type)
    assert is_image(zeros(g, 2, 3, 4).type, rank=None)
    assert not is_image(zeros(g, 1, 2, 0, 4).type)
    assert not is_image(g.op(TupleOp([zeros(g, 1, 2, 3, 4)])).type)
    assert image_dimensions(zeros(g, 3, 4)) == (1, 1, 3, 4)
    for shape, channels, expected in (
        ((3, 1, 1), 3, True),
        ((1, 1, 1), 1, False),
        ((2, 1), 1, True),
        ((1, 3, 1, 1), 4, False),
    ):
        assert has_channels(zeros(g, *shape), channels) == expected
    assert is_whole(zeros(g, 1, 8, 2, 2), LANES) and not is_whole(zeros(g, 1, 6, 2, 2), LANES)


@pytest.mark.parametrize(
    ("channels", "begin", "end", "axis", "expected"),
    [
        (8, 0, 7, 1, True),
        (8, 0, 5, 1, True),
        (8, 0, 4, 1, False),
        (6, 0, 5, 1, True),
        (8, 1, 8, 1, False),
        (8, 0, 3, 2, False),
        (8, 0, 3, 3, False),
    ],
)
def test_slices_of_the_last_block(channels: int, begin: int, end: int, axis: int, expected: bool):
    g = Graph()
    op = StridedSliceOp(zeros(g, 1, channels, 6, 6), [begin], [end], axes=[axis])
    g.op(op)
    assert cuts_last_block(op, LANES) == expected


def test_slices_in_steps_and_other_operators_cut_no_block():
    g = Graph()
    data = zeros(g, 1, 2, 6, 6)
    for op in (
        StridedSliceOp(data, [0], [2], [2], axes=[1]),
        StridedSliceOp(data, [-1], [-9], [-1], axes=[1]),
        ReluOp(data),
        StridedSliceOp(zeros(g, 2, 2, 6, 6), [0], [1], axes=[0]),
        StridedSliceOp(zeros(g, 1, 2, 6, 6, dtype="int64"), [0], [1], axes=[1]),
    ):
        g.op(op)
        assert not cuts_last_block(op, LANES)


def test_both_layouts_of_a_transform():
    g = Graph()
    image, blocks = zeros(g, 1, 8, 6, 6), zeros(g, 1, 2, 6, 6, 4)
    enter = LayoutTransformOp(image, "NCHW", "NCHW4c")
    leave = LayoutTransformOp(blocks, "NCHW4c", "NCHW")
    assert both_layouts(enter, 4) == (image, enter.result)
    assert both_layouts(leave, 4) == (leave.result, blocks)
    assert both_layouts(enter, 8) is both_layouts(leave, 8) is None
    assert both_layouts(LayoutTransformOp(image, "NCHW", "NHWC"), 4) is None
    for op in (enter, leave):
        g.op(op)


@pytest.mark.parametrize(
    ("inputs", "groups", "expected"), [(3, 1, True), (4, 1, False), (8, 1, False), (8, 8, False)]
)
def test_images_of_few_channels(inputs: int, groups: int, expected: bool):
    g = Graph()
    op = Conv2DOp(zeros(g, 1, inputs, 6, 6), known(g, 8, inputs // groups, 3, 3), groups=groups)
    g.op(op)
    assert takes_few_channels(op, LANES) == expected


# -- decisions ----------------------------------------------------------------------------------------


def decided(g: Graph) -> dict[str, bool]:
    """Of each operator for which there was something to decide, whether it works in blocks."""
    g.module()
    plan = plan_blocking(g.block, LANES)
    assert all(decision.blocked == plan.is_blocked(op) for op, decision in plan.decisions.items())
    return {op.name.removeprefix("relay."): plan.is_blocked(op) for op in plan.decisions}


def through(g: Graph, x: SSAValue, *steps: Make) -> SSAValue:
    for step in steps:
        x = g.op(step(g, x))
    return x


def test_costs_of_a_convolution():
    """In blocks of four: the image goes in and comes out, and padding is computed as well."""
    g = Graph()
    x = zeros(g, 1, 8, 6, 6)
    op = Conv2DOp(x, known(g, 6, 8, 3, 3), padding=(1, 1))
    g.returns(g.op(op))
    g.module()
    decision = plan_blocking(g.block, LANES).decisions[op]
    moving = 2 * 4.0 * 4
    operations = 2.0 * 6 * 6 * 8 * 3 * 3
    assert decision.blocked_cost == moving * 36 * (8 + 6) + operations * 8
    assert decision.plain_cost == 2.0 * operations * 6
    assert decision.images == (x,)


def test_a_tuple_costs_what_its_dearest_reader_does():
    """One reader goes on in blocks, another one wants NCHW: the image is transformed for that one."""
    costs: list[float] = []
    for shown in (False, True):
        g = Graph()
        op = Conv2DOp(zeros(g, 1, 8, 6, 6), known(g, 8, 8, 1, 1))
        fields = g.op(TupleOp([g.op(op), zeros(g, 1, 8, 6, 6)]))
        if shown:
            g.show(ConcatenateOp(fields, axis=3))
        g.returns(through(g, g.op(ConcatenateOp(fields, axis=1)), conv(8, 16, 1, 1)))
        g.module()
        costs.append(plan_blocking(g.block, LANES).decisions[op].blocked_cost)
    assert costs[1] - costs[0] == 2 * 4.0 * 4 * 36 * 8


def test_convolutions_of_few_channels_take_the_image_as_it_is():
    g = Graph()
    op = Conv2DOp(zeros(g, 1, 3, 6, 6), known(g, 8, 3, 3, 3))
    g.returns(g.op(op))
    g.module()
    assert plan_blocking(g.block, LANES).decisions[op].images == ()


def test_nothing_enters_blocks_for_what_only_follows():
    g = Graph()
    g.returns(through(g, zeros(g, 1, 8, 6, 6), relu, plus(8, 1, 1)))
    assert decided(g) == {}


def test_a_chain_stays_in_blocks():
    g = Graph()
    large = conv(32, 32, 3, 3, padding=[1, 1])
    g.returns(through(g, zeros(g, 1, 32, 6, 6), large, relu, plus(32, 1, 1), large))
    assert decided(g) == {"nn.conv2d": True, "nn.relu": True, "add": True}


def test_what_is_wanted_in_both_layouts_is_transformed_once():
    """After something that needs NCHW, a small operator takes what is there."""
    g = Graph()
    large = conv(32, 32, 3, 3, padding=[1, 1])
    value = through(g, zeros(g, 1, 32, 6, 6), large)
    g.show(SoftmaxOp(value))
    g.show(SoftmaxOp(g.op(ReluOp(value))))
    assert decided(g) == {"nn.conv2d": True, "nn.relu": False}
    g = Graph()
    value = through(g, zeros(g, 1, 32, 6, 6), large)
    g.show(SoftmaxOp(g.op(ReluOp(value))))
    assert decided(g) == {"nn.conv2d": True, "nn.relu": True}


@pytest.mark.parametrize(("channels", "stays"), [(32, True), (30, False)])
def test_transforms_into_blocks_take_what_is_in_blocks(channels: int, stays: bool) -> None:
    """A transform of whole blocks wants no NCHW; one that pads the last block does, and others then take it."""
    g = Graph()
    value = through(g, zeros(g, 1, 32, 6, 6), conv(channels, 32, 3, 3, padding=[1, 1]))
    g.show(LayoutTransformOp(value, "NCHW", "NCHW4c"))
    g.show(SoftmaxOp(g.op(ReluOp(value))))
    assert decided(g) == {"nn.conv2d": True, "nn.relu": stays}
