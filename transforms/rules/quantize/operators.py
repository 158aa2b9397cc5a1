"""
What operators on numbers become on the integers that stand for them: one line an operator in RELAY_RULES, for what
Relay's pass knows, or in MORE_RULES.

A rule gets the operator, its operands on integers (`Quantized`) and the place where it emits; it raises Kept, or leaves
the VerifyException of an operator, where the numbers would be others than roundings explain. What stands for what
afterwards is part of the result.

Source: Relay's functions `FTVMFakeQuantizationToInteger`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp, Conv2DTransposeOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.adaptive import AdaptiveAvgPool1DOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp
from xrelay.dialects.qnn import arithmetic as qnn
from xrelay.dialects.qnn.conversion import QnnConcatenateOp, QnnQuantizeOp
from xrelay.dialects.qnn.products import (
    QnnBatchMatmulOp,
    QnnConv2DOp,
    QnnConv2DTransposeOp,
    QnnDenseOp,
    QnnProductOp,
)
from xrelay.dialects.tensor.binary import AddOp, MaximumOp, MinimumOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.layout import layout_of
from xrelay.dialects.tensor.reduce import MeanOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp
from xrelay.dialects.tensor.unary import (
    AbsOp,
    CastOp,
    ClipOp,
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
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.emitting import cast
from xrelay.transforms.rules.quantize.axes import AVERAGED, MORE_MOVES, RELAY_MOVES
from xrelay.transforms.rules.quantize.values import (
    Affine,
    IntegerRule,
    Kept,
    Quantized,
    Site,
    requantized,
)
from xrelay.transforms.rules.rewriting import element_type_of, shape_of

MOVES = {**RELAY_MOVES, **MORE_MOVES, **AVERAGED}
FINEST_FACTOR = 1 / 128
"""How far, relative to itself, a constant factor may move when it is quantized."""


def moved_kind(op: Operation, kind: Affine) -> Affine:
    """What the result of an operator stands for that moves integers as they are. Raises Kept where channels mix."""
    if kind.is_whole:
        return kind
    axis = MOVES[type(op)](op, kind.axis_of(op.operands[0]))
    if axis is None:
        raise Kept(f"{op.name} mixes channels that have scales of their own")
    return replace(kind, axis=axis)


def _on_integers(op: RelayOp, args: list[Quantized], site: Site) -> SSAValue:
    """The same operator on integers."""
    return site.emit(type(op).of([arg.value for arg in args], op.properties))


# -- operators that move integers -----------------------------------------------------------------


def same(op: RelayOp, args: list[Quantized], site: Site) -> Quantized:
    """An operator that does the same with integers."""
    kind = moved_kind(op, args[0].affine)
    value = _on_integers(op, args, site)
    if element_type_of(value) != kind.dtype:
        raise Kept(f"{op.name} gives other elements than it takes")
    return Quantized(value, kind)


def _topk(op: TopkOp, args: list[Quantized], site: Site) -> Quantized:
    if op.ret_type.data != "values":
        raise Kept(f'\'ret_type\' of {op.name} is "{op.ret_type.data}", expected "values"')
    return same(op, args, site)


def _split(op: SplitOp, args: list[Quantized], site: Site) -> Quantized:
    kind = moved_kind(op, args[0].affine)
    return Quantized(_on_integers(op, args, site), (kind,) * len(op.result.type.types))


def _tuple(op: TupleOp, args: list[Quantized], site: Site) -> Quantized:
    kinds = tuple(arg.affine for arg in args)
    return Quantized(site.emit(TupleOp([arg.value for arg in args])), kinds)


def _field(op: TupleGetItemOp, args: list[Quantized], site: Site) -> Quantized:
    kinds = args[0].kind
    if not isinstance(kinds, tuple):
        raise Kept("an operand is not quantized")
    index = op.index.value.data
    return Quantized(site.emit(TupleGetItemOp(args[0].value, index)), kinds[index])


def _pad(op: PadOp, args: list[Quantized], site: Site) -> Quantized:
    data, filling = args
    kind = moved_kind(op, data.affine)
    if filling.kind is None:
        filling = _held_constant(op, filling, data.affine, site)
    elif not filling.affine.is_near(data.affine, data.value):
        filling = requantized(site.emit, filling, data.affine, kind.dtype)
    return Quantized(_on_integers(op, [data, filling], site), kind)


def _relu(op: ReluOp, args: list[Quantized], site: Site) -> Quantized:
    kind = args[0].affine
    zero = kind.zero_point
    if not kind.is_whole:
        zero = _along(zero, kind, args[0].value, site)
    if element_type_of(zero) != kind.dtype:
        zero = site.folded(CastOp(zero, kind.dtype))
    return Quantized(site.emit(MaximumOp(args[0].value, zero)), kind)


def _along(parameter: SSAValue, kind: Affine, value: SSAValue, site: Site) -> SSAValue:
    """A parameter of channels, in a shape that broadcasts with a value."""
    if not shape_of(parameter):
        return parameter
    axis, rank = kind.axis_of(value), len(shape_of(value))
    return site.folded(ReshapeOp(parameter, [-1 if each == axis else 1 for each in range(rank)]))


def _clip(op: ClipOp, args: list[Quantized], site: Site) -> Quantized:
    """Bounds are rounded as `qnn.quantize` rounds."""
    data, kind = args[0], args[0].affine
    bounds = np.array([op.a_min.value.data, op.a_max.value.data])
    scale, zero = known_array(kind.scale), known_array(kind.zero_point)
    if kind.is_whole and scale is not None and zero is not None:
        limits = np.iinfo(dtype_of(kind.dtype))
        places = np.rint(bounds / np.float64(scale.item())) + zero.item()
        low, high = np.clip(places, limits.min, limits.max).tolist()
        return Quantized(site.emit(ClipOp(data.value, low, high)), kind)
    value = data.value
    for bound, extreme in zip(bounds, (MaximumOp, MinimumOp), strict=True):
        shape = [1] * len(shape_of(value)) if not kind.is_whole else []
        if shape:
            axis = kind.axis_of(value)
            shape[axis] = shape_of(value)[axis]
        numbers = site.emit.constant(np.full(shape, bound, np.float32))
        integers = QnnQuantizeOp(
            numbers, kind.scale, kind.zero_point, out_dtype=kind.dtype, axis=kind.axis
        )
        value = site.emit(extreme(value, site.emit(integers)))
    return Quantized(value, kind)


# -- constants ------------------------------------------------------------------------------------


def _constant_numbers(source: Quantized, kind: Affine) -> tuple[Array, Array]:
    """The elements of a constant, and what they are once quantized. Raises Kept where that is not known."""
    numbers = known_array(source.value)
    scale, zero = known_array(kind.scale), known_array(kind.zero_point)
    if not kind.is_whole or scale is None or zero is None or numbers is None:
        raise Kept(
            "a constant meets integers whose scale differs between channels, or is not known"
        )
    limits = np.iinfo(dtype_of(kind.dtype))
    exact = np.asarray(numbers, np.float64)
    integers = np.clip(np.rint(exact / scale.item()) + zero.item(), limits.min, limits.max)
    return exact, (integers - zero.item()) * np.float64(scale.item())


def quantized_constant(source: Quantized, kind: Affine, site: Site, axis: int = -1) -> Quantized:
    """A constant as integers that stand for the same as others."""
    op = QnnQuantizeOp(
        source.value,
        kind.scale,
        kind.zero_point,
        out_dtype=kind.dtype,
        axis=axis,
    )
    return Quantized(site.emit(op), kind)


def _held_constant(op: Operation, source: Quantized, kind: Affine, site: Site) -> Quantized:
    if not _fits(op, source, kind):
        raise Kept(f"the integers of {op.name} do not hold its constant")
    return quantized_constant(source, kind, site)


def _fits(op: Operation, source: Quantized, kind: Affine) -> bool:
    """Whether a constant operand of `op` means the same once it is quantized as the other operand is."""
    exact, found = _constant_numbers(source, kind)
    scale = known_array(kind.scale)
    assert scale is not None
    step = np.float64(scale.item())
    if isinstance(op, MultiplyOp):
        return bool(np.all(np.abs(found - exact) <= FINEST_FACTOR * np.abs(exact)))
    # Beyond the numbers that the other operand can be it does not matter how far.
    off = found - exact
    if isinstance(op, MinimumOp):
        off = np.maximum(off, 0)
    if isinstance(op, MaximumOp):
        off = np.minimum(off, 0)
    return bool(np.all(np.abs(off) <= step))


# -- products -------------------------------------------------------------------------------------

PRODUCTS: Mapping[type[Operation], type[QnnProductOp]] = {
    BatchMatmulOp: QnnBatchMatmulOp,
    Conv2DOp: QnnConv2DOp,
    Conv2DTransposeOp: QnnConv2DTransposeOp,
    DenseOp: QnnDenseOp,
}
"""The products of integers, whose sums are of i32."""


def _channel_axes(op: Operation, data: Affine) -> tuple[int, int]:
    """The axes of output channels in the second factor and in the result."""
    if isinstance(op, Conv2DOp | Conv2DTransposeOp):
        kernel = layout_of(op.kernel_layout, "kernel_layout", op.KERNEL_LAYOUT, splits="OI")
        stated = op.out_layout if op.out_layout.data else op.data_layout
        image = layout_of(stated, "out_layout", op.IMAGE_LAYOUT, splits="C")
        return kernel.index("O"), image.index("C")
    if isinstance(op, DenseOp):
        return 0, op.result.type.get_num_dims() - 1
    return -1, data.axis


def product_of_integers(op: RelayOp, args: list[Quantized], site: Site) -> Quantized:
    """A product of integers, whose sums stand for numbers with the product of the scales."""
    (lhs, left), (rhs, right) = [(arg.value, arg.affine) for arg in args]
    kernel_axis, result_axis = _channel_axes(op, left)
    if not right.is_whole and right.axis_of(rhs) != kernel_axis:
        raise Kept(f"the scales of the second factor of {op.name} are not those of output channels")
    integers = PRODUCTS[type(op)]
    names = integers.get_irdl_definition().properties
    properties: dict[str, Any] = {n: each for n, each in op.properties.items() if n in names}
    properties["out_dtype"] = i32
    parameters = (left.zero_point, right.zero_point, left.scale, right.scale)
    value = site.emit(integers.of([lhs, rhs, *parameters], properties))
    scale = site.folded(MultiplyOp(left.scale, right.scale))
    zero = site.emit.constant(np.zeros(shape_of(scale), np.int32))
    return Quantized(value, Affine(scale, zero, result_axis, i32))


def _bias_add(op: BiasAddOp, args: list[Quantized], site: Site) -> Quantized:
    """Integers of 32 bits around 0 are added as they are, once they have one scale."""
    data, bias = args
    kind = data.affine
    if kind.dtype != i32 or not kind.is_centred:
        raise Kept(f"{op.name} adds to integers that are no sums of products")
    if not kind.is_whole and kind.axis_of(data.value) != op.channel_axis:
        raise Kept(f"the scales of {op.name} are not those of the axis of its bias")
    along = replace(kind, axis=0)
    if bias.kind is None:
        bias = quantized_constant(bias, along, site, axis=0)
    elif not along.is_near(bias.affine, bias.value):
        vector = replace(bias, kind=replace(bias.affine, axis=0))
        bias = requantized(site.emit, vector, along, i32)
    return Quantized(_on_integers(op, [data, bias], site), kind)


# -- functions, sums and means: what they give depends on what the result has to stand for ---------


def _unary(integers: type[qnn.QnnUnaryOp]) -> IntegerRule:
    def build(op: Operation, args: list[Quantized], site: Site) -> Quantized:
        kind, out = args[0].affine, _out_of(args[0].affine, site)
        parameters = (kind.scale, kind.zero_point, out.scale, out.zero_point)
        return Quantized(site.emit(integers(args[0].value, *parameters)), out)

    return IntegerRule(build, needs_out=True)


def _out_of(kind: Affine, site: Site) -> Affine:
    """
    What a result stands for whose integers are of the dtype of the operand: the numbers of the region's end where they
    have that dtype, and those of the operand where this has 32 bits, which hold about all numbers.
    """
    if kind.dtype == site.wanted.dtype:
        return site.wanted
    if kind.dtype != i32:
        raise Kept(f"integers of {kind.dtype} become {site.wanted.dtype} in between")
    return kind


def _leaky_relu(op: LeakyReluOp, args: list[Quantized], site: Site) -> Quantized:
    kind, out = args[0].affine, _out_of(args[0].affine, site)
    parameters = (kind.scale, kind.zero_point, out.scale, out.zero_point)
    new = qnn.QnnLeakyReluOp(args[0].value, *parameters, alpha=op.alpha)
    return Quantized(site.emit(new), out)


def _operands(op: Operation, args: list[Quantized], site: Site) -> tuple[Quantized, Quantized]:
    """Both operands as integers: a constant takes the scale and the zero point of the other one."""
    if all(arg.kind is None for arg in args):
        raise Kept("no operand is quantized")
    found: list[Quantized] = []
    for number, arg in enumerate(args):
        if arg.kind is None:
            arg = _held_constant(op, arg, args[1 - number].affine, site)
        found.append(arg)
    return found[0], found[1]


def _binary(integers: type[qnn.QnnBinaryOp]) -> IntegerRule:
    def build(op: Operation, args: list[Quantized], site: Site) -> Quantized:
        left, right = _operands(op, args, site)
        one, other = left.affine, right.affine
        if isinstance(op, AddOp) and _is_biased(left, right):
            return Quantized(site.emit(AddOp(left.value, right.value)), one)
        out = _out_of(one, site)
        new = integers(
            left.value,
            right.value,
            one.scale,
            one.zero_point,
            other.scale,
            other.zero_point,
            out.scale,
            out.zero_point,
            lhs_axis=one.axis,
            rhs_axis=other.axis,
        )
        return Quantized(site.emit(new), out)

    return IntegerRule(build, needs_out=True)


def _is_biased(left: Quantized, right: Quantized) -> bool:
    """Whether both are sums of products with one scale, so that their integers can be added."""
    one, other = left.affine, right.affine
    if one.dtype != i32 or other.dtype != i32 or not (one.is_centred and other.is_centred):
        return False
    if not (one.is_whole and other.is_whole) and shape_of(left.value) != shape_of(right.value):
        return False
    return one.is_near(other, left.value)


def _extreme(op: RelayOp, args: list[Quantized], site: Site) -> Quantized:
    left, right = _operands(op, args, site)
    out = _out_of(left.affine, site)
    if not out.is_whole:
        raise Kept(f"the result of {op.name} has scales of channels")
    same_kind = [
        each
        if each.affine.is_near(out, each.value)
        else requantized(site.emit, each, out, out.dtype)
        for each in (left, right)
    ]
    return Quantized(_on_integers(op, same_kind, site), out)


def _concatenate(op: ConcatenateOp, args: list[Quantized], site: Site) -> Quantized:
    kinds, out = args[0].kind, site.wanted
    if not isinstance(kinds, tuple) or any(kind.dtype != out.dtype for kind in kinds):
        raise Kept(f"fields of {op.name} are not all of {out.dtype}")
    scales = site.emit(TupleOp([kind.scale for kind in kinds]))
    zeros = site.emit(TupleOp([kind.zero_point for kind in kinds]))
    new = QnnConcatenateOp(args[0].value, scales, zeros, out.scale, out.zero_point, axis=op.axis)
    return Quantized(site.emit(new), out)


def _average(op: RelayOp, args: list[Quantized], site: Site) -> Quantized:
    """Means of integers of 32 bits that stand for numbers of the region's end."""
    data, kind, out = args[0], args[0].affine, site.wanted
    wide = replace(out, dtype=i32)
    if kind.is_near(out, data.value):
        data = Quantized(cast(site.emit, data.value, i32), replace(wide, axis=kind.axis))
    else:
        data = requantized(site.emit, data, out, i32)
    if not out.is_centred and isinstance(op, AvgPool2DOp) and _counts_padding(op):
        raise Kept(f"{op.name} counts zeros around images whose zero point is another")
    return Quantized(_on_integers(op, [data], site), moved_kind(op, wide))


