"""Guards of the rules by which operators on dequantized integers are computed with integers, one by one."""

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.image.resize import Resize2DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.nn.space import DepthToSpaceOp, PadOp
from xrelay.dialects.pool.pool import MaxPool2DOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnQuantizeOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.reduce import MaxOp
from xrelay.dialects.tensor.reshape import ReshapeOp, SqueezeOp
from xrelay.dialects.tensor.transform import (
    BroadcastToOp,
    ConcatenateOp,
    StridedSliceOp,
    TransposeOp,
)
from xrelay.dialects.tensor.unary import CastOp, ClipOp, ReluOp

from .passes import Build, GuardGraph, GuardTable

ONE_BY_ONE = GuardTable('fake-quantization-to-integer{rules="cpu"}', units=0, special=False)

Moves = Callable[[SSAValue], Operation]
INTEGERS = {"int8": i8, "int32": i32}


def powers(g: GuardGraph, count: int) -> SSAValue:
    """Scales of channels, all of them different, by which products are exact."""
    return g.c(2.0 ** (g.rng.permutation(count) - 3))


def numbers(
    g: GuardGraph,
    *shape: int,
    axis: int | None = None,
    scale: Any = 0.5,
    zero: Any = 0,
    dtype: str = "int8",
) -> SSAValue:
    """Dequantized integers: of one scale, or of one for each channel along an axis."""
    count = 0 if axis is None else shape[axis]
    scales = g.c(scale) if axis is None else powers(g, count)
    zeros = g.c(zero if axis is None else [zero] * count, "int32")
    data = g.x(*shape, dtype=dtype)
    return g.op(QnnDequantizeOp(data, scales, zeros, axis=-1 if axis is None else axis))


def on(move: Moves, *shape: int, **kind: Any) -> Build:
    """An operator on dequantized integers."""
    return lambda g: g.show(move(numbers(g, *shape, **kind)))


def two(op: Any, left: Sequence[int], right: Sequence[int], **options: Any) -> Build:
    """An operator on two; `left_…` and `right_…` say what integers they are."""

    def kind(side: str) -> dict[str, Any]:
        names = [name for name in options if name.startswith(side)]
        return {name.removeprefix(side): options[name] for name in names}

    rest = {name: value for name, value in options.items() if name[:5] not in ("left_", "right")}

    def build(g: GuardGraph) -> None:
        values = numbers(g, *left, **kind("left_")), numbers(g, *right, **kind("right_"))
        g.show(op(*values, **rest))

    return build


# -- operators that move integers -------------------------------------------------------------------

IMAGE = (2, 4, 3, 3)
MOVES: dict[str, tuple[Moves, Sequence[int], Sequence[int]]] = {
    "max_pool2d": (lambda x: MaxPool2DOp(x, (2, 2)), IMAGE, (0, 1)),
    "resize2d": (lambda x: Resize2DOp(x, (5, 2), method="nearest_neighbor"), IMAGE, (0, 1)),
    "depth_to_space": (lambda x: DepthToSpaceOp(x, 2), IMAGE, (0,)),
    "strided_slice": (lambda x: StridedSliceOp(x, [0, 1, 0, 0], [2, 3, 3, 3]), IMAGE, (0, 2, 3)),
    "every second": (lambda x: StridedSliceOp(x, [0], [3], [2], axes=[2]), IMAGE, (0, 1, 3)),
    "transpose": (lambda x: TransposeOp(x, (2, 0, 3, 1)), IMAGE, (0, 1, 2, 3)),
    "reshape": (lambda x: ReshapeOp(x, (2, 4, 9)), IMAGE, (0, 1)),
    "squeeze": (lambda x: SqueezeOp(x, [1]), (2, 1, 3), (0, 1, 2)),
    "max": (lambda x: MaxOp(x, [1]), (2, 3, 4), (0, 2)),
    "max with axes": (lambda x: MaxOp(x, [0], keepdims=True), (2, 3, 4), (1, 2)),
    "broadcast_to": (lambda x: BroadcastToOp(x, (5, 2, 3)), (2, 3), (0, 1)),
    "broadcast_to longer": (lambda x: BroadcastToOp(x, (2, 3)), (1, 3), (0, 1)),
}
"""Operators, what they are tried on, and the axes whose channels stay together, or are one only."""

