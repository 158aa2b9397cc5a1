"""
`simplify-expr`: algebra on single operators and short chains, a table of rules (RULES).

    %0 = relay.reshape %x …                 %1 = relay.reshape %x …
    %1 = relay.reshape %0 …           ──►

    %0 = relay.sqrt %y                      %0 = relay.rsqrt %y
    %1 = relay.divide %x, %0          ──►   %1 = relay.multiply %x, %0

Rules that always hold are exact, or round differently in the last place: they keep NaN, infinities
and the sign of zeros. Where floating-point rules do not, an option allows them:

- `ignore-signed-zeros`: x + 0 is x (for x = -0 it is +0), and x - (-0).
- `reassociate`: constants that are added or multiplied one after the other are combined:
  (x + a) + b is x + (a + b), (x * a) * b is x * (a * b), (x + a) * b is x * b + a * b, and x / a
  is x * (1 / a). An intermediate result that overflows or vanishes may then no longer do so, or begin to. Integers,
  which wrap around, are combined without it.

Casts are merged only where the first one keeps every value (Relay also takes int8 to uint8 and
int64 to float32 for such). Constants combine only when the result is not larger than they are.
The bodies of `relay.fused` and `relay.composite` and functions for other compilers stay as they are.

The pass rewrites until no rule applies. Each rewrite removes an operation or moves a constant towards
the results, so that the work is linear in the program for chains of bounded length.

Source: Relay's SimplifyExpr, without its rules for `full_like`, `reshape_like`, `dequantize` and the other
operators that RULES does not name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp, isfinite

import numpy as np
from xdsl.dialects.builtin import FloatAttr, ModuleOp, i1
from xdsl.ir import Operation, SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.analysis.facts.constants import number_of
from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.tensor.binary import (
    AddOp,
    BroadcastBinaryOp,
    DivideOp,
    MultiplyOp,
    PowerOp,
    SubtractOp,
)
from xrelay.dialects.tensor.creation import (
    FilledLikeOp,
    FullOp,
    OnesLikeOp,
    OnesOp,
    ZerosLikeOp,
    ZerosOp,
)
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp, ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import CastOp, ClipOp, CopyOp, RsqrtOp, SqrtOp
from xrelay.interpreters.arrays import Array, DType, dtype_of, held_elements
from xrelay.interpreters.constants import known_array
from xrelay.interpreters.numerics import highest, is_float, lowest
from xrelay.transforms.rules.rewriting import (
    Emitter,
    Rule,
    apply_rule,
    has_static_type,
    is_floating,
    shape_of,
)

RESHAPES = (ReshapeOp, SqueezeOp, ExpandDimsOp, BatchFlattenOp)
"""Operators that only change the shape."""


# Filled tensors


def concrete_fill(op: FilledLikeOp, emit: Emitter) -> SSAValue | None:
    """zeros_like(x) ──► zeros, where the shape is known."""
    if not has_static_type(op.result):
        return None
    filled = ZerosOp if isinstance(op, ZerosLikeOp) else OnesOp
    dtype = op.result.type.element_type
    assert isinstance(dtype, TypeAttribute)
    return emit(filled(shape_of(op.result), dtype))


def scalar_operand(op: BroadcastBinaryOp, emit: Emitter) -> SSAValue | None:
    """x + ones(…) ──► x + 1, where x has the shape of the result."""
    for index, (filled, other) in enumerate(((op.lhs, op.rhs), (op.rhs, op.lhs))):
        if shape_of(other) != shape_of(op.result) or not has_static_type(other):
            continue
        match filled.owner:
            case ZerosOp() | ZerosLikeOp():
                scalar = emit.scalar(0, filled)
            case OnesOp() | OnesLikeOp():
                scalar = emit.scalar(1, filled)
            case FullOp() as full if full.dtype in (None, full.fill_value.type.element_type):
                scalar = full.fill_value
            case _:
                continue
        return emit(type(op)(scalar, other) if index == 0 else type(op)(other, scalar))
    return None


# Arithmetic


def divide_by_root(op: DivideOp, emit: Emitter) -> SSAValue | None:
    """x / sqrt(y) ──► x * rsqrt(y)"""
    root = op.rhs.owner
    if not isinstance(root, SqrtOp) or len(list(op.rhs.uses)) != 1:
        return None
    return emit(MultiplyOp(op.lhs, emit(RsqrtOp(root.data))))


def divide_by_power_of_two(op: DivideOp, emit: Emitter) -> SSAValue | None:
    """x / 8 ──► x * 0.125: both are exact, or rounded once."""
    divisor = number_of(op.rhs)
    if not is_floating(op.rhs) or not divisor or not isfinite(divisor):
        return None
    mantissa, exponent = frexp(divisor)
    # Neither number may be subnormal in any type.
    if abs(mantissa) != 0.5 or not -13 <= exponent <= 13:
        return None
    return emit(MultiplyOp(op.lhs, emit.scalar(1 / divisor, op.rhs)))


def divide_by_constant(op: DivideOp, emit: Emitter) -> SSAValue | None:
    """x / c ──► x * (1 / c), with `reassociate`: the quotient is rounded twice"""
    divisor = known_array(op.rhs)
    if divisor is None or not is_floating(op.rhs) or divisor.dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        factor = divisor.dtype.type(1) / divisor
    smallest = np.finfo(divisor.dtype).tiny
    if not np.all(np.isfinite(factor) & (abs(factor) >= smallest) & (abs(divisor) >= smallest)):
        return None
    return emit(MultiplyOp(op.lhs, emit.constant(np.asarray(factor, divisor.dtype))))


def small_power(op: PowerOp, emit: Emitter) -> SSAValue | None:
    """x ** 1 ──► x, x ** 2 ──► x * x, x ** 3 ──► x * x * x"""
    exponent = number_of(op.rhs)
    if op.lhs.type != op.result.type or exponent not in (1, 2, 3):
        return None
    result = op.lhs
    for _ in range(int(exponent) - 1):
        result = emit(MultiplyOp(result, op.lhs))
    return result


def _neutral(op: BroadcastBinaryOp) -> SSAValue | None:
    """The operand that an addition, … passes on, were there no signed zeros."""
    number = 0 if isinstance(op, AddOp | SubtractOp) else 1
    if number_of(op.rhs) == number:
        return op.lhs
    if isinstance(op, AddOp | MultiplyOp) and number_of(op.lhs) == number:
        return op.rhs
    return None


def identity(op: BroadcastBinaryOp, emit: Emitter) -> SSAValue | None:
    """x * 1, x / 1, x - 0 and x + (-0) ──► x; for integers x + 0 too"""
    result = _neutral(op)
    if result is None or not isinstance(op, AddOp | SubtractOp) or not is_floating(result):
        return result
    zero = known_array(op.lhs if result is op.rhs else op.rhs)
    assert zero is not None
    signs = np.signbit(held_elements(zero))
    return result if np.all(signs if isinstance(op, AddOp) else ~signs) else None


def zero_identity(op: BroadcastBinaryOp, emit: Emitter) -> SSAValue | None:
    """x + 0 ──► x, with `ignore-signed-zeros`"""
    return _neutral(op)


# Constants that are combined


def _split_sum(value: SSAValue) -> tuple[SSAValue, Array] | None:
    """x and c of a value x + c, x - c or bias_add(x, c) with a constant c."""
    op = value.owner
    if isinstance(op, BiasAddOp):
        bias = known_array(op.bias)
        following = op.data.type.get_num_dims() - op.channel_axis - 1
        return None if bias is None else (op.data, bias.reshape(-1, *[1] * following))
    if not isinstance(op, AddOp | SubtractOp) or op.result.type.element_type == i1:
        return None  # Truth values have no negative.
    constant = known_array(op.rhs)
    if constant is not None:
        with np.errstate(all="ignore"):
            if isinstance(op, SubtractOp):
                constant = np.broadcast_to(-held_elements(constant), constant.shape)
            return op.lhs, constant
    constant = known_array(op.lhs)
    return (op.rhs, constant) if isinstance(op, AddOp) and constant is not None else None


def _split_product(value: SSAValue) -> tuple[SSAValue, Array] | None:
    """x and c of a value x * c with a constant c."""
    op = value.owner
    if not isinstance(op, MultiplyOp):
        return None
    for factor, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        constant = known_array(factor)
        if constant is not None:
            return other, constant
    return None


def _combined(kind: np.ufunc, first: Array, second: Array) -> Array | None:
    """Two constants as one, unless that is larger than both are."""
    if first.dtype.kind not in "iuf":
        return None
    shape = np.broadcast_shapes(first.shape, second.shape)
    if np.prod(shape, dtype=np.int64) > max(first.size, second.size):
        return None
    with np.errstate(all="ignore"):
        return np.broadcast_to(kind(held_elements(first), held_elements(second)), shape)


def adjacent_sums(op: AddOp | SubtractOp | BiasAddOp, emit: Emitter) -> SSAValue | None:
    """(x + a) + b ──► x + (a + b)"""
    outer = _split_sum(op.result)
    inner = None if outer is None else _split_sum(outer[0])
    if outer is None or inner is None:
        return None
    constant = _combined(np.add, inner[1], outer[1])
    return None if constant is None else emit(AddOp(inner[0], emit.constant(constant)))


def adjacent_products(op: MultiplyOp, emit: Emitter) -> SSAValue | None:
    """(x * a) * b ──► x * (a * b)"""
    outer = _split_product(op.result)
    inner = None if outer is None else _split_product(outer[0])
    if outer is None or inner is None:
        return None
    constant = _combined(np.multiply, inner[1], outer[1])
    return None if constant is None else emit(MultiplyOp(inner[0], emit.constant(constant)))


def product_of_sum(op: MultiplyOp, emit: Emitter) -> SSAValue | None:
    """(x + a) * b ──► x * b + a * b"""
    outer = _split_product(op.result)
    if outer is None or len(list(outer[0].uses)) != 1:
        return None
    inner = _split_sum(outer[0])
    constant = None if inner is None else _combined(np.multiply, inner[1], outer[1])
    if inner is None or constant is None:
        return None
    product = emit(MultiplyOp(inner[0], emit.constant(outer[1])))
    return emit(AddOp(product, emit.constant(constant)))


def exact(rule: Rule) -> Rule:
    """`rule` for integers only, where arithmetic is associative."""

    def apply(op: Operation, emit: Emitter) -> SSAValue | None:
        return None if is_floating(op.results[0]) else rule(op, emit)

    return apply


# Moved elements


def merged_reshapes(op: Operation, emit: Emitter) -> SSAValue | None:
    """reshape(reshape(x)) ──► reshape(x), and a reshape to the same shape ──► x"""
    (data,) = op.operands
    result = op.results[0]
    if data.type == result.type and has_static_type(data):
        return data
    inner = data.owner
    if not isinstance(inner, RESHAPES) or not has_static_type(result):
        return None
    source = inner.data
    if source.type == result.type:
        return source
    shape = shape_of(result)
    return emit(ReshapeOp(source, shape, allowzero=0 in shape))


def merged_transposes(op: TransposeOp, emit: Emitter) -> SSAValue | None:
    """
    transpose(transpose(x)) ──► transpose(x), one that moves nothing ──► x, and one that moves axes
    of length 1 only ──► reshape(x)
    """
    order = op.permutation
    if list(order) == list(range(len(order))):
        return op.data
    inner = op.data.owner
    if isinstance(inner, TransposeOp):
        return emit(TransposeOp(inner.data, [inner.permutation[axis] for axis in order]))
    if not has_static_type(op.data):
        return None
    shape = shape_of(op.data)
    moved = [axis for axis in order if shape[axis] != 1]
    if moved != sorted(moved):
        return None
    return emit(ReshapeOp(op.data, shape_of(op.result), allowzero=0 in shape))


def whole_slice(op: StridedSliceOp, emit: Emitter) -> SSAValue | None:
    """A slice that takes everything ──► x"""
    if op.data.type != op.result.type or not has_static_type(op.data):
        return None
    whole = all(taken.start == 0 and taken.step == 1 for taken in op.slices)
    return op.data if whole else None


def slice_of_one(op: TakeOp, emit: Emitter) -> SSAValue | None:
    """take(x, constant index) ──► strided_slice and reshape"""
    axis, indices = op.normalized_axis, known_array(op.indices)
    if axis is None or op.batch_dims.value.data or indices is None or indices.size != 1:
        return None
    if not has_static_type(op.data) or 0 in shape_of(op.data):
        return None
    length, index = shape_of(op.data)[axis], int(indices.flat[0])
    index = index % length if op.mode.data == "wrap" else min(max(index, 0), length - 1)
    part = emit(StridedSliceOp(op.data, [index], [index + 1], axes=[axis]))
    return emit(ReshapeOp(part, shape_of(op.result)))


def copied(op: CopyOp, emit: Emitter) -> SSAValue | None:
    """copy(x) ──► x"""
    return op.data


# Casts and clips


def keeps_values(source: DType, target: DType) -> bool:
    """Whether a cast keeps every value of the type `source`."""
    if source == target or source == np.bool_:
        return True
    if target == np.bool_:
        return False
    if is_float(source):
        # bf16 has fewer bits than f16 and a wider range: only f32 and f64 hold both.
        return is_float(target) and target.itemsize > max(source.itemsize, 2)
    if is_float(target):
        bits = {2: 8 if target.kind != "f" else 11, 4: 24, 8: 53}[target.itemsize]
        return 8 * source.itemsize - (source.kind == "i") <= bits
    return lowest(target) <= lowest(source) and highest(source) <= highest(target)


def merged_casts(op: CastOp, emit: Emitter) -> SSAValue | None:
    """cast(cast(x)) ──► cast(x) where the first one keeps every value, and a cast to the same type"""
    if op.data.type == op.result.type:
        return op.data
    inner = op.data.owner
    if not isinstance(inner, CastOp):
        return None
    source, between, target = (
        dtype_of(value.type.element_type) for value in (inner.data, inner.result, op.result)
    )
    if not keeps_values(source, between):
        return None
    # Integers saturate when they come from floating point, and wrap around among themselves.
    saturates = is_float(between) and not is_float(source) and not is_float(target)
    if saturates and not keeps_values(source, target):
        return None
    if inner.data.type == op.result.type:
        return inner.data
    return emit(CastOp(inner.data, op.dtype))


def _whole_bounds(op: ClipOp) -> tuple[float, float]:
    low, high = op.a_min, op.a_max
    assert isinstance(low, FloatAttr) and isinstance(high, FloatAttr)
    return low.value.data, high.value.data


def whole_range(op: ClipOp, emit: Emitter) -> SSAValue | None:
    """clip(x) to all that an integer type holds ──► x"""
    if is_floating(op.data) or op.data.type.element_type == i1:
        return None
    dtype = dtype_of(op.data.type.element_type)
    low, high = _whole_bounds(op)
    # The largest 64-bit integers cannot be bounds: as floating point they round out of range.
    if dtype.itemsize > 4:
        return None
    return op.data if low <= lowest(dtype) and high >= highest(dtype) else None


def clipped_round_trip(op: CastOp, emit: Emitter) -> SSAValue | None:
    """cast(cast(clip(x))) back to the type of x ──► clip(x), where the bounds fit in between"""
    inner = op.data.owner
    if not isinstance(inner, CastOp) or inner.data.type != op.result.type:
        return None
    clip = inner.data.owner
    if not isinstance(clip, ClipOp) or is_floating(clip.data) or is_floating(inner.result):
        return None
    low, high = _whole_bounds(clip)
    dtype = dtype_of(inner.result.type.element_type)
    if dtype == np.bool_ or not lowest(dtype) <= low <= high <= highest(dtype):
        return None
    return inner.data


@dataclass(frozen=True)
class Entry:
    """One line of the table."""

    ops: tuple[type[Operation], ...]
    """The operators whose result the rule replaces."""
    rule: Rule
    option: str = ""
    """The option that allows the rule, none when it always holds."""


_SUMS = (AddOp, SubtractOp, BiasAddOp)
_IDENTITIES = (AddOp, SubtractOp, MultiplyOp, DivideOp)

RULES: tuple[Entry, ...] = (
    Entry((ZerosLikeOp, OnesLikeOp), concrete_fill),
    Entry((AddOp, SubtractOp, MultiplyOp, DivideOp), scalar_operand),
    Entry((DivideOp,), divide_by_root),
    Entry((DivideOp,), divide_by_power_of_two),
    Entry((PowerOp,), small_power),
    Entry(_IDENTITIES, identity),
    Entry((AddOp, SubtractOp), zero_identity, "ignore_signed_zeros"),
    Entry(RESHAPES, merged_reshapes),
    Entry((TransposeOp,), merged_transposes),
    Entry((StridedSliceOp,), whole_slice),
    Entry((TakeOp,), slice_of_one),
    Entry((CopyOp,), copied),
    Entry((CastOp,), merged_casts),
    Entry((CastOp,), clipped_round_trip),
    Entry((ClipOp,), whole_range),
    Entry(_SUMS, exact(adjacent_sums)),
    Entry((MultiplyOp,), exact(adjacent_products)),
    Entry((MultiplyOp,), exact(product_of_sum)),
    Entry((DivideOp,), divide_by_constant, "reassociate"),
    Entry(_SUMS, adjacent_sums, "reassociate"),
    Entry((MultiplyOp,), adjacent_products, "reassociate"),
    Entry((MultiplyOp,), product_of_sum, "reassociate"),
)
"""All rules; of several that apply to an operator, the first one does."""


class ApplyRules(RewritePattern):
    """Applies the first rule that holds for an operator."""

    def __init__(self, entries: Sequence[Entry]):
        self.rules: dict[type[Operation], list[Rule]] = {}
        for entry in entries:
            for op in entry.ops:
                self.rules.setdefault(op, []).append(entry.rule)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        rules = self.rules.get(type(op))
        if rules is None:
            return
        for rule in rules:
            if apply_rule(rule, op, rewriter):
                return


@dataclass(frozen=True)
class SimplifyExprPass(RelayPass):
    """Applies algebraic rules until none holds."""

    name = "simplify-expr"

    ignore_signed_zeros: bool = False
    """Let x + 0 be x, which for x = -0 is +0."""
    reassociate: bool = False
    """Combine floating-point constants, which changes when intermediate results overflow."""

    def rewrite(self, op: ModuleOp) -> None:
        options = {
            "": True,
            "ignore_signed_zeros": self.ignore_signed_zeros,
            "reassociate": self.reassociate,
        }
        entries = [entry for entry in RULES if options[entry.option]]
        PatternWalker(Outside(keeps_body, ApplyRules(entries))).rewrite_module(op)
