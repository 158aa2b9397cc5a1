"""Shape and attribute arithmetic that type inference of the relay operators shares."""

from collections.abc import Iterable, Sequence
from itertools import chain
from math import prod
from typing import TypeGuard

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BoolAttr,
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    TupleType,
    f64,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import DiagnosticException, VerifyException

Shape = Sequence[int]


def is_tensor_type(type_: Attribute) -> TypeGuard[TensorType[Attribute]]:
    """Whether a type is that of ranked tensors."""
    return isinstance(type_, TensorType)


def is_integer_type(type_: Attribute) -> TypeGuard[IntegerType]:
    """Whether an element type is an integer type (i1 too)."""
    return isinstance(type_, IntegerType)


def tensor_type(value: SSAValue | Attribute, what: str) -> TensorType[Attribute]:
    """The tensor type of `value`; `what` names the operand in the error."""
    type_ = value.type if isinstance(value, SSAValue) else value
    if not is_tensor_type(type_):
        raise VerifyException(f"{what} is {type_}, expected a ranked tensor")
    return type_


def ranked(value: SSAValue, what: str, rank: int) -> TensorType[Attribute]:
    """The tensor type of `value`, which must have `rank` dimensions."""
    type_ = tensor_type(value, what)
    if len(type_.get_shape()) != rank:
        raise VerifyException(f"{what} is {type_}, expected rank {rank}")
    return type_


def tuple_fields(value: SSAValue, what: str) -> tuple[TensorType[Attribute], ...]:
    """The tensor types of the fields of a tuple value."""
    if not isinstance(value.type, TupleType):
        raise VerifyException(f"{what} is {value.type}, expected a tuple of tensors")
    return tuple(
        tensor_type(field, f"field {i} of {what}") for i, field in enumerate(value.type.types.data)
    )


def element_type(dtype: Attribute, what: str) -> Attribute:
    """`dtype`, which must be an integer or floating-point type; `what` names the property."""
    if not is_integer_type(dtype) and not is_float(dtype):
        raise VerifyException(f"'{what}' is {dtype}, expected an integer or floating-point type")
    return dtype


def integer_tensor(value: SSAValue, what: str) -> TensorType[Attribute]:
    """The type of an operand, which must hold integers and no bools."""
    type_ = tensor_type(value, f"'{what}'")
    if not is_integer_type(type_.element_type) or type_.element_type.width.data == 1:
        raise VerifyException(f"'{what}' is {type_}, expected integers")
    return type_


def integer_vector(value: SSAValue, what: str) -> int:
    """The length of an operand, which must be a tensor of integers of rank 1."""
    type_ = integer_tensor(value, what)
    if type_.get_num_dims() != 1:
        raise VerifyException(f"'{what}' is {type_}, expected rank 1")
    return type_.get_shape()[0]


def with_shape(type_: TensorType[Attribute], shape: Shape) -> TensorType[Attribute]:
    """`type_` with another shape."""
    return TensorType(type_.element_type, shape)


def with_dtype(type_: TensorType[Attribute], dtype: Attribute) -> TensorType[Attribute]:
    """`type_` with another element type."""
    return TensorType(dtype, type_.get_shape())


def is_dynamic(type_: Attribute) -> bool:
    """Whether a tensor type, or a field of a tuple type, has an unknown dimension."""
    if isinstance(type_, TupleType):
        return any(is_dynamic(field) for field in type_.types.data)
    return is_tensor_type(type_) and DYNAMIC_INDEX in type_.get_shape()


MOST_ELEMENTS = 1 << 48
"""No processor addresses tensors of more: programs have 2**48 bytes of addresses or fewer."""


def is_addressable(type_: TensorType[Attribute]) -> bool:
    """
    Whether arrays can have the shape of a type. Dimensions of 0 count as 1: beside them the others
    are as far from what strides can say.
    """
    return prod(dim for dim in type_.get_shape() if dim > 0) <= MOST_ELEMENTS


def element_count(shape: Shape) -> int:
    """Number of elements, or DYNAMIC_INDEX when a dimension is unknown (and none is 0)."""
    if 0 in shape:
        return 0
    return DYNAMIC_INDEX if DYNAMIC_INDEX in shape else prod(shape)