for name, (move, shape, kept) in MOVES.items():
    ONE_BY_ONE.changes(name, on(move, *shape, zero=3))
    for axis in range(len(shape)):
        ONE_BY_ONE.add(axis in kept, f"{name}, scales of axis {axis}", on(move, *shape, axis=axis))


def taken(along: int | None, **kind: Any) -> Build:
    return lambda g: g.show(
        TakeOp(numbers(g, 3, 3, 3, **kind), g.c([2, 0, 1], "int32"), axis=along)
    )


for along in (None, 0, 1, 2):
    ONE_BY_ONE.changes(f"take along {along}", taken(along))
    for axis in range(3):
        stays = along is not None and axis < along
        ONE_BY_ONE.add(stays, f"take along {along}, scales of {axis}", taken(along, axis=axis))

ONE_BY_ONE.keeps("a scale that is negative", on(MOVES["max_pool2d"][0], *IMAGE, scale=-0.5))
ONE_BY_ONE.keeps("numbers between others", on(lambda x: Resize2DOp(x, (5, 2)), *IMAGE))


def relaid(layout: str, **kind: Any) -> Build:
    return on(lambda x: LayoutTransformOp(x, "NCHW", layout), *IMAGE, **kind)


ONE_BY_ONE.changes("another order", relaid("NHWC"))
ONE_BY_ONE.changes("whole blocks", relaid("NCHW4c"))
ONE_BY_ONE.keeps("another order of channels", relaid("NHWC", axis=1))
ONE_BY_ONE.keeps("parts of blocks", relaid("NCHW3c"))


def padded(value: Any, mode: str = "constant", **kind: Any) -> Build:
    def build(g: GuardGraph) -> None:
        fill = g.x() if value is None else g.c(value)
        widths = [(0, 0), (0, 0), (1, 0), (0, 1)]
        g.show(PadOp(numbers(g, *IMAGE, **kind), fill, widths, pad_mode=mode))

    return build


for zero in (0, 3, -128):
    ONE_BY_ONE.changes(f"zeros around, of {zero}", padded(0.0, zero=zero))
ONE_BY_ONE.keeps("ones around", padded(1.0))
ONE_BY_ONE.keeps("an unknown number around", padded(None))
ONE_BY_ONE.keeps("the edge around", padded(0.0, "edge"))
ONE_BY_ONE.keeps("zeros around channels", padded(0.0, axis=1))


def joined(*kinds: dict[str, Any]) -> Build:
    def build(g: GuardGraph) -> None:
        fields = [numbers(g, 2, 3, **kind) for kind in kinds]
        g.show(ConcatenateOp(g.op(TupleOp(fields)), axis=1))

    return build


ONE_BY_ONE.changes("fields of one kind", joined({"zero": 2}, {"zero": 2}, {"zero": 2}))
ONE_BY_ONE.keeps("fields of two scales", joined({}, {}, {"scale": 0.25}))
ONE_BY_ONE.keeps("fields of two zero points", joined({}, {"zero": 1}))
ONE_BY_ONE.keeps("fields of channels", joined({"axis": 0}, {"axis": 0}))

# -- products ---------------------------------------------------------------------------------------

PRODUCTS: tuple[tuple[str, Any, Sequence[int], Sequence[int], dict[str, Any]], ...] = (
    ("dense", DenseOp, (2, 4), (3, 4), {}),
    ("conv2d", Conv2DOp, (2, 2, 3, 3), (2, 2, 2, 2), {}),
    ("batch_matmul", BatchMatmulOp, (2, 3, 4), (2, 5, 4), {"transpose_b": True}),
    ("matmul", MatmulOp, (2, 4), (4, 3), {}),
    ("transposed matmul", MatmulOp, (2, 4), (3, 4), {"transpose_b": True}),
)
for name, op, left, right, options in PRODUCTS:
    centred = {**options, "left_zero": 3}
    ONE_BY_ONE.changes(name, two(op, left, right, **centred))
    ONE_BY_ONE.keeps(f"{name} of channels", two(op, left, right, left_axis=0, **options))
    for side in ("left_", "right_"):
        longer = two(op, left, right, **options, **{f"{side}dtype": "int32"})
        ONE_BY_ONE.keeps(f"{name}, long integers {side}", longer)
