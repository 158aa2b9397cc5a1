"""Rules on constants that are added and multiplied one after the other."""

from math import isfinite, prod

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, SSAValue

from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import likely
from xrelay.dialects.nn.dense import MatrixProductOp
from xrelay.dialects.nn.norm import BiasAddOp, SoftmaxFamilyOp
from xrelay.dialects.shapes import same_type, shape_of
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.interpreters.arrays import Array, held_elements
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.emitting import reshaped
from xrelay.transforms.rules.rewriting import Emitter, has_static_type, is_floating
from xrelay.transforms.rules.simplify.moves import RESHAPES
from xrelay.transforms.rules.simplify.steps import last_place_shows


def consecutive_sums(op: AddOp, emit: Emitter) -> SSAValue | None:
    """
    (x + a) + b ──► x + (a + b), where the sum of the constants is not computed: of several the last two,
    then the two before them
    """
    users = [use.operation for use in op.result.uses]
    if len(users) == 1 and _addends(users[0]) is not None:
        return None
    pairs: list[tuple[SSAValue, SSAValue]] = []
    value: SSAValue = op.result
    while value is op.result or value.has_one_use():
        outer = _addends(value.owner)
        inner = None if outer is None else _addends(outer[0].owner)
        if outer is None or inner is None or isinstance(inner[0].owner, ConstantOp):
            break
        if _joint_shape(shape_of(inner[1]), shape_of(outer[1])) is None:
            break
        pairs.append((inner[1], outer[1]))
        value = inner[0]
    for first, last in reversed(pairs):
        value = emit(AddOp(value, emit(AddOp(first, last))))
    return value


def _addends(op: Operation | Block) -> tuple[SSAValue, SSAValue] | None:
    """x and c of an addition of x and a constant c."""
    if isinstance(op, AddOp):
        for x, constant in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if isinstance(constant.owner, ConstantOp):
                return x, constant
    return None


def _joint_shape(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of two constants as one, unless that is larger than both are."""
    shape = np.broadcast_shapes(first, second)
    return None if prod(shape) > max(prod(first), prod(second)) else shape


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
    """Two constants as one, unless that is larger than both are, or `_keeps_numbers` says no."""
    if first.dtype.kind not in "iuf":
        return None
    shape = _joint_shape(first.shape, second.shape)
    if shape is None:
        return None
    first, second = held_elements(first), held_elements(second)
    with np.errstate(all="ignore"):
        result = np.asarray(kind(first, second))
    return np.broadcast_to(result, shape) if _keeps_numbers(kind, result, first, second) else None


def _keeps_numbers(kind: np.ufunc, result: Array, first: Array, second: Array) -> bool:
    """
    Whether a combined constant is finite, as both constants are then, and no product vanishes: (x + a) * inf is not
    x * inf + a * inf, and neither is (x * 1e30) * 1e30 x * inf, nor (x * 1e-30) * 1e-30 x * 0.
    """
    if result.dtype.kind != "f":
        return True
    right = np.isfinite(result)
    if kind is np.multiply:
        right &= (np.abs(result) >= np.finfo(result.dtype).tiny) | (first == 0) | (second == 0)
    return bool(np.all(right))


def adjacent_sums(op: AddOp | SubtractOp | BiasAddOp, emit: Emitter) -> SSAValue | None:
    """(x + a) + b ──► x + (a + b)"""
    outer = _split_sum(op.result)
    inner = None if outer is None else _split_sum(outer[0])
    if outer is None or inner is None or last_place_shows(op.results[0], inner[0]):
        return None
    constant = _combined(np.add, inner[1], outer[1])
    return None if constant is None else emit(AddOp(inner[0], emit.constant(constant)))


def adjacent_products(op: MultiplyOp, emit: Emitter) -> SSAValue | None:
    """(x * a) * b ──► x * (a * b)"""
    outer = _split_product(op.result)
    inner = None if outer is None else _split_product(outer[0])
    if outer is None or inner is None or last_place_shows(op.result, inner[0]):
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
    if inner is None or constant is None or last_place_shows(op.result, inner[0]):
        return None
    product = emit(MultiplyOp(inner[0], emit.constant(outer[1])))
    return emit(AddOp(product, emit.constant(constant)))


def scaled_product(op: MatrixProductOp, emit: Emitter) -> SSAValue | None:
    """
    x · (y * c) ──► (x * c) · y with a number c, where x has no more elements than y, and nothing else uses y * c. The
    weights of attention stay beside their softmax.
    """
    types = {value.type.element_type for value in (op.tensor_a, op.tensor_b, op.result)}
    if len(types) > 1 or not is_floating(op.result) or not all(map(has_static_type, op.operands)):
        return None
    scaled: SSAValue = op.tensor_b
    while isinstance(scaled.owner, RESHAPES) and scaled.has_one_use():
        scaled = scaled.owner.data
    if not scaled.has_one_use() or not has_static_type(scaled) or _is_softmax(op.tensor_a):
        return None
    split = _split_product(scaled)
    if split is None or split[1].size != 1 or not same_type(split[0].type, scaled.type):
        return None
    right, factor = split[0], float(split[1].flat[0])
    few, many = (prod(map(likely, shape_of(operand))) for operand in op.operands)
    if few > many or not isfinite(factor) or not factor:
        return None
    left = emit(MultiplyOp(op.tensor_a, emit.scalar(factor, op.tensor_a)))
    if not same_type(right.type, op.tensor_b.type):
        right = reshaped(emit, right, shape_of(op.tensor_b))
    new = type(op).create(
        operands=[left, right],
        result_types=[op.result.type],
        properties=op.properties.copy(),
    )
    return emit(new)


def _is_softmax(value: SSAValue) -> bool:
    """Whether a value is a softmax, in some shape, and some of it may be chosen."""
    while isinstance(value.owner, (*RESHAPES, WhereOp)):
        value = value.owner.operands[-1]
    return isinstance(value.owner, SoftmaxFamilyOp)
