"""Shape and attribute arithmetic that type inference of the relay operators shares."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
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
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from xrelay.dialects.lengths import certainly
from xrelay.dialects.limits import DEFAULT_LIMITS

Shape = Sequence[int]


def is_tensor_type(type_: Attribute) -> TypeGuard[TensorType[Attribute]]:
    """Whether a type is that of ranked tensors."""
    return isinstance(type_, TensorType)


def is_integer_type(type_: Attribute) -> TypeGuard[IntegerType]:
    """Whether an element type is an integer type (i1 too)."""
    return isinstance(type_, IntegerType)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a value that is a tensor."""
    assert is_tensor_type(value.type)
    return value.type.get_shape()


def element_type_of(value: SSAValue) -> TypeAttribute:
    """The type of the elements of a value that is a tensor."""
    assert is_tensor_type(value.type)
    dtype = value.type.element_type
    assert isinstance(dtype, TypeAttribute)
    return dtype


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


def require_one_of(what: str, text: StringAttr | str, *accepted: str) -> None:
    """Raises VerifyException unless the property `what` is one of the accepted texts."""
    found = text if isinstance(text, str) else text.data
    if found not in accepted:
        names = " or ".join(f'"{name}"' for name in accepted)
        raise VerifyException(f"'{what}' is \"{found}\", accepted is {names}")


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


def require_float(type_: TensorType[Attribute], what: str) -> None:
    """Raises VerifyException unless the operand `what` holds floating-point numbers."""
    if not is_float(type_.element_type):
        raise VerifyException(
            f"'{what}' has elements of type {type_.element_type}, expected floating point"
        )


def require_same_dtype(
    first: TensorType[Attribute], what: str, other: TensorType[Attribute], other_what: str
) -> None:
    """Raises VerifyException unless two operands, `what` and `other_what`, hold elements of one type."""
    if first.element_type != other.element_type:
        raise VerifyException(
            f"'{what}' has elements of type {first.element_type}, '{other_what}' of {other.element_type}"
        )


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


@lru_cache(maxsize=1 << 12)
def tensor_of(element: Attribute, shape: tuple[int, ...]) -> TensorType[Attribute]:
    """A tensor type, made once: programs have few of them, and many values of each."""
    return TensorType(element, shape)


def with_shape(type_: TensorType[Attribute], shape: Shape) -> TensorType[Attribute]:
    """`type_` with another shape."""
    return tensor_of(type_.element_type, tuple(shape))


def with_dtype(type_: TensorType[Attribute], dtype: Attribute) -> TensorType[Attribute]:
    """`type_` with another element type."""
    return tensor_of(dtype, type_.get_shape())


def is_dynamic(type_: Attribute) -> bool:
    """Whether a tensor type, or a field of a tuple type, has an unknown dimension."""
    if isinstance(type_, TupleType):
        return any(is_dynamic(field) for field in type_.types.data)
    return is_tensor_type(type_) and DYNAMIC_INDEX in type_.get_shape()


MOST_ELEMENTS = 1 << 48
"""No processor addresses tensors of more: programs have 2**48 bytes of addresses or fewer."""


MOST_DIMENSIONS = 64
"""NumPy's arrays have no more."""


def is_addressable(type_: Attribute) -> bool:
    """Whether arrays can have the shape of a tensor type, and of the fields of a tuple type."""
    if isinstance(type_, TupleType):
        return all(is_addressable(field) for field in type_.types.data)
    return not is_tensor_type(type_) or array_refusal(type_) is None


def array_refusal(type_: TensorType[Attribute]) -> str | None:
    """
    Why no array can have the shape of a type; None when it can. Dimensions of 0 count as 1: beside them
    the others are as far from what strides can say.
    """
    shape = type_.get_shape()
    counted = (dim for dim in shape if not certainly(dim, 0) and dim != DYNAMIC_INDEX)
    if prod(counted) > MOST_ELEMENTS:
        return f"{type_} is too large: no processor addresses more than {MOST_ELEMENTS} elements"
    if len(shape) > MOST_DIMENSIONS:
        return f"{type_} has {len(shape)} dimensions, arrays have at most {MOST_DIMENSIONS}"
    return None


def same_shape(lhs: Shape, rhs: Shape) -> bool:
    """Whether two shapes are equal, whatever the lengths in them are."""
    return len(lhs) == len(rhs) and all(map(certainly, lhs, rhs))