def dimension_product(shape: Sequence[int]) -> int:
    """The product of dimensions, DYNAMIC_INDEX when one is unknown."""
    return DYNAMIC_INDEX if DYNAMIC_INDEX in shape else prod(shape)


def same_dimension(lhs: int, rhs: int) -> bool:
    """Whether two dimensions can be equal: unknown ones agree with all."""
    return lhs == rhs or DYNAMIC_INDEX in (lhs, rhs)


def compatible(lhs: Attribute, rhs: Attribute) -> bool:
    """
    Whether two types can describe one value: equal up to unknown dimensions. Takes time in the
    number of different types within, of which tuples of shared tuples have few.
    """
    pending = [(lhs, rhs)]
    seen: set[tuple[int, int]] = set()
    """The tuples that were compared, by identity."""
    while pending:
        left, right = pending.pop()
        if left is right:
            continue
        if isinstance(left, TupleType) and isinstance(right, TupleType):
            if len(left.types) != len(right.types):
                return False
            pair = id(left), id(right)
            if pair not in seen:
                seen.add(pair)
                pending.extend(zip(left.types.data, right.types.data, strict=True))
        elif not _same_but_for_dimensions(left, right):
            return False
    return True


def _same_but_for_dimensions(lhs: Attribute, rhs: Attribute) -> bool:
    if not is_tensor_type(lhs) or not is_tensor_type(rhs):
        return lhs == rhs
    left, right = lhs.get_shape(), rhs.get_shape()
    return (
        lhs.element_type == rhs.element_type
        and len(left) == len(right)
        and all(map(same_dimension, left, right))
    )


def broadcast_shapes(lhs: Shape, rhs: Shape, names: tuple[str, str] = ("lhs", "rhs")) -> list[int]:
    """
    The NumPy broadcast of two shapes. An unknown dimension broadcast with 1 or with another
    unknown one stays unknown; with n > 1 it must be n.
    """
    rank = max(len(lhs), len(rhs))
    padded = [[1] * (rank - len(shape)) + list(shape) for shape in (lhs, rhs)]
    result: list[int] = []
    for axis, (left, right) in enumerate(zip(*padded, strict=True)):
        if left == right or right == 1:
            result.append(left)
        elif left == 1 or left == DYNAMIC_INDEX:
            result.append(right)
        elif right == DYNAMIC_INDEX:
            result.append(left)
        else:
            raise VerifyException(
                f"'{names[0]}' {shape_text(lhs)} and '{names[1]}' {shape_text(rhs)} do not "
                f"broadcast: {left} and {right} in dimension {axis} of the result"
            )
    return result


def joined_shape(fields: Sequence[TensorType[Attribute]], axis: int | None = None) -> list[int]:
    """
    The shape of tensors of one rank, the fields of 'data', one after the other along `axis`. Their
    other dimensions, all of them without an axis, agree.

    Raises VerifyException naming the field that does not agree with those before.
    """
    shape = list(fields[0].get_shape())
    for i, field in enumerate(fields[1:], 1):
        for d, (dim, known) in enumerate(zip(field.get_shape(), shape, strict=True)):
            if d == axis:
                shape[d] = DYNAMIC_INDEX if DYNAMIC_INDEX in (dim, known) else dim + known
            elif not same_dimension(dim, known):
                raise VerifyException(
                    f"field {i} of 'data' has length {dim} in dimension {d}, others {known}"
                )
            elif known == DYNAMIC_INDEX:
                shape[d] = dim
    return shape


def shape_text(shape: Shape) -> str:
    """A shape as messages print it: `[1, ?, 4]`."""
    return "[" + ", ".join("?" if d == DYNAMIC_INDEX else str(d) for d in shape) + "]"


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """`axis` counted from the front."""
    if not -rank <= axis < rank:
        raise VerifyException(f"'{what}' is {axis}, accepted range is [{-rank}, {rank - 1}]")
    return axis + rank if axis < 0 else axis


