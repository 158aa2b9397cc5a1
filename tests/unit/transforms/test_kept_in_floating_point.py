"""Why operators of quantised programs are not computed with integers: each reason in full."""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from guards.passes import GuardGraph
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.image.resize import Resize2DOp
from xrelay.dialects.nn.dense import DenseOp, MatmulOp
from xrelay.dialects.nn.norm import BiasAddOp, SoftmaxOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, MaxPool2DOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp
from xrelay.dialects.tensor.binary import AddOp, MaximumOp
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.reduce import MeanOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.transforms.rules.quantize.local import CPU_RULES, kept_in_floating_point
from xrelay.transforms.rules.quantize.operators import RELAY_RULES
from xrelay.transforms.rules.quantize.values import Affine, Kept, Quantized, Site
from xrelay.transforms.rules.rewriting import Emitter

Make = Callable[[GuardGraph], Operation]
CHANNELS = [0.5, 0.25, 1.0, 2.0]


def numbers(
    g: GuardGraph, *shape: int, scale: Any = 0.5, zero: Any = 3, dtype: str = "int8", axis: int = 1
) -> SSAValue:
    """The numbers that integers stand for."""
    data = g.x(*shape, dtype=dtype)
    return g.op(QnnDequantizeOp(data, g.c(scale), g.c(zero, "int32"), axis=axis))


def on(op: Callable[[SSAValue], Operation], *shape: int, **options: Any) -> Make:
    """An operator on the numbers of integers of some shape."""
    return lambda g: op(numbers(g, *shape, **options))


def joined(*scales: float) -> Make:
    def make(g: GuardGraph) -> Operation:
        fields = [numbers(g, 1, 4, scale=scale) for scale in scales]
        return ConcatenateOp(g.op(TupleOp(fields)), axis=0)

    return make


def joined_elsewhere(g: GuardGraph) -> Operation:
    """The tuple is a parameter; an integer beside it makes the program a quantised one."""
    fields = g.input((np.zeros(2, np.float32), np.zeros(2, np.float32)))
    numbers(g, 2)
    return ConcatenateOp(fields)


def product(
    op: type[DenseOp | MatmulOp], *, left: dict[str, Any], right: dict[str, Any], **properties: Any
) -> Make:
    shape = (4, 4)
    return lambda g: op(numbers(g, *shape, **left), numbers(g, *shape, **right), **properties)


def biased(data: dict[str, Any], bias: dict[str, Any]) -> Make:
    options: dict[str, Any] = {"dtype": "int32", **bias}
    return lambda g: BiasAddOp(numbers(g, 2, 4, dtype="int32", **data), numbers(g, 4, **options))


