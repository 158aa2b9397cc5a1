"""The numbers in constants, for operators whose result types depend on them."""

from typing import Any

from xdsl.ir import SSAValue

from xrelay.dialects.core.blob import stored_content
from xrelay.dialects.core.dense import is_dense
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import LengthsAttr
from xrelay.dialects.shapes import element_count, is_integer_type

MOST_NUMBERS = 1 << 16
"""A constant of more elements says nothing of a shape."""


def constant_numbers(value: SSAValue) -> tuple[int | float, ...] | None:
    """
    The elements, in row-major order, of a tensor that is a `relay.constant`; None for other values,
    for more than MOST_NUMBERS elements, and for large constants that are not integers in memory.
    """
    op = value.owner
    if not isinstance(op, ConstantOp):
        return None
    if isinstance(op.value, LengthsAttr):
        return op.value.data
    content, dtype = stored_content(op.value), op.result.type.element_type
    count = element_count(op.result.type.get_shape())
    if content is None or count > MOST_NUMBERS:
        return None
    numbers: tuple[Any, ...]
    if is_dense(op.value):
        numbers = tuple(op.value.iter_values())
    elif is_integer_type(dtype) and dtype.width.data in (8, 16, 32, 64):
        numbers = tuple(dtype.iter_unpack(content))
    else:
        return None
    if not all(isinstance(number, int | float) for number in numbers):
        return None
    return numbers * count if len(numbers) == 1 else numbers


def constant_integers(value: SSAValue) -> tuple[int, ...] | None:
    """`constant_numbers` that are integers; None for floating-point ones."""
    numbers = constant_numbers(value)
    if numbers is None or not all(isinstance(number, int) for number in numbers):
        return None
    return tuple(int(number) for number in numbers)