def normalize_axes(axes: Iterable[int], rank: int, what: str = "axis") -> tuple[int, ...]:
    """`axes` counted from the front, without repetition."""
    result = tuple(normalize_axis(axis, rank, what) for axis in axes)
    if len(set(result)) != len(result):
        raise VerifyException(f"'{what}' {list(result)} names a dimension twice")
    return result


def is_float(dtype: Attribute) -> bool:
    """Whether an element type is a floating-point type."""
    return isinstance(dtype, AnyFloat)


def int_array(values: Iterable[int]) -> DenseArrayBase[IntegerType]:
    """A property that holds integers: `array<i64: …>`."""
    return DenseArrayBase.from_list(i64, list(values))


def float_array(values: Iterable[float]) -> DenseArrayBase[Float64Type]:
    """A property that holds floating-point numbers: `array<f64: …>`."""
    return DenseArrayBase.from_list(f64, list(values))


def integer(value: int) -> IntegerAttr[IntegerType]:
    """A 64-bit integer property."""
    return IntegerAttr(value, i64)


def boolean(value: bool) -> BoolAttr:
    """A bool property."""
    return BoolAttr.from_bool(value)


def real(value: float) -> FloatAttr:
    """A 64-bit floating-point property."""
    return FloatAttr(value, f64)


def string(value: str) -> StringAttr:
    """A string property."""
    return StringAttr(value)


def static_tensor(type_: Attribute) -> TensorType[Attribute]:
    """A tensor type whose shape must be known, and one that a processor can address."""
    if not is_tensor_type(type_):
        raise DiagnosticException(f"{type_} is not a tensor type")
    if is_dynamic(type_):
        raise DiagnosticException(f"{type_} has an unknown dimension; code needs static shapes")
    if not is_addressable(type_):
        raise DiagnosticException(
            f"{type_} is too large: no processor addresses more than {MOST_ELEMENTS} elements"
        )
    return type_


def leaf_types(type_: Attribute) -> tuple[TensorType[Attribute], ...]:
    """The tensors in a type, tuples flattened from the left."""
    if not isinstance(type_, TupleType):
        return (static_tensor(type_),)
    known = vars(type_).get(_STATIC_LEAVES)
    if known is None:
        known = vars(type_)[_STATIC_LEAVES] = tuple(map(static_tensor, flattened(type_)))
    return known


def leaf_count(type_: Attribute) -> int:
    """How many tensors are in a type, tuples flattened."""
    return len(flattened(type_))


_LEAVES, _STATIC_LEAVES = "xrelay.leaves", "xrelay.static_leaves"
"""
What a tuple type is asked again and again is kept with it: as a key of a table it would be compared, and
hashed, field by field down to the last.
"""


def flattened(type_: Attribute) -> tuple[Attribute, ...]:
    """What is in a type, tuples flattened from the left: worked out once for each tuple within."""
    if not isinstance(type_, TupleType):
        return (type_,)
    pending = [type_]
    while _LEAVES not in vars(type_):
        fields = pending[-1].types.data
        tuples = [field for field in fields if isinstance(field, TupleType)]
        missing = [field for field in tuples if _LEAVES not in vars(field)]
        pending.extend(missing)
        if not missing:
            vars(pending.pop())[_LEAVES] = tuple(chain.from_iterable(map(_known_leaves, fields)))
    return _known_leaves(type_)


def _known_leaves(type_: Attribute) -> tuple[Attribute, ...]:
    return vars(type_)[_LEAVES] if isinstance(type_, TupleType) else (type_,)


def tuple_depth(types: Iterable[Attribute]) -> int:
    """How many tuples are in each other at most, in types that may share what is in them; 0 for none."""
    depths: dict[int, int] = {}
    """By identity: comparing types recurses as deep."""
    pending = [type_ for type_ in types if isinstance(type_, TupleType)]
    while pending:
        tuples = [field for field in pending[-1].types.data if isinstance(field, TupleType)]
        missing = [field for field in tuples if id(field) not in depths]
        pending.extend(missing)
        if not missing:
            depths[id(pending.pop())] = 1 + max((depths[id(field)] for field in tuples), default=0)
    return max(depths.values(), default=0)
