"""
Arithmetic on shapes whose lengths are not known before the program runs: what exporters write as Shape, Gather,
Mul, Concat, and constants instead.

    Shape(x)                  [n, 128, 12]
    Gather(…, 0) * 128        n * 128
    Concat(…, [-1])           [n * 128, -1]
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from operator import add, ge, gt, le, lt, mod, mul, neg, sub
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import LengthsAttr, certainly, equal_as_data, is_open, larger, smaller
from xrelay.dialects.shapes import is_integer_type, is_tensor_type
from xrelay.dialects.tensor import binary, creation, indexing, reshape, transform, unary
from xrelay.dialects.tensor import reduce as reductions
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.constants import known_array


def _quotient(lhs: int, rhs: int) -> int:
    return lhs // rhs


MOVES = (
    indexing.TakeOp,
    reshape.ExpandDimsOp,
    reshape.ReshapeOp,
    reshape.SqueezeOp,
    transform.BroadcastToOp,
    transform.ConcatenateOp,
    transform.SplitOp,
    transform.StridedSliceOp,
    transform.TransposeOp,
)
"""Operators that only move elements, those of their first operand, or of the tensors in it."""
BINARY: dict[type[RelayOp], Callable[[Any, Any], Any]] = {
    binary.AddOp: add,
    binary.SubtractOp: sub,
    binary.MultiplyOp: mul,
    binary.MaximumOp: larger,
    binary.MinimumOp: smaller,
}
COMPARISONS: dict[type[RelayOp], Callable[[Any, Any], Any]] = {
    binary.EqualOp: equal_as_data,
    binary.NotEqualOp: lambda lhs, rhs: not equal_as_data(lhs, rhs),
    binary.LessOp: lt,
    binary.LessEqualOp: le,
    binary.GreaterOp: gt,
    binary.GreaterEqualOp: ge,
}
QUOTIENTS: dict[type[RelayOp], Callable[[Any, Any], Any]] = {
    binary.FloorDivideOp: _quotient,
    binary.FloorModOp: mod,
    binary.DivideOp: _quotient,
    binary.TruncDivideOp: _quotient,
    binary.ModOp: mod,
    binary.TruncModOp: mod,
}
"""Quotients and remainders by what is positive."""
ROUNDED_DOWN = (binary.FloorDivideOp, binary.FloorModOp)
"""Those of them that are rounded down, not towards zero, where what is divided is negative."""
EXACT: dict[Attribute, int] = {f32: 2**24, f64: 2**53}
"""Up to which number a type has all whole ones."""
PASSING_ON = frozenset(
    f"relay.{name}"
    for name in ("reshape", "squeeze", "expand_dims", "broadcast_to", "transpose", "cast")
)
"""The names of operators whose results are the numbers of their operand, in another shape."""
REDUCTIONS: dict[type[RelayOp], Callable[[Any, Any], Any]] = {
    reductions.ProdOp: mul,
    reductions.SumOp: add,
    reductions.MaxOp: larger,
    reductions.MinOp: smaller,
}


def has_lengths(array: object) -> bool:
    """Whether an array holds numbers that are not known before the program runs."""
    return isinstance(array, np.ndarray) and cast(Array, array).dtype == object


def number_array(values: Sequence[int], shape: Sequence[int] | None = None) -> Array:
    """Whole numbers, among them lengths, as an array: of int64 where none of them is open."""
    if not any(map(is_open, values)):
        array = np.array(list(map(int, values)), np.int64)
    else:
        array = np.empty(len(values), object)
        array[:] = list(values)
    return array if shape is None else array.reshape(shape)


def lengths_of(op: object) -> Array | None:
    """The numbers of a constant that holds lengths; None for what is none."""
    if not isinstance(op, ConstantOp) or not isinstance(op.value, LengthsAttr):
        return None
    return number_array(op.value.data, op.result.type.get_shape())


def ends_of_range(value: SSAValue) -> tuple[int, int] | None:
    """The first number of a range of lengths, in any shape, and that behind its last one; None for what is no such range."""
    op = value.owner
    while isinstance(op, RelayOp) and op.name in PASSING_ON:
        op = op.operands[0].owner
    if not isinstance(op, creation.ArangeOp):
        return None
    ends: list[int] = []
    for each in op.operands:
        numbers = lengths_of(each.owner)
        numbers = known_array(each) if numbers is None else numbers
        if numbers is None or numbers.size != 1:
            return None
        ends.append(cast(int, numbers.reshape(-1)[0]))
    start, stop, step = ends
    return (start, stop) if certainly(step, 1) else None


def numbers_of(op: object) -> Array | None:
    """The numbers of a constant that holds lengths, also as f32 or f64; None for what is none."""
    if isinstance(op, unary.CastOp) and op.result.type.element_type in EXACT:
        return lengths_of(op.data.owner)
    return lengths_of(op)


def exact_numbers_of(op: object) -> Array | None:
    """The same, on the condition that floating-point numbers are the whole ones."""
    numbers = numbers_of(op)
    if numbers is None or not isinstance(op, unary.CastOp):
        return numbers
    most = EXACT[op.result.type.element_type]
    return numbers if all(-most <= each <= most for each in numbers.reshape(-1)) else None


def computed(
    op: RelayOp, values: Sequence[Any], run: Callable[[RelayOp, list[Any]], Any]
) -> Array | tuple[Array, ...] | None:
    """
    What an operator makes of values that are known but for lengths, of which there are some; None where that is no
    arithmetic on shapes. `run` interprets an operator.
    """
    if not all(map(_is_whole, values)):
        return None
    if isinstance(op, MOVES):
        return _moved(op, values, run)
    type_ = op.results[0].type
    if not is_tensor_type(type_):
        return None
    operands = [cast(Array, value) for value in values if isinstance(value, np.ndarray)]
    if len(operands) < len(values):
        return None
    if type(op) in COMPARISONS:
        return _each(COMPARISONS[type(op)], operands).astype(bool)
    if isinstance(op, transform.WhereOp) and operands[0].dtype == bool:
        found = np.where(*operands)
        return number_array(list(found.reshape(-1)), found.shape)
    if isinstance(op, unary.FloorOp | unary.CeilOp | unary.RoundOp | unary.TruncOp):
        return operands[0]
    if isinstance(op, unary.CastOp):
        return as_integers(operands[0], type_.element_type)
    found = _arithmetic(op, operands, prod(type_.get_shape()))
    return None if found is None else _held(found, type_)


def _arithmetic(op: RelayOp, operands: Sequence[Array], size: int) -> Array | None:
    """The numbers, so many, that an operator computes; None for one that is no arithmetic on shapes."""
    if type(op) in BINARY:
        return _each(BINARY[type(op)], operands)
    if isinstance(op, unary.NegativeOp):
        return _each(neg, operands)
    if type(op) in QUOTIENTS and bool((operands[1] > 0).all()):
        rounds_down = isinstance(op, ROUNDED_DOWN) or bool((operands[0] >= 0).all())
        return _each(QUOTIENTS[type(op)], operands) if rounds_down else None
    if type(op) in REDUCTIONS and operands[0].size and size == 1:
        numbers = map(_number, operands[0].reshape(-1))
        return number_array([_wrapped(reduce(REDUCTIONS[type(op)], numbers))])
    return None


def _held(numbers: Array, type_: TensorType[Attribute]) -> Array | None:
    """What is computed as elements of a type: of 64 bits as it is, of 32 on the condition that these hold it."""
    numbers = numbers.reshape(type_.get_shape())
    return numbers if type_.element_type == i64 else as_integers(numbers, type_.element_type)


def as_integers(numbers: Array, type_: Attribute) -> Array | None:
    """Numbers as elements of a type, which holds them on a condition; None for one that may not."""
    if not is_integer_type(type_) or type_.width.data not in (32, 64):
        return None
    most = 2 ** (type_.width.data - 1) - 1
    return numbers if all(-most <= each <= most for each in numbers.reshape(-1)) else None


def _each(code: Callable[..., Any], operands: Sequence[Array]) -> Array:
    """A function of the elements of arrays that broadcast."""
    arrays = np.broadcast_arrays(*operands)
    results = [
        _wrapped(code(*map(_number, elements)))
        for elements in zip(*(each.reshape(-1) for each in arrays), strict=True)
    ]
    return number_array(results, arrays[0].shape)


def _wrapped(number: Any) -> Any:
    """A number as 64 bits hold it; lengths of so many pin their symbols."""
    return (number + 2**63) % 2**64 - 2**63 if type(number) is int else number


def _is_whole(value: object) -> bool:
    """Whether all numbers of an array, or of the arrays in a tuple, are whole ones."""
    if isinstance(value, tuple):
        return all(map(_is_whole, cast(tuple[object, ...], value)))
    if not isinstance(value, np.ndarray):
        return True
    array = cast(Array, value)
    if array.dtype.kind != "f":
        return array.dtype.kind in "iubO"
    # The sign of zero is none of a whole number's.
    whole = np.isfinite(array) & (array == np.trunc(array)) & ~((array == 0) & np.signbit(array))
    return bool(whole.all())


def _number(element: Any) -> Any:
    """An element as a number of Python's."""
    return element if is_open(element) else int(element)


def _moved(
    op: RelayOp, values: Sequence[Any], run: Callable[[RelayOp, list[Any]], Any]
) -> Array | tuple[Array, ...] | None:
    """Moves the numbers of the elements, and looks up which they are."""
    data, *others = values
    if any(map(has_lengths, others)):
        return None
    parts = cast(tuple[Array, ...], data) if isinstance(data, tuple) else (cast(Array, data),)
    elements = [element for part in parts for element in part.reshape(-1)]
    places: list[Array] = []
    first = 0
    for part in parts:
        places.append(np.arange(first, first + part.size).reshape(part.shape))
        first += part.size
    moved = run(op, [tuple(places) if isinstance(data, tuple) else places[0], *others])
    found = tuple(
        number_array([_number(elements[place]) for place in each.reshape(-1)], each.shape)
        for each in (cast(tuple[Array, ...], moved) if isinstance(moved, tuple) else (moved,))
    )
    return found if isinstance(moved, tuple) else found[0]