NO_BYTES = "relay.mean averages other integers than bytes with one scale"
REASONS: dict[str, tuple[Make, str | None]] = {
    # Averages.
    "means of shorts": (on(lambda x: MeanOp(x, [1]), 2, 4, dtype="int16"), NO_BYTES),
    "means of channels": (on(lambda x: MeanOp(x, [0]), 2, 4, scale=CHANNELS, zero=0), NO_BYTES),
    "means of nothing": (on(lambda x: MeanOp(x, [1]), 2, 0), "a mean of 0 elements"),
    "means of too many": (on(lambda x: MeanOp(x, [1]), 1, 2**23), "a mean of 8388608 elements"),
    "means of many": (on(lambda x: MeanOp(x, [1]), 1, 2**23 - 1), None),
    "channels last": (
        on(lambda x: GlobalAvgPool2DOp(x, layout="NHWC"), 1, 4, 4, 2),
        "relay.nn.global_avg_pool2d has the layout NHWC",
    ),
    "channels first": (on(lambda x: GlobalAvgPool2DOp(x), 1, 2, 4, 4), None),
    "a border that does not count": (
        on(lambda x: AvgPool2DOp(x, (2, 2), padding=(1, 1)), 1, 2, 4, 4),
        "windows of relay.nn.avg_pool2d at the borders have fewer elements",
    ),
    "a border that counts": (
        on(lambda x: AvgPool2DOp(x, (2, 2), padding=(1, 1), count_include_pad=True), 1, 2, 4, 4),
        None,
    ),
    "windows beyond the border": (
        on(lambda x: AvgPool2DOp(x, (2, 2), strides=(2, 2), ceil_mode=True), 1, 2, 5, 4),
        "windows of relay.nn.avg_pool2d at the borders have fewer elements",
    ),
    "windows up to the border": (
        on(lambda x: AvgPool2DOp(x, (2, 2), strides=(2, 2), ceil_mode=True), 1, 2, 6, 4),
        None,
    ),
    "no images": (on(lambda x: AvgPool2DOp(x, (2, 2)), 0, 2, 4, 4), "means of no windows"),
    # Operators that do the same with integers.
    "an order that is not known": (
        lambda g: MaxPool2DOp(
            g.op(QnnDequantizeOp(g.x(1, 2, 4, 4, dtype="int8"), g.x(), g.c(0, "int32"))), (2, 2)
        ),
        "the scale of what relay.nn.max_pool2d compares is not known to be positive",
    ),
    "another order": (
        on(lambda x: MaxPool2DOp(x, (2, 2)), 1, 2, 4, 4, scale=-0.5),
        "the scale of what relay.nn.max_pool2d compares is not known to be positive",
    ),
    "numbers between": (
        on(lambda x: Resize2DOp(x, (8, 8), method="linear"), 1, 2, 4, 4),
        "relay.image.resize2d computes numbers between others",
    ),
    "no numbers between": (
        on(lambda x: Resize2DOp(x, (8, 8), method="nearest_neighbor"), 1, 2, 4, 4),
        None,
    ),
    "blocks of channels with scales": (
        on(lambda x: LayoutTransformOp(x, "NCHW", "NHWC"), 1, 4, 2, 2, scale=CHANNELS, zero=0),
        "relay.layout_transform moves channels that have scales of their own",
    ),
    "blocks with zeros": (
        on(lambda x: LayoutTransformOp(x, "NCHW", "NCHW3c"), 1, 4, 2, 2),
        "relay.layout_transform fills blocks with zeros",
    ),
    "whole blocks": (on(lambda x: LayoutTransformOp(x, "NCHW", "NCHW2c"), 1, 4, 2, 2), None),
    "another border": (
        lambda g: PadOp(numbers(g, 2, 4), g.c(1.0), ((0, 1), (0, 0))),
        "relay.nn.pad adds other numbers than 0, or has scales of channels",
    ),
    "a border that is not known": (
        lambda g: PadOp(numbers(g, 2, 4), g.x(), ((0, 1), (0, 0))),
        "relay.nn.pad adds other numbers than 0, or has scales of channels",
    ),
    "edges": (
        lambda g: PadOp(numbers(g, 2, 4), g.c(0.0), ((0, 1), (0, 0)), pad_mode="edge"),
        "relay.nn.pad adds other numbers than 0, or has scales of channels",
    ),
    "zeros": (lambda g: PadOp(numbers(g, 2, 4), g.c(0.0), ((0, 1), (0, 0))), None),
    "fields of two scales": (
        joined(0.5, 0.25), "the fields of relay.concatenate have scales of their own"
    ),
    "fields of one scale": (joined(0.5, 0.5), None),
    "channels that mix": (
        on(lambda x: ReshapeOp(x, [8]), 2, 4, scale=CHANNELS, zero=0),
        "relay.reshape mixes channels that have scales of their own",
    ),
    "channels that stay": (
        on(lambda x: ReshapeOp(x, [2, 1, 4]), 2, 4, scale=CHANNELS, zero=0),
        None,
    ),
    "channels of an empty tensor": (
        on(lambda x: ReshapeOp(x, [4, 0], allowzero=True), 0, 4, scale=CHANNELS, zero=0),
        "relay.reshape mixes channels that have scales of their own",
    ),
    # Products.
    "a first factor with scales": (
        product(DenseOp, left={"scale": CHANNELS, "zero": 0}, right={}),
        "the first factor of relay.nn.dense has scales of channels",
    ),
    "products of shorts": (
        product(DenseOp, left={}, right={"dtype": "int16"}), "relay.nn.dense multiplies integers of i16"
    ),
    "a first factor of shorts": (
        product(DenseOp, left={"dtype": "int16"}, right={}), "relay.nn.dense multiplies integers of i16"
    ),
    "a first factor transposed": (
        product(MatmulOp, left={}, right={}, transpose_a=True), "relay.nn.matmul transposes its first factor"
    ),
    "scales of rows": (
        product(MatmulOp, left={}, right={"scale": CHANNELS, "zero": 0, "axis": 0}),
        "the scales of the second factor of relay.nn.matmul are not those of columns",
    ),
    "scales of columns that are rows": (
        product(MatmulOp, left={}, right={"scale": CHANNELS, "zero": 0, "axis": 1}, transpose_b=True),
        "the scales of the second factor of relay.nn.matmul are not those of columns",
    ),
    "scales of columns": (product(MatmulOp, left={}, right={"scale": CHANNELS, "zero": 0}), None),
    "a bias on bytes": (
        lambda g: BiasAddOp(numbers(g, 2, 4), numbers(g, 4)),
        "relay.nn.bias_add adds to integers that are no sums of products",
    ),
    "a bias of bytes": (
        biased({"zero": 0}, {"dtype": "int8"}),
        "relay.nn.bias_add adds to integers that are no sums of products",
    ),
    "sums with a zero point": (
        biased({"zero": 1}, {"zero": 0}), "relay.nn.bias_add adds to integers that are no sums of products"
    ),
    "a bias with another scale": (
        biased({"zero": 0}, {"zero": 0, "scale": 0.25}),
        "the bias of relay.nn.bias_add has a scale of its own",
    ),
    "scales of another axis": (
        biased({"zero": 0, "scale": [0.5, 1.0], "axis": 0}, {"zero": 0}),
        "the scales of relay.nn.bias_add are not those of the axis of its bias",
    ),
    "a bias": (biased({"zero": 0}, {"zero": 0}), None),
}  # fmt: skip