def is_empty(shape: Shape) -> bool:
    """Whether a tensor of a shape has no elements whatever the lengths are. A length that turns out to be 0 is treated as a longer one."""
    return any(certainly(dim, 0) for dim in shape)


def element_count(shape: Shape) -> int:
    """Number of elements, or DYNAMIC_INDEX when a dimension is unknown (and none is 0)."""
    if is_empty(shape):
        return 0
    return DYNAMIC_INDEX if DYNAMIC_INDEX in shape else prod(shape)


def dimension_product(shape: Sequence[int]) -> int:
    """The product of dimensions, DYNAMIC_INDEX when one is unknown."""
    return DYNAMIC_INDEX if DYNAMIC_INDEX in shape else prod(shape)


def same_dimension(lhs: int, rhs: int) -> bool:
    """Whether two dimensions can be equal: unknown ones agree with all."""
    return lhs == rhs or DYNAMIC_INDEX in (lhs, rhs)


def shapes_agree(lhs: Shape, rhs: Shape) -> bool:
    """Whether two shapes can be equal: unknown dimensions agree with all."""
    return len(lhs) == len(rhs) and all(map(same_dimension, lhs, rhs))


def compatible(lhs: Attribute, rhs: Attribute) -> bool:
    """
    Whether two types can describe one value: equal up to unknown dimensions. Takes time in the
    number of different types within, of which tuples of shared tuples have few.
    """
    return _leaves_agree(lhs, rhs, _same_but_for_dimensions)


def same_type(lhs: Attribute, rhs: Attribute) -> bool:
    """Whether two types are equal, without recursion into tuples and in the time of `compatible`."""
    return _leaves_agree(lhs, rhs, _same_tensor)


def _leaves_agree(
    lhs: Attribute, rhs: Attribute, agree: Callable[[Attribute, Attribute], bool]
) -> bool:
    """Whether two types are tuples of the same form, and what they hold agrees."""
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
        elif not agree(left, right):
            return False
    return True


def _same_tensor(lhs: Attribute, rhs: Attribute) -> bool:
    if not is_tensor_type(lhs) or not is_tensor_type(rhs):
        return lhs == rhs
    alike = lhs.element_type == rhs.element_type and lhs.encoding == rhs.encoding
    return alike and same_shape(lhs.get_shape(), rhs.get_shape())


def _same_but_for_dimensions(lhs: Attribute, rhs: Attribute) -> bool:
    if not is_tensor_type(lhs) or not is_tensor_type(rhs):
        return lhs == rhs
    alike = lhs.element_type == rhs.element_type
    return alike and shapes_agree(lhs.get_shape(), rhs.get_shape())


def broadcast_shapes(lhs: Shape, rhs: Shape, names: tuple[str, str] = ("lhs", "rhs")) -> list[int]:
    """
    The NumPy broadcast of two shapes. An unknown dimension broadcast with 1 or with another
    unknown one stays unknown; with n > 1 it must be n.
    """
    rank = max(len(lhs), len(rhs))
    padded = [[1] * (rank - len(shape)) + list(shape) for shape in (lhs, rhs)]
    result: list[int] = []
    for axis, (left, right) in enumerate(zip(*padded, strict=True)):
        if certainly(right, 1):
            result.append(left)
        elif certainly(left, 1):
            result.append(right)
        elif left == right or right == 1:
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


def divided(length: int, divisor: int, what: str, unit: str = "") -> int:
    """`length` / `divisor`, which must be whole; unknown when the length is."""
    if length == DYNAMIC_INDEX:
        return length
    if length % divisor:
        raise VerifyException(f"{what} is {length}, not a multiple of {divisor}{unit}")
    return length // divisor


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


class HasNoCode(DiagnosticException):
    """A program holds what machine code is not generated for, and what the interpreter may run."""


def static_tensor(type_: Attribute) -> TensorType[Attribute]:
    """A tensor type whose shape must be known, and one that a processor can address."""
    if not is_tensor_type(type_):
        raise DiagnosticException(f"{type_} is not a tensor type")
    if _IS_STATIC in vars(type_):
        return type_
    if is_dynamic(type_):
        raise HasNoCode(f"{type_} has an unknown dimension; code needs static shapes")
    refusal = array_refusal(type_)
    if refusal is not None:
        raise DiagnosticException(refusal)
    vars(type_)[_IS_STATIC] = True
    return type_


