"""Types with other dtypes: tuples take time in the number of different types within, and no recursion."""

from collections.abc import Callable

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute

from xrelay.dialects.base import tuple_type
from xrelay.dialects.shapes import is_float, is_tensor_type, with_dtype


def with_floats(type_: Attribute, dtype: Attribute, original: Attribute | None = None) -> Attribute:
    """
    A type whose floating-point tensors, or those of the dtype `original`, have another dtype, those within tuples as
    well.
    """

    def changed(each: Attribute) -> Attribute:
        if is_tensor_type(each) and is_float(each.element_type):
            return with_dtype(each, dtype) if original in (None, each.element_type) else each
        return each

    return _rebuilt((type_,), changed)


def with_dtypes(type_: Attribute, like: Attribute) -> Attribute:
    """A type with the dtypes of another one: what was known of dimensions stays."""

    def changed(each: Attribute, other: Attribute) -> Attribute:
        if is_tensor_type(each) and is_tensor_type(other):
            return with_dtype(each, other.element_type)
        return other

    return _rebuilt((type_, like), changed)


def _rebuilt(types: tuple[Attribute, ...], change: Callable[..., Attribute]) -> Attribute:
    """What `change` makes of types, field by field where all are tuples; the first one where that makes no difference."""
    known: dict[tuple[int, ...], Attribute] = {}
    """By identity: comparing types recurses."""
    pending = [types]
    while pending:
        each = pending.pop()
        tuples = [type_ for type_ in each if isinstance(type_, TupleType)]
        if len(tuples) < len(each):
            known[_key(each)] = change(*each)
            continue
        fields = list(zip(*(type_.types.data for type_ in tuples), strict=True))
        missing = [field for field in fields if _key(field) not in known]
        if missing:
            pending += [each, *missing]
            continue
        new = [known[_key(field)] for field in fields]
        is_same = all(one is field[0] for one, field in zip(new, fields, strict=True))
        known[_key(each)] = each[0] if is_same else tuple_type(new)
    return known[_key(types)]


def _key(types: tuple[Attribute, ...]) -> tuple[int, ...]:
    return tuple(map(id, types))
