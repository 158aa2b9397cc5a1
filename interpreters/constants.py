"""
The one codec of constants: arrays, the attributes that hold them, and back.

Arrays with equal bits become equal attributes, however they lie in memory: one element where all are
the same, all of them in a dense attribute where they are few, else a blob over the memory of the array.
"""

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.core.blob import Blob, BlobAttr, stored_content
from xrelay.dialects.core.dense import repeats, stored_once
from xrelay.dialects.core.device import OnDeviceOp
from xrelay.dialects.core.values import INLINE_ELEMENTS, ConstantOp, TupleOp
from xrelay.dialects.lengths import LengthsAttr
from xrelay.interpreters.arrays import Array, dtype_of, held_elements, type_of


def constant_attribute(array: Array) -> Attribute:
    """
    The attribute of a constant that holds `array`. A blob shares its memory unless `array` has to be
    copied into row-major order; do not write to `array` afterwards.

    Raises InterpretationError as `element_type_of`.
    """
    type_ = type_of(array)
    held = held_elements(array)
    array = held if held.size == 1 else array
    packed = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
    content = packed.reshape(-1).view(np.uint8).data
    if repeats(content, packed.itemsize):
        content = content[: packed.itemsize]
    elif packed.size > INLINE_ELEMENTS:
        return BlobAttr(Blob(content))
    return dense_attribute(content, type_)


def dense_attribute(content: bytes | memoryview, type_: TensorType[Any]) -> Attribute:
    """The attribute that holds some bytes itself: those of all elements, or of one that fills the tensor."""
    return stored_once(DenseIntOrFPElementsAttr(type_, BytesAttr(bytes(content))))


def constant_op(array: Array) -> ConstantOp:
    """A constant that holds `array`, as `constant_attribute` has it."""
    return ConstantOp(constant_attribute(array), type_of(array))


def attribute_array(value: Attribute, type_: TensorType[Attribute]) -> Array | None:
    """
    The elements of a constant's attribute: a read-only view of its bytes, copied for bools only. None
    when the text that names the bytes came without them.
    """
    content = stored_content(value)
    if content is None:
        return None
    dtype, shape = dtype_of(type_.element_type), type_.get_shape()
    held = () if len(content) == dtype.itemsize else shape
    if dtype == np.bool_:
        # A dense attribute writes true as 0xff, which is no NumPy bool.
        array = np.asarray(np.ndarray(held, np.uint8, content) != 0)
    else:
        array = np.ndarray(held, dtype, content)
    return np.broadcast_to(array, shape)


def constant_array(op: ConstantOp) -> Array:
    """
    The elements of a constant, as `attribute_array` has them.

    Raises InterpretationError when the text named the bytes and they were not supplied.
    """
    if isinstance(op.value, LengthsAttr):
        # Whoever needs the elements gets numbers, and a program for these alone.
        return np.array(list(map(int, op.value.data)), dtype_of(op.result.type.element_type))
    array = attribute_array(op.value, op.result.type)
    if array is None:
        assert isinstance(op.value, BlobAttr)
        raise InterpretationError(
            f'the bytes of constant "{op.value.data.key}" ({op.result.type}) are missing: they were not '
            "supplied with the text that names them"
        )
    return array


def known_array(value: SSAValue) -> Array | None:
    """The elements of a constant, None for other values and for bytes that were not supplied."""
    op = value.owner
    return attribute_array(op.value, op.result.type) if isinstance(op, ConstantOp) else None


def constant_value(value: SSAValue) -> Any:
    """
    What a constant, or a tuple of constants, is to the interpreter, wherever it lives; None for other
    values. Takes time in the number of tuples, however often they share each other.
    """
    known: dict[SSAValue, Any] = {}
    pending = [value]
    while pending:
        each = pending.pop()
        op = each.owner
        while isinstance(op, OnDeviceOp):
            op = op.body.owner
        if isinstance(op, TupleOp):
            missing = [field for field in op.fields if field not in known]
            if missing:
                pending += [each, *missing]
            else:
                known[each] = tuple(known[field] for field in op.fields)
        else:
            array = known_array(op.results[0]) if isinstance(op, ConstantOp) else None
            if array is None:
                return None
            known[each] = array
    return known[value]


def constant_ops(value: Any) -> list[Operation]:
    """The operations that make a value; the last one has it as its result."""
    if isinstance(value, np.ndarray):
        return [constant_op(cast(Array, value))]
    parts = [constant_ops(field) for field in cast(tuple[Any, ...], value)]
    return [*(op for part in parts for op in part), TupleOp([part[-1] for part in parts])]