def leaf_types(type_: Attribute) -> tuple[TensorType[Attribute], ...]:
    """
    The tensors in a type, tuples flattened from the left.

    Raises DiagnosticException for what has no static shape, and for more tensors than `types_within` takes.
    """
    if not isinstance(type_, TupleType):
        return (static_tensor(type_),)
    known = vars(type_).get(_STATIC_LEAVES)
    if known is not None:
        return known
    found = tuple(map(static_tensor, types_within(type_)))
    if len(found) == len(type_.types):
        # Only what is as long as the type itself is kept: of tuples in tuples, each would have all within.
        vars(type_)[_STATIC_LEAVES] = found
    return found


def leaf_type(type_: Attribute, number: int) -> TensorType[Attribute]:
    """One of the `leaf_types` of a type, without looking at the others."""
    while isinstance(type_, TupleType):
        field, number = field_of_leaf(type_, number)
        type_ = type_.types.data[field]
    return static_tensor(type_)


def types_within(type_: Attribute) -> Iterator[Attribute]:
    """
    What is in a type, tuples flattened from the left.

    Raises DiagnosticException when that is more than programs may have: tuples of shared tuples are small
    and hold very much.
    """
    leaf_count(type_)
    pending = [iter((type_,))]
    while pending:
        each = next(pending[-1], None)
        if each is None:
            pending.pop()
        elif isinstance(each, TupleType):
            pending.append(iter(each.types.data))
        else:
            yield each


def leaf_count(type_: Attribute) -> int:
    """How many tensors are in a type, tuples flattened. Raises DiagnosticException as `types_within`."""
    count = _leaf_count(type_)
    if count > DEFAULT_LIMITS.max_nodes:
        raise DiagnosticException(
            f"a tuple of {count} tensors, those in tuples within counted, the limit is "
            f"{DEFAULT_LIMITS.max_nodes}"
        )
    return count


def field_places(type_: TupleType) -> tuple[int, ...]:
    """The number of the first leaf of each field of a tuple, and of all leaves at the end."""
    for each in inner_tuples_first((type_,), lambda each: _PLACES in vars(each)):
        vars(each)[_PLACES] = tuple(accumulate(map(_leaf_count, each.types.data), initial=0))
    return vars(type_)[_PLACES]


def field_of_leaf(type_: TupleType, number: int) -> tuple[int, int]:
    """In which field of a tuple a leaf is, and its number within this."""
    places = field_places(type_)
    field = bisect_right(places, number) - 1
    return field, number - places[field]


_IS_STATIC = "xrelay.is_static"
"""What was found of a tensor type is kept with it: code generation asks thousands of times."""
_PLACES, _STATIC_LEAVES = "xrelay.places", "xrelay.static_leaves"
"""
What a tuple type is asked again and again is kept with it: as a key of a table it would be compared, and
hashed, field by field down to the last.
"""


def _leaf_count(type_: Attribute) -> int:
    return field_places(type_)[-1] if isinstance(type_, TupleType) else 1


def inner_tuples_first(
    types: Iterable[Attribute], is_known: Callable[[TupleType], bool]
) -> Iterator[TupleType]:
    """
    The tuple types within some types, which may share them, that are not known: each after those in its
    fields, and without recursion. The caller makes each known before it takes the next.
    """
    pending = [type_ for type_ in types if isinstance(type_, TupleType)]
    while pending:
        type_ = pending[-1]
        if is_known(type_):
            pending.pop()
            continue
        fields = (field for field in type_.types.data if isinstance(field, TupleType))
        missing = [field for field in fields if not is_known(field)]
        pending.extend(missing)
        if not missing:
            yield pending.pop()


def tuple_depth(types: Iterable[Attribute]) -> int:
    """How many tuples are in each other at most, in types that may share what is in them; 0 for none."""
    depths: dict[int, int] = {}
    """By identity: comparing types recurses as deep."""
    for type_ in inner_tuples_first(types, lambda each: id(each) in depths):
        inner = (depths[id(each)] for each in type_.types.data if isinstance(each, TupleType))
        depths[id(type_)] = 1 + max(inner, default=0)
    return max(depths.values(), default=0)