def _counts_padding(op: AvgPool2DOp) -> bool:
    return bool(op.count_include_pad.value.data) and any(op.pads)


def _mean(op: MeanOp, args: list[Quantized], site: Site) -> Quantized:
    """Sums have twice the width at least."""
    kind = args[0].affine
    wide = cast(site.emit, args[0].value, i64 if kind.dtype == i32 else i32)
    result = _on_integers(op, [Quantized(wide, kind)], site)
    return Quantized(cast(site.emit, result, kind.dtype), moved_kind(op, kind))


RELAY_RULES: Mapping[type[Operation], IntegerRule] = {
    **{op: IntegerRule(same) for op in RELAY_MOVES},
    AbsOp: _unary(qnn.QnnAbsOp),
    AdaptiveAvgPool1DOp: IntegerRule(_average, needs_out=True),
    AddOp: _binary(qnn.QnnAddOp),
    AvgPool2DOp: IntegerRule(_average, needs_out=True),
    BatchMatmulOp: IntegerRule(product_of_integers),
    BiasAddOp: IntegerRule(_bias_add),
    ClipOp: IntegerRule(_clip),
    ConcatenateOp: IntegerRule(_concatenate, needs_out=True),
    Conv2DOp: IntegerRule(product_of_integers),
    Conv2DTransposeOp: IntegerRule(product_of_integers),
    DenseOp: IntegerRule(product_of_integers),
    ErfOp: _unary(qnn.QnnErfOp),
    ExpOp: _unary(qnn.QnnExpOp),
    GlobalAvgPool2DOp: IntegerRule(_average, needs_out=True),
    LeakyReluOp: IntegerRule(_leaky_relu, needs_out=True),
    LogOp: _unary(qnn.QnnLogOp),
    MaximumOp: IntegerRule(_extreme, needs_out=True),
    MeanOp: IntegerRule(_mean),
    MinimumOp: IntegerRule(_extreme, needs_out=True),
    MultiplyOp: _binary(qnn.QnnMulOp),
    PadOp: IntegerRule(_pad),
    ReluOp: IntegerRule(_relu),
    RsqrtOp: _unary(qnn.QnnRsqrtOp),
    SigmoidOp: _unary(qnn.QnnSigmoidOp),
    SplitOp: IntegerRule(_split),
    SqrtOp: _unary(qnn.QnnSqrtOp),
    SubtractOp: _binary(qnn.QnnSubtractOp),
    TanhOp: _unary(qnn.QnnTanhOp),
    TopkOp: IntegerRule(_topk),
    TupleGetItemOp: IntegerRule(_field),
    TupleOp: IntegerRule(_tuple),
}
"""What Relay's pass knows, and tuples."""

MORE_RULES: Mapping[type[Operation], IntegerRule] = {op: IntegerRule(same) for op in MORE_MOVES}
"""What is used for operators that are asked for by name."""
