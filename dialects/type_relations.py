"""How types that know different dimensions of one value relate."""

from collections.abc import Callable

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, TensorType
from xdsl.ir import Attribute

from xrelay.dialects.core.functional import same_head, type_parts, with_parts
from xrelay.dialects.lengths import same_for_many
from xrelay.dialects.shapes import is_tensor_type


def refined(one: Attribute, other: Attribute) -> Attribute | None:
    """
    The type that knows the dimensions that either of two types of one value knows; None when they
    contradict each other. A type `none`, one not stated yet, knows nothing.
    """
    if isinstance(one, NoneType) or isinstance(other, NoneType):
        return other if isinstance(one, NoneType) else one
    return _combined(one, other, _refined_dimension)


def joined(one: Attribute, other: Attribute) -> Attribute | None:
    """
    The type that describes the values of two types; None when there is none. A length that is only by chance that of the
    other is unknown.
    """
    return _combined(
        one, other, lambda left, right: left if same_for_many(left, right) else DYNAMIC_INDEX
    )


def same_type(one: Attribute, other: Attribute) -> bool:
    """Whether two types are equal. Unlike `==` it does not recurse into nested types."""
    pending = [(one, other)]
    while pending:
        left, right = pending.pop()
        if left is right:
            continue
        if not same_head(left, right):
            return False
        pending.extend(zip(type_parts(left), type_parts(right), strict=True))
    return True


def tells(found: Attribute, stated: Attribute) -> bool:
    """Whether `found` knows all that `stated` does, and does not contradict it."""
    return refined(found, stated) == found


def _refined_dimension(left: int, right: int) -> int | None:
    if left == right or right == DYNAMIC_INDEX:
        return left
    return right if left == DYNAMIC_INDEX else None


def _combined(
    one: Attribute, other: Attribute, dimension: Callable[[int, int], int | None]
) -> Attribute | None:
    """Two types that are the same up to dimensions, each pair of which is combined."""
    if one is other:
        return one
    if is_tensor_type(one) and is_tensor_type(other):
        left, right = one.get_shape(), other.get_shape()
        if one.element_type != other.element_type or len(left) != len(right):
            return None
        shape: list[int] = []
        for pair in zip(left, right, strict=True):
            combined = dimension(*pair)
            if combined is None:
                return None
            shape.append(combined)
        return TensorType(one.element_type, shape)
    if not same_head(one, other):
        return None
    fields: list[Attribute] = []
    for pair in zip(type_parts(one), type_parts(other), strict=True):
        field = _combined(*pair, dimension)
        if field is None:
            return None
        fields.append(field)
    return with_parts(one, tuple(fields))
