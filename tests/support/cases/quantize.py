"""Float graphs between quantised values, for `fake-quantization-to-integer`: both sides of what it rewrites."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from guards.passes import GuardGraph
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue

from xrelay.dialects.conv.conv import Conv2DOp, Conv2DTransposeOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.dtypes import DTYPES
from xrelay.dialects.image.resize import Resize2DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.nn.space import DepthToSpaceOp, PadOp
from xrelay.dialects.pool.adaptive import AdaptiveAvgPool1DOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, MaxPool1DOp, MaxPool2DOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnQuantizeOp
from xrelay.dialects.tensor.binary import AddOp, MaximumOp, MinimumOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reduce import MaxOp, MeanOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp, ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import (
    BroadcastToOp,
    ConcatenateOp,
    SplitOp,
    StridedSliceOp,
    TransposeOp,
)
from xrelay.dialects.tensor.unary import (
    AbsOp,
    ClipOp,
    CosOp,
    ErfOp,
    ExpOp,
    LeakyReluOp,
    LogOp,
    ReluOp,
    RsqrtOp,
    SigmoidOp,
    SqrtOp,
    TanhOp,
)

QUARTERS = (0.5, 0.25, 1.0)
"""Scales of three channels."""


class Quantized(GuardGraph):
    """A graph of quantised parameters."""

    def q(
        self, *shape: int, scale: Any = 0.5, zero: Any = 0, dtype: str = "int8", axis: int = -1
    ) -> SSAValue:
        """A dequantized parameter."""
        parameters = self.c(scale), self.c(zero, "int32")
        return self.op(QnnDequantizeOp(self.x(*shape, dtype=dtype), *parameters, axis=axis))


Build = Callable[[Quantized], SSAValue]


@dataclass(frozen=True)
class Case:
    """A float graph between quantised values, and how it ends."""

    name: str
    build: Build
    scale: Any = 0.5
    zero: Any = 0
    dtype: str = "int8"
    axis: int = -1
    steps: int = 1
    """By how many integers results may be off."""
    extremes: bool = True
    """Whether the largest integers are tried: sums of i32 wrap around where those of numbers do not."""

    def module(self, g: Quantized) -> ModuleOp:
        value = self.build(g)
        dtype = next(each.type for each in DTYPES if each.name == self.dtype)
        scale, zero = g.c(self.scale), g.c(self.zero, "int32")
        g.show(QnnQuantizeOp(value, scale, zero, out_dtype=dtype, axis=self.axis))
        return g.module()


def unary(
    op: Callable[..., Any], *args: Any, **options: Any
) -> Callable[[SSAValue, Quantized], SSAValue]:
    return lambda x, g: g.op(op(x, *args, **options))


def on(*shape: int, of: Sequence[Any], **quantized: Any) -> Build:
    """Operators after each other on a dequantized parameter."""

    def build(g: Quantized) -> SSAValue:
        x = g.q(*shape, **quantized)
        for step in of:
            x = step(x, g)
        return x

    return build


def conv(op: Any, image: Sequence[int], kernel: Sequence[int], weights: Any = None, **options: Any):
    def build(g: Quantized) -> SSAValue:
        x = g.q(*image, scale=0.25, zero=3)
        return g.op(op(x, g.q(*kernel, **(weights or {})), **options))

    return build


def two(op: Any, one: Any = None, other: Any = None, shape: Sequence[int] = (2, 3)) -> Build:
    return lambda g: g.op(op(g.q(*shape, **(one or {})), g.q(*shape, **(other or {}))))


def constant(op: Any, number: float, *, left: bool = False, **quantized: Any) -> Build:
    def build(g: Quantized) -> SSAValue:
        operands = [g.q(2, 3, **quantized), g.c(number)]
        return g.op(op(*(operands[::-1] if left else operands)))

    return build


def biased(
    g: Quantized, *, bias: Any = None, scale: Any = 0.5, axis: int = 1, x: Any = None
) -> SSAValue:
    """A product of channels with a bias: dequantized, or the constant `bias`."""
    product = g.op(DenseOp(g.q(2, 4), g.q(3, 4, scale=QUARTERS, zero=(0, 0, 0), axis=0)))
    if bias is not None:
        return g.op(BiasAddOp(product, g.c(bias), axis=axis))
    return g.op(BiasAddOp(product, g.q(3, scale=scale, zero=(0, 0, 0), dtype="int32"), axis=axis))


def small_bias(g: Quantized) -> SSAValue:
    return g.op(BiasAddOp(g.q(2, 3), g.q(3)))


def joined(g: Quantized, dtypes: Sequence[str]) -> SSAValue:
    fields = [g.q(2, 2, scale=0.25 * (i + 1), zero=i, dtype=d) for i, d in enumerate(dtypes)]
    return g.op(ConcatenateOp(g.op(TupleOp(fields)), axis=1))


def padded(g: Quantized, value: Any, **options: Any) -> SSAValue:
    filling = g.q(scale=0.25, zero=1) if value is None else g.c(value)
    x = g.q(2, 3, **{"scale": 0.5, "zero": 7, **options})
    return g.op(PadOp(x, filling, pad_width=((0, 0), (1, 2))))


def of_parameter(g: Quantized) -> SSAValue:
    return g.op(AddOp(g.q(2), g.x(2)))


def products(g: Quantized) -> SSAValue:
    x, w = g.q(2, 4), g.q(3, 4, scale=QUARTERS, zero=(0, 0, 0), axis=0)
    return g.op(AddOp(*(g.op(DenseOp(x, w)) for _ in range(2))))


def nested(g: Quantized) -> SSAValue:
    inner = g.op(DenseOp(g.q(2, 4), g.q(4, 4)))
    return g.op(DenseOp(inner, g.q(3, 4)))


CHANNELS = {"scale": QUARTERS, "zero": (0, 1, -2)}
SMALL = {"scale": 0.03, "zero": 5}
WIDE_OUT = {"scale": 8.0, "zero": 1}
BELOW: Any = lambda x, g: g.op(PadOp(x, g.c(0.0), pad_width=((1, 0), (0, 0))))
FIELD = unary(TupleGetItemOp, 1)
FUNCTIONS = (AbsOp, ErfOp, ExpOp, LogOp, RsqrtOp, SigmoidOp, SqrtOp, TanhOp)
CHANGED = (
    Case("another scale", on(2, 3, of=()), scale=0.2, zero=3),
    Case("the same scale", on(2, 3, of=()), steps=0),
    Case("one element", on(2, 3, of=(), scale=[0.5], zero=[2]), scale=0.75),
    Case("rank 0", on(of=(unary(ReluOp),), zero=4), zero=4, steps=0),
    Case("empty", on(0, 3, of=(unary(ReluOp),), zero=4), zero=4),
    Case("conv2d", conv(Conv2DOp, (1, 2, 4, 4), (3, 2, 2, 2), padding=(1, 0)), **WIDE_OUT),
    Case("conv2d of uint8", conv(Conv2DOp, (1, 2, 4, 4), (3, 2, 2, 2), {"dtype": "uint8", "zero": 130}), **WIDE_OUT),
    Case("conv2d of channels", conv(Conv2DOp, (1, 2, 4, 4), (3, 2, 2, 2), {**CHANNELS, "axis": 0}), **WIDE_OUT),
    Case("conv2d of NHWC", conv(Conv2DOp, (1, 4, 4, 2), (2, 2, 2, 3), {**CHANNELS, "axis": 3},
                                data_layout="NHWC", kernel_layout="HWIO"), **WIDE_OUT),
    Case("conv2d_transpose", conv(Conv2DTransposeOp, (1, 2, 3, 3), (2, 3, 2, 2), strides=(2, 2), kernel_layout="IOHW"), **WIDE_OUT),
    Case("dense of three axes", lambda g: g.op(DenseOp(g.q(2, 2, 4), g.q(3, 4, scale=QUARTERS, zero=(0, 0, 0), axis=0))), **WIDE_OUT),
    Case("batch_matmul", lambda g: g.op(BatchMatmulOp(g.q(2, 3, 4), g.q(2, 5, 4), transpose_b=True)), **WIDE_OUT),
    Case("batch_matmul as it lies", lambda g: g.op(BatchMatmulOp(g.q(2, 4, 3), g.q(2, 4, 5, zero=1), transpose_a=True)), **WIDE_OUT),
    Case("bias", partial(biased, scale=tuple(q / 2 for q in QUARTERS)), scale=4.0, extremes=False),
    Case("constant bias", partial(biased, bias=[1.3, -2.2, 0.1]), scale=4.0),
    Case("sums of products", products, scale=4.0),
    Case("reshape", on(2, 3, of=(unary(ReshapeOp, (3, 2)),), zero=3), zero=3, steps=0),
    Case("reshape of channels", on(2, 3, 4, of=(unary(ReshapeOp, (1, 2, 3, 2, 2)),), **CHANNELS, axis=1), **WIDE_OUT),
    Case("transpose of channels", on(2, 3, 4, of=(unary(TransposeOp, (2, 0, 1)), unary(ReluOp)), **CHANNELS, axis=1), **WIDE_OUT),
    Case("flattened", on(2, 3, 4, of=(unary(BatchFlattenOp),)), scale=0.25),
    Case("axes of channels", on(1, 3, 2, of=(unary(SqueezeOp, (0,)), unary(ExpandDimsOp, 1)), **CHANNELS, axis=1), **WIDE_OUT),
    Case("broadcast channels", on(3, 1, of=(unary(BroadcastToOp, (2, 3, 4)),), **CHANNELS, axis=0), **WIDE_OUT),
    Case("slice beside channels", on(3, 4, of=(unary(StridedSliceOp, (1,), (3,), axes=(1,)),), **CHANNELS, axis=0), **WIDE_OUT),
    Case("max_pool2d of channels", on(1, 3, 4, 4, of=(unary(MaxPool2DOp, (2, 2)), unary(ReluOp)), **CHANNELS, axis=1), **WIDE_OUT),
    Case("depth_to_space", on(1, 4, 2, 2, of=(unary(DepthToSpaceOp, 2),)), scale=0.25),
    Case("resize2d", on(1, 2, 2, 2, of=(unary(Resize2DOp, (4, 4), method="nearest_neighbor"),), zero=2), zero=2),
    Case("the largest of no elements", on(0, 3, of=(unary(MaxOp, (0,)),), zero=4), zero=4, steps=0),
    Case("empty maxima", on(0, 3, of=(unary(MaxOp, (1,)),), zero=4), zero=4),
    Case("max beside channels", on(2, 3, of=(unary(MaxOp, (0,)),), **CHANNELS, axis=1), **WIDE_OUT),
    Case("topk", on(2, 5, of=(unary(TopkOp, 2, ret_type="values"),)), steps=0),
    Case("split", on(2, 4, of=(unary(SplitOp, 2, axis=1), FIELD), zero=1), zero=1, steps=0),
    Case("concatenate", partial(joined, dtypes=("int8", "int8")), zero=-4),
    Case("relu of channels", on(2, 3, of=(unary(ReluOp),), **CHANNELS, axis=1), **CHANNELS, axis=1, steps=0),
    Case("clip", on(2, 9, of=(unary(ClipOp, -1.3, 4.9),), scale=0.3, zero=-7), scale=0.3, zero=-7, steps=0),
    Case("clip beyond", on(2, 9, of=(unary(ClipOp, -1e9, 3.0),)), steps=0),
    Case("clip of channels", on(2, 3, of=(unary(ClipOp, -1.3, 4.9),), **CHANNELS, axis=1), **CHANNELS, axis=1, steps=0),
    Case("clip of one zero point", on(2, 3, of=(unary(ClipOp, -1.3, 4.9),), scale=QUARTERS, axis=1), scale=QUARTERS, axis=1, steps=0),
    Case("mean", on(2, 5, of=(unary(MeanOp, (1,)),), zero=3), zero=3),
    Case("mean beside channels", on(4, 3, of=(unary(MeanOp, (0,), keepdims=True),), **CHANNELS, axis=1), scale=4.0),
    Case("avg_pool2d", on(1, 2, 4, 4, of=(unary(AvgPool2DOp, (2, 2)),), zero=3), scale=0.25, zero=9, steps=2),
    Case("avg_pool2d of padding", on(1, 2, 4, 4, of=(unary(AvgPool2DOp, (2, 2), padding=(1, 1), count_include_pad=True),), zero=3), steps=2),
    Case("avg_pool2d within", on(1, 2, 4, 4, of=(unary(AvgPool2DOp, (2, 2), padding=(1, 1)),), zero=3), zero=9, steps=2),
    Case("avg_pool2d of one scale", on(1, 2, 4, 4, of=(unary(AvgPool2DOp, (2, 2)),), zero=3), zero=3),
    Case("global_avg_pool2d", on(1, 2, 3, 3, of=(unary(GlobalAvgPool2DOp),), zero=3), scale=0.25, steps=2),
    Case("adaptive_avg_pool1d", on(1, 2, 6, of=(unary(AdaptiveAvgPool1DOp, (2,)),), zero=3), scale=0.25, steps=2),
    Case("leaky_relu", on(2, 9, of=(unary(LeakyReluOp, 0.25),), zero=3), scale=0.25, zero=-5, steps=2),
    *(Case(op.name, on(2, 40, of=(unary(op),), **SMALL), scale=0.02, zero=-3) for op in FUNCTIONS),
    Case("add", two(AddOp, {"zero": 2}, {"scale": 0.3}), scale=0.7, zero=-1, steps=2),
    Case("add of channels", two(AddOp, {**CHANNELS, "axis": 1}, {"scale": 0.3}), scale=0.7, steps=2),
    Case("subtract", two(SubtractOp, {"zero": 2}, {"scale": 0.3}), scale=0.7, zero=-1, steps=2),
    Case("multiply", two(MultiplyOp, {"zero": 2}, {"scale": 0.3}), scale=8.0, zero=-1),
    Case("minimum", two(MinimumOp, {"zero": 2}, {"scale": 0.3}), scale=0.7, zero=-1),
    Case("maximum", two(MaximumOp, {}, {"scale": 0.3}), steps=1),
    Case("constant summand", constant(AddOp, 1.7), scale=1.0, steps=3),
    Case("constant on the left", constant(SubtractOp, 1.7, left=True), scale=1.0, steps=3),
    Case("constant factor", constant(MultiplyOp, 2.0), scale=2.0),
    Case("a limit out of reach", constant(MinimumOp, 1e6), steps=0),
    Case("a low limit out of reach", constant(MaximumOp, -1e6), steps=0),
    Case("pad", partial(padded, value=0.0), zero=7, steps=0),
    Case("pad of uint8", partial(padded, value=0.0, dtype="uint8", zero=200), zero=200, dtype="uint8", steps=0),
    Case("quantized padding", partial(padded, value=None), zero=7),
    Case("padded channels", on(2, 3, of=(lambda x, g: g.op(PadOp(x, g.c(0.0), pad_width=((1, 0), (0, 0)))),)), zero=0),
)  # fmt: skip
KEPT = (
    Case("a parameter", of_parameter),
    Case("no rule", on(2, of=(unary(CosOp),))),
    Case("channels that are reduced", on(2, 3, of=(unary(MaxOp, (1,)),), **CHANNELS, axis=1)),
    Case("the mean of no elements", on(0, 3, of=(unary(MeanOp, (0,), keepdims=True),))),
    Case("channels that are averaged", on(2, 3, of=(unary(MeanOp, (1,)),), **CHANNELS, axis=1)),
    Case("padding beside channels", on(2, 3, of=(BELOW,), **CHANNELS, axis=1), scale=QUARTERS, axis=1),
    Case("channels that are joined", on(2, 3, 4, of=(unary(ReshapeOp, (2, 12)),), **CHANNELS, axis=1)),
    Case("channels that are sliced", on(3, 4, of=(unary(StridedSliceOp, (1,), (3,), axes=(0,)),), **CHANNELS, axis=0)),
    Case("channels that are turned around", on(3, 4, of=(unary(StridedSliceOp, (2,), (-4,), (-1,), axes=(0,)),), **CHANNELS, axis=0)),
    Case("channels that are sorted", on(3, of=(unary(TopkOp, 2, ret_type="values"),), **CHANNELS, axis=0)),
    Case("channels that are split", on(3, 4, of=(unary(SplitOp, (1,), axis=0), FIELD), **CHANNELS, axis=0)),
    Case("another scale of channels", on(1, 3, 4, of=(unary(BroadcastToOp, (2, 3, 4)),), scale=(0.5,) * 4, zero=(0, 1, 2, 3), axis=2), axis=2, scale=(0.5, 1.0, 2.0, 3.0), zero=(0,) * 4),
    Case("rows and columns with scales", on(1, 1, 3, 3, of=(unary(MaxPool2DOp, (2, 2)),), **CHANNELS, axis=3)),
    Case("channels of the result", on(2, 3, of=()), scale=QUARTERS, axis=1),
    Case("channels on another axis", on(3, 3, of=(), **CHANNELS, axis=0), **CHANNELS, axis=1),
    Case("scales of input channels", conv(Conv2DOp, (1, 3, 4, 4), (3, 3, 2, 2), {**CHANNELS, "axis": 1})),
    Case("scales of channels of the image", lambda g: g.op(DenseOp(g.q(2, 3, **CHANNELS, axis=1), g.q(2, 3)))),
    Case("a bias of bytes", small_bias),
    Case("a bias of another axis", lambda g: g.op(BiasAddOp(g.op(DenseOp(g.q(3, 4), g.q(3, 4, scale=QUARTERS, zero=(0, 0, 0), axis=0))), g.c([1.0, 2.0, 3.0]), axis=0))),
    Case("padding that counts", on(1, 2, 4, 4, of=(unary(AvgPool2DOp, (2, 2), padding=(1, 1), count_include_pad=True),)), zero=9),
    Case("a large summand", constant(AddOp, 100.0)),
    Case("a small factor", constant(MultiplyOp, 0.3)),
    Case("a limit below all", constant(MinimumOp, -1e6)),
    Case("a limit above all", constant(MaximumOp, 1e6)),
    Case("a large padding", partial(padded, value=1e6)),
    Case("a constant among channels", on(2, 3, of=(lambda x, g: g.op(AddOp(x, g.c(1.0))),), **CHANNELS, axis=1)),
    Case("signs that change", on(2, of=(unary(SigmoidOp),), **SMALL), scale=0.02, dtype="uint8"),
    Case("sums of bytes of other signs", two(AddOp, {"dtype": "uint8"}), dtype="int8"),
    Case("fields of other dtypes", partial(joined, dtypes=("int8", "uint8"))),
    Case("places of topk", on(2, 5, of=(unary(TopkOp, 2, ret_type="both"), unary(TupleGetItemOp, 0)))),
    Case("products of sums", nested, **WIDE_OUT),
    Case("an operator that is not asked for", on(1, 2, 4, of=(unary(MaxPool1DOp, (2,)),))),
    Case("functions of wide integers", on(2, of=(unary(SigmoidOp),), dtype="int32")),
    Case("elements of another dtype", on(1, 2, 2, 2, of=(unary(Resize2DOp, (4, 4), out_dtype=f32),))),
)  # fmt: skip
