"""
What one operator on dequantized integers becomes, without a look at the rest of the program: the same on the integers,
and one `relay.qnn.dequantize` behind it. A line an operator in CPU_RULES.

    dequantize(x) ──► reshape, max_pool2d, …          dequantize(reshape(x))
    dequantize(x), dequantize(w) ──► conv2d, dense    dequantize(qnn.conv2d(x, w)), sums of i32
    dequantize(x) ──► avg_pool2d, mean, …             dequantize(sum(x)), sums of i32
    dequantize(sums) + dequantize(b), one scale       dequantize(sums + b)
    quantize(dequantize(x)), one kind of integers     x
    quantize(relu(dequantize(sums)))                  maximum(requantize(sums), zero point)

Nothing here rounds other than the operators on numbers do, but sums: f32 rounds them where integers are exact, and
`relay.qnn.requantize` multiplies them by the quotient of the scales, as ONNX's QLinearConv does.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp, Conv2DTransposeOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.image.resize import Resize2DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.adaptive import (
    AdaptiveMaxPool1DOp,
    AdaptiveMaxPool2DOp,
    AdaptiveMaxPool3DOp,
)
from xrelay.dialects.pool.pool import (
    AvgPool2DOp,
    GlobalAvgPool2DOp,
    GlobalMaxPool2DOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
)
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnQuantizeOp, QnnRequantizeOp
from xrelay.dialects.qnn.parameters import BYTES
from xrelay.dialects.qnn.products import QnnDenseOp
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.binary import MaximumOp, MinimumOp, MultiplyOp
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.reduce import MaxOp, MeanOp, MinOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp, TransposeOp
from xrelay.dialects.tensor.unary import ClipOp, ReluOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.constants import known_array
from xrelay.interpreters.qnn.parameters import quantized
from xrelay.transforms.rules.quantize.averages import sums_of_means
from xrelay.transforms.rules.quantize.axes import MORE_MOVES, RELAY_MOVES
from xrelay.transforms.rules.quantize.moving import moved, require_elements
from xrelay.transforms.rules.quantize.operators import RELAY_RULES
from xrelay.transforms.rules.quantize.products import PRODUCTS, product_of_integers
from xrelay.transforms.rules.quantize.values import Affine, Kept, Quantized, Site, dequantized
from xrelay.transforms.rules.rewriting import Emitter, is_floating

LocalRule: TypeAlias = Callable[[Any, Site], Quantized]
"""The result of an operator on numbers, on integers. Raises Kept, or VerifyException, where there is none."""

LARGEST_SCALE = float(np.finfo(np.float32).max) / 2**17
"""With scales up to this, no number that 16 bits stand for is infinite."""


def integers(value: SSAValue, site: Site) -> Quantized:
    """The integers that stand for a value. Raises Kept where it is not dequantized."""
    op = value.owner
    if not isinstance(op, QnnDequantizeOp):
        source = "an argument" if not isinstance(op, Operation) else f"computed by {op.name}"
        raise Kept(f"an operand is {source}, not dequantized")
    return dequantized(op, site.emit)


# -- operators that move integers -----------------------------------------------------------------


ORDERED = (
    *(AdaptiveMaxPool1DOp, AdaptiveMaxPool2DOp, AdaptiveMaxPool3DOp, GlobalMaxPool2DOp),
    *(MaxPool1DOp, MaxPool2DOp, MaxPool3DOp, MaxOp, MinOp, TopkOp),
)
"""Operators that compare numbers, whose integers have the same order where scales are positive."""


def _same(op: RelayOp, site: Site) -> Quantized:
    """An operator that does the same with integers."""
    data = integers(op.operands[0], site)
    if isinstance(op, ORDERED) and not _is_positive(data.affine):
        raise Kept(f"the scale of what {op.name} compares is not known to be positive")
    if isinstance(op, Resize2DOp) and op.method.data != "nearest_neighbor":
        raise Kept(f"{op.name} computes numbers between others")
    if isinstance(op, SplitOp | TopkOp):
        return RELAY_RULES[type(op)].build(op, [data], site)
    require_elements(op)
    kind = moved(op, data.affine)
    rest = op.operands[1:]
    return Quantized(site.folded(type(op).of([data.value, *rest], op.properties)), kind)


def _relaid(op: LayoutTransformOp, site: Site) -> Quantized:
    data = integers(op.data, site)
    source, target = op.layouts
    if not data.affine.is_whole:
        raise Kept(f"{op.name} moves channels that have scales of their own")
    if target.lengths(shape_of(op.result)) != source.lengths(shape_of(op.data)):
        raise Kept(f"{op.name} fills blocks with zeros")
    return Quantized(site.folded(type(op).of([data.value], op.properties)), data.affine)


def _pad(op: PadOp, site: Site) -> Quantized:
    data, filling = integers(op.data, site), known_array(op.pad_val)
    kind = data.affine
    if not kind.is_whole or op.pad_mode.data != "constant" or filling is None or filling.any():
        raise Kept(f"{op.name} adds other numbers than 0, or has scales of channels")
    zero = site.emit.constant(np.zeros((), np.int32)) if kind.is_centred else kind.zero_point
    return Quantized(site.emit(type(op).of([data.value, zero], op.properties)), kind)


def _concatenate(op: ConcatenateOp, site: Site) -> Quantized:
    if not isinstance(op.data.owner, TupleOp):
        raise Kept(f"the fields of {op.name} are not made here")
    fields = [integers(each, site) for each in op.data.owner.fields]
    kind = fields[0].affine
    if not all(each.affine.is_whole and each.affine.equals(kind) for each in fields):
        raise Kept(f"the fields of {op.name} have scales of their own")
    joined = site.emit(TupleOp([each.value for each in fields]))
    return Quantized(site.emit(ConcatenateOp(joined, axis=op.axis)), kind)


# -- products -------------------------------------------------------------------------------------


def _factors(op: Operation, site: Site) -> tuple[Quantized, Quantized]:
    lhs, rhs = (integers(operand, site) for operand in op.operands)
    if not lhs.affine.is_whole:
        raise Kept(f"the first factor of {op.name} has scales of channels")
    for each in (lhs, rhs):
        if each.affine.dtype not in BYTES:
            raise Kept(f"{op.name} multiplies integers of {each.affine.dtype}")
    return lhs, rhs


def _product(op: RelayOp, site: Site) -> Quantized:
    return product_of_integers(op, list(_factors(op, site)), site)


def _matmul(op: MatmulOp, site: Site) -> Quantized:
    """A product of two matrices, as a dense."""
    lhs, rhs = _factors(op, site)
    if op.transpose_a.value.data:
        raise Kept(f"{op.name} transposes its first factor")
    right = rhs.affine
    if not right.is_whole and right.axis_of(rhs.value) != (not op.transpose_b.value.data):
        raise Kept(f"the scales of the second factor of {op.name} are not those of columns")
    weight = rhs.value
    if not op.transpose_b.value.data:
        weight = site.folded(TransposeOp(weight, [1, 0]))
    left = lhs.affine
    parameters = (left.zero_point, right.zero_point, left.scale, right.scale)
    value = site.emit(QnnDenseOp(lhs.value, weight, *parameters, out_dtype=i32))
    scale = site.folded(MultiplyOp(left.scale, right.scale))
    zero = site.emit.constant(np.zeros(shape_of(scale), np.int32))
    return Quantized(value, Affine(scale, zero, 1, i32))


def _bias_add(op: BiasAddOp, site: Site) -> Quantized:
    """Sums of products, and integers with their scale."""
    data, bias = integers(op.data, site), integers(op.bias, site)
    kind = data.affine
    if kind.dtype != i32 or bias.affine.dtype != i32 or not kind.is_centred:
        raise Kept(f"{op.name} adds to integers that are no sums of products")
    if not kind.is_whole and kind.axis_of(data.value) != op.channel_axis:
        raise Kept(f"the scales of {op.name} are not those of the axis of its bias")
    if not replace(kind, axis=0).is_near(bias.affine, bias.value):
        raise Kept(f"the bias of {op.name} has a scale of its own")
    return Quantized(site.emit(type(op).of([data.value, bias.value], op.properties)), kind)


def _average(op: AvgPool2DOp | GlobalAvgPool2DOp | MeanOp, site: Site) -> Quantized:
    return sums_of_means(op, integers(op.data, site), site)


CPU_RULES: Mapping[type[Operation], LocalRule] = {
    **dict.fromkeys([*RELAY_MOVES, *MORE_MOVES], _same),
    **dict.fromkeys(PRODUCTS, _product),
    **dict.fromkeys([AvgPool2DOp, GlobalAvgPool2DOp, MeanOp], _average),
    BiasAddOp: _bias_add,
    ConcatenateOp: _concatenate,
    LayoutTransformOp: _relaid,
    MatmulOp: _matmul,
    PadOp: _pad,
}
"""What operators become whose operands are dequantized."""

LOCAL_PRODUCTS = (BatchMatmulOp, Conv2DOp, Conv2DTransposeOp, DenseOp, MatmulOp)
"""The operators for the sake of which all this is done."""


# -- ends of regions ------------------------------------------------------------------------------


def end_of_integers(op: QnnQuantizeOp, site: Site) -> SSAValue:
    """
    What `op` gives, without the numbers that its integers stand for in between. Raises Kept where these are needed.
    """
    bounds: list[ReluOp | ClipOp] = []
    value: SSAValue = op.data
    while isinstance(value.owner, ReluOp | ClipOp):
        bounds.append(value.owner)
        value = value.owner.operands[0]
    source = integers(value, site)
    out = Affine(op.output_scale, op.output_zero_point, op.axis.value.data, op.out_dtype)
    if source.affine.dtype == i32 and out.is_whole:
        result = _requantized(source, out, site)
    elif source.affine.equals(out) and _keeps_integers(out):
        result = source.value
    else:
        raise Kept("the integers stand for other numbers before and after")
    for bound in reversed(bounds):
        result = _bounded(bound, result, out, site)
    return result


def _is_positive(kind: Affine) -> bool:
    scale = known_array(kind.scale)
    return scale is not None and bool(np.all(scale > 0))


def _keeps_integers(kind: Affine) -> bool:
    """Whether quantizing gives the integers back that were dequantized."""
    scale = known_array(kind.scale)
    known = scale is not None and bool(np.all((0 < scale) & (scale <= LARGEST_SCALE)))
    return known and kind.dtype != i32


def _requantized(source: Quantized, out: Affine, site: Site) -> SSAValue:
    kind = source.affine
    return site.emit(
        QnnRequantizeOp(
            source.value,
            *kind.parameters,
            *out.parameters,
            axis=kind.axis,
            rounding="TONEAREST_EVEN",
            compute_dtype="float32",
            out_dtype=out.dtype,
        )
    )


def _bounded(bound: ReluOp | ClipOp, value: SSAValue, out: Affine, site: Site) -> SSAValue:
    """The integers of numbers within bounds: those between the integers of the bounds, as rounding keeps the order."""
    scale, zero = known_array(out.scale), known_array(out.zero_point)
    if scale is None or zero is None or not out.is_whole:
        raise Kept(f"the scale after {bound.name} is not known, or one of channels")
    numbers = (0.0, np.inf)
    if isinstance(bound, ClipOp):
        numbers = (bound.a_min.value.data, bound.a_max.value.data)
    dtype = dtype_of(out.dtype)
    places = quantized(
        np.array(numbers, np.float32), scale.reshape(()), zero.reshape(()), dtype
    ).astype(np.int64)
    limits = np.iinfo(dtype)
    if places[0] > limits.min:
        value = site.emit(MaximumOp(value, site.emit.scalar(int(places[0]), value)))
    if places[1] < limits.max:
        value = site.emit(MinimumOp(value, site.emit.scalar(int(places[1]), value)))
    return value


def kept_in_floating_point(module: ModuleOp) -> list[tuple[Operation, str]]:
    """
    The operators of a quantised program that compute with numbers although they are products, or take integers and are
    not elementwise, each with the reason; none of a program that has no `relay.qnn.quantize` or `relay.qnn.dequantize`.
    """
    kept: list[tuple[Operation, str]] = []
    ops = list(walk(module))
    if not any(isinstance(op, QnnDequantizeOp | QnnQuantizeOp) for op in ops):
        return kept
    for op in ops:
        if not isinstance(op, RelayOp) or len(op.results) != 1 or not is_floating(op.results[0]):
            continue
        takes_integers = any(isinstance(each.owner, QnnDequantizeOp) for each in op.operands)
        moves = pattern_kind(op) > OpPatternKind.BROADCAST
        if isinstance(op, LOCAL_PRODUCTS) or (takes_integers and moves):
            kept.append((op, _why_kept(op)))
    return kept


def _why_kept(op: Operation) -> str:
    """Why an operator is not computed with integers."""
    rule = CPU_RULES.get(type(op))
    if rule is None:
        return f"{op.name} has no form with integers"
    emit = Emitter()
    try:
        rule(op, Site(emit, None))
    except (Kept, VerifyException) as error:
        return str(error)
    finally:
        emit.discard()
    return "its result would have another type"


def field_of_tuple(op: TupleGetItemOp) -> SSAValue | None:
    """The field of a tuple that is made here."""
    source = op.tuple_value.owner
    return source.fields[op.index.value.data] if isinstance(source, TupleOp) else None