def kept(op: Operation) -> str | None:
    """Why an operator has no form with integers; None when it has one."""
    emit = Emitter()
    try:
        CPU_RULES[type(op)](op, Site(emit, None))
    except Kept as error:
        return str(error)
    finally:
        for each in reversed(emit.ops):
            each.drop_all_references()
    return None


@pytest.mark.parametrize("name", REASONS)
def test_reasons(name: str) -> None:
    """Both sides of each condition."""
    make, expected = REASONS[name]
    g = GuardGraph()
    op = make(g)
    g.show(op)
    g.module()
    assert kept(op) == expected


def test_what_is_listed() -> None:
    """
    Products, and operators on integers that are not elementwise, in order, and nothing of a program without integers.
    What has a form with integers gives no bytes.
    """
    g = GuardGraph()
    x = numbers(g, 1, 2, 4, 4)
    soft = SoftmaxOp(x)
    pooled = MaxPool2DOp(g.op(soft), (2, 2))
    mean = MeanOp(x, [1])
    last = GlobalAvgPool2DOp(x, layout="NHWC")
    dense = DenseOp(g.x(2, 4), g.x(2, 4))
    for op in (pooled, mean, last, dense, ReluOp(x)):
        g.show(op)
    assert kept_in_floating_point(g.module()) == [
        (soft, "relay.nn.softmax has no form with integers"),
        (mean, "its result would have another type"),
        (last, "relay.nn.global_avg_pool2d has the layout NHWC"),
        (dense, "an operand is an argument, not dequantized"),
    ]
    plain = GuardGraph()
    plain.show(DenseOp(plain.x(2, 4), plain.x(2, 4)))
    assert kept_in_floating_point(plain.module()) == []


def affine(g: GuardGraph, scale: Any = 0.5) -> Affine:
    """What integers stand for, with scales of axis 1 where there are several."""
    return Affine(g.c(scale), g.c(0, "int32"), 1, i8)


def test_kinds_of_integers_that_are_near() -> None:
    """One scale for all is that of each channel, whatever the axis; scales of channels are compared where axes are the same."""
    g = GuardGraph()
    value = g.x(2, 4)
    whole, channels = affine(g), affine(g, [0.5] * 4)
    rows = replace(channels, axis=0)
    for one, other in permutations((whole, channels, rows), 2):
        assert one.is_near(other, value) == (whole in (one, other))
    assert channels.is_near(replace(channels, axis=-1), value)
    assert not whole.is_near(affine(g, 0.75), value)
    assert not whole.is_near(replace(whole, dtype=i32), value)
    assert not whole.is_near(replace(whole, zero_point=g.c(1, "int32")), value)


def test_operands_without_integers() -> None:
    """What Relay's rules say of numbers, tuples and constants that are not quantized."""
    g = GuardGraph()
    x, y = g.x(2, 4), g.x(2, 4)
    pair = g.op(TupleOp([x, y]))
    with pytest.raises(Kept, match="^an operand is not quantized$"):
        _ = Quantized(x, None).affine
    with pytest.raises(Kept, match="^an operand is not quantized$"):
        _ = Quantized(pair, (affine(g), affine(g))).affine
    kind = affine(g)
    assert Quantized(x, kind).affine is kind
    site = Site(Emitter(), None)
    field = TupleGetItemOp(pair, 1)
    with pytest.raises(Kept, match="^an operand is not quantized$"):
        RELAY_RULES[TupleGetItemOp].build(field, [Quantized(pair, None)], site)
    kinds = affine(g, 0.25), affine(g, 0.75)
    taken = RELAY_RULES[TupleGetItemOp].build(field, [Quantized(pair, kinds)], site)
    assert taken.kind is kinds[1]
    total = AddOp(x, y)
    with pytest.raises(Kept, match="^no operand is quantized$"):
        RELAY_RULES[AddOp].build(total, [Quantized(x, None), Quantized(y, None)], site)


def test_extremes_with_scales_of_channels() -> None:
    g = GuardGraph()
    x, y = g.x(2, 4, dtype="int8"), g.x(2, 4, dtype="int8")
    args = [Quantized(value, affine(g)) for value in (x, y)]
    op = MaximumOp(x, y)
    found = RELAY_RULES[MaximumOp].build(op, args, Site(Emitter(), args[0].affine))
    assert found.kind is args[0].kind
    with pytest.raises(Kept, match=r"^the result of relay\.maximum has scales of channels$"):
        RELAY_RULES[MaximumOp].build(op, args, Site(Emitter(), affine(g, CHANNELS)))
