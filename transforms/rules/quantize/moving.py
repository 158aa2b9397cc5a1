"""Rules of operators that move integers as they are, or bound them: MOVING_RULES."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.qnn.conversion import QnnQuantizeOp
from xrelay.dialects.shapes import element_type_of, shape_of
from xrelay.dialects.tensor.binary import MaximumOp, MinimumOp
from xrelay.dialects.tensor.reduce import ReductionOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import SplitOp
from xrelay.dialects.tensor.unary import CastOp, ClipOp, ReluOp
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.quantize.axes import AVERAGED, MORE_MOVES, RELAY_MOVES
from xrelay.transforms.rules.quantize.constants import held_constant
from xrelay.transforms.rules.quantize.values import (
    Affine,
    IntegerRule,
    Kept,
    Quantized,
    Site,
    requantized,
)

MOVES = {**RELAY_MOVES, **MORE_MOVES, **AVERAGED}
"""Where an axis of channels goes."""


def moved(op: Operation, kind: Affine) -> Affine:
    """What the result of an operator stands for that moves integers as they are. Raises Kept where channels mix."""
    if kind.is_whole:
        return kind
    axis = MOVES[type(op)](op, kind.axis_of(op.operands[0]))
    if axis is None:
        raise Kept(f"{op.name} mixes channels that have scales of their own")
    return replace(kind, axis=axis)


def require_elements(op: Operation) -> None:
    """Raises Kept for reductions of nothing, whose infinities and NaN are no integers."""
    if isinstance(op, ReductionOp) and 0 in shape_of(op.data) and 0 not in shape_of(op.results[0]):
        raise Kept(f"{op.name} reduces no elements")


def on_integers(op: RelayOp, args: list[Quantized], site: Site) -> SSAValue:
    """The same operator on integers."""
    return site.emit(type(op).of([arg.value for arg in args], op.properties))


def same(op: RelayOp, args: list[Quantized], site: Site) -> Quantized:
    """An operator that does the same with integers."""
    kind = moved(op, args[0].affine)
    value = on_integers(op, args, site)
    if element_type_of(value) != kind.dtype:
        raise Kept(f"{op.name} gives other elements than it takes")
    return Quantized(value, kind)


def _topk(op: TopkOp, args: list[Quantized], site: Site) -> Quantized:
    if op.ret_type.data != "values":
        raise Kept(f'\'ret_type\' of {op.name} is "{op.ret_type.data}", expected "values"')
    return same(op, args, site)


def _split(op: SplitOp, args: list[Quantized], site: Site) -> Quantized:
    kind = moved(op, args[0].affine)
    return Quantized(on_integers(op, args, site), (kind,) * len(op.result.type.types))


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
    kind = data.affine
    if not kind.is_whole:
        raise Kept(f"{op.name} adds one number to channels that have scales of their own")
    if filling.kind is None:
        filling = held_constant(op, filling, kind, site)
    elif not filling.affine.is_near(kind, data.value):
        filling = requantized(site.emit, filling, kind, kind.dtype)
    return Quantized(on_integers(op, [data, filling], site), kind)


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
        integers = QnnQuantizeOp(numbers, *kind.parameters, out_dtype=kind.dtype, axis=kind.axis)
        value = site.emit(extreme(value, site.emit(integers)))
    return Quantized(value, kind)


MOVING_RULES: Mapping[type[Operation], IntegerRule] = {
    **{op: IntegerRule(same) for op in RELAY_MOVES},
    ClipOp: IntegerRule(_clip),
    PadOp: IntegerRule(_pad),
    ReluOp: IntegerRule(_relu),
    SplitOp: IntegerRule(_split),
    TopkOp: IntegerRule(_topk),
    TupleGetItemOp: IntegerRule(_field),
    TupleOp: IntegerRule(_tuple),
}
"""What Relay's pass knows, and tuples."""