for transposed, columns in ((False, 1), (True, 0)):
    shape = (3, 4) if transposed else (4, 3)
    for axis in (0, 1):
        product = two(MatmulOp, (2, 4), shape, transpose_b=transposed, right_axis=axis)
        ONE_BY_ONE.add(axis == columns, f"matmul {transposed}, scales of axis {axis}", product)
ONE_BY_ONE.keeps("a transposed first factor", two(MatmulOp, (4, 4), (4, 4), transpose_a=True))


def biased(
    *, axis: int | None = None, channels: int = 1, factor: float = 1.0, **kind: Any
) -> Build:
    """A bias along the axis `channels` of sums, whose scales are along `axis`; it has `factor` times theirs."""

    def build(g: GuardGraph) -> None:
        given: dict[str, Any] = {"dtype": "int32", "zero": 0, "bias_dtype": "int32", **kind}
        scale = powers(g, 3) if axis is not None else g.c(0.25)
        other = scale if factor == 1 else g.c(0.25 * factor)
        zeros = [given["zero"]] * 3 if axis is not None else given["zero"]
        zero = g.c(zeros, "int32")
        place = -1 if axis is None else axis
        # Of small integers, whose sums are within range.
        data, bias = (
            g.op(CastOp(g.x(*shape, dtype="int8"), INTEGERS[given[name]]))
            for shape, name in (((3, 3, 3), "dtype"), ((3,), "bias_dtype"))
        )
        data = g.op(QnnDequantizeOp(data, scale, zero, axis=place))
        whole = g.op(QnnDequantizeOp(bias, other, zero, axis=0 if axis is not None else -1))
        g.show(BiasAddOp(data, whole, axis=channels))

    return build


ONE_BY_ONE.changes("a bias", biased(), expects="~nn.bias_add")
for axis in range(3):
    for channels in range(3):
        case = biased(axis=axis, channels=channels)
        ONE_BY_ONE.add(axis == channels, f"scales of {axis}, a bias of {channels}", case)
ONE_BY_ONE.keeps("a bias of short integers", biased(bias_dtype="int8"))
ONE_BY_ONE.keeps("a bias of what are no sums", biased(dtype="int8", bias_dtype="int8"))
ONE_BY_ONE.keeps("a bias of what is not centred", biased(zero=1))
ONE_BY_ONE.keeps("a bias with another scale", biased(factor=2.0))

# -- ends -------------------------------------------------------------------------------------------


def ended(
    *bounds: Callable[[SSAValue], Operation],
    scale: Any = 0.5,
    zero: Any = 0,
    known: bool = True,
    **kind: Any,
) -> Build:
    """Bounds of dequantized integers that are quantized again."""

    def build(g: GuardGraph) -> None:
        value = numbers(g, 2, 3, **kind)
        for bound in bounds:
            value = g.op(bound(value))
        out = g.c(scale) if known else g.x()
        g.show(QnnQuantizeOp(value, out, g.c(zero, "int32"), out_dtype=i8))

    return build


def low(x: SSAValue) -> Operation:
    return ClipOp(x, -64.0, 6.0)


def clip(x: SSAValue) -> Operation:
    return ClipOp(x, -1.0, 6.0)


ONE_BY_ONE.changes("there and back", ended())
ONE_BY_ONE.changes("there and back above 0", ended(ReluOp), expects="+maximum !minimum")
ONE_BY_ONE.changes("there and back below 6", ended(low), expects="+minimum !maximum")
ONE_BY_ONE.changes("there and back within bounds", ended(ReluOp, clip))
ONE_BY_ONE.changes("sums within bounds", ended(clip, dtype="int32", scale=0.25, zero=3))
ONE_BY_ONE.keeps("to another scale", ended(scale=0.25))
ONE_BY_ONE.keeps("to another zero point", ended(zero=1))
ONE_BY_ONE.keeps("sums above 0 to an unknown scale", ended(ReluOp, dtype="int32", known=False))

TABLES = (ONE_BY_ONE,)
