"""The numbers in constants, for operators whose result types depend on them."""

from struct import unpack
from typing import Any

from xdsl.dialects.builtin import Signedness, i1
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.core.values import BlobAttr, ConstantOp, is_dense
from xrelay.dialects.shapes import is_integer_type

_FORMATS = {8: "b", 16: "h", 32: "i", 64: "q"}


def constant_numbers(value: SSAValue) -> tuple[int | float, ...] | None:
    """
    The elements, in row-major order, of a tensor that is a `relay.constant`; None for other values
    and for large constants that are not integers in memory.
    """
    op = value.owner
    if not isinstance(op, Operation) or not isinstance(op, ConstantOp):
        return None
    if is_dense(op.value):
        elements: list[Any] = list(op.value.iter_values())
        return tuple(elements) if all(isinstance(x, int | float) for x in elements) else None
    dtype = op.result.type.element_type
    if not isinstance(op.value, BlobAttr) or op.value.data.data is None:
        return None
    if not is_integer_type(dtype) or dtype == i1:
        return None
    code = _FORMATS.get(dtype.width.data)
    if code is None:
        return None
    if dtype.signedness.data == Signedness.UNSIGNED:
        code = code.upper()
    data = op.value.data.data
    return unpack(f"<{len(data) * 8 // dtype.width.data}{code}", data)


def constant_integers(value: SSAValue) -> tuple[int, ...] | None:
    """`constant_numbers` that are integers; None for floating-point ones."""
    numbers = constant_numbers(value)
    if numbers is None or not all(isinstance(number, int) for number in numbers):
        return None
    return tuple(int(number) for number in numbers)
