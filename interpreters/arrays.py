"""
NumPy arrays as values of builtin tensor types: element types, tensor types and constants.

Bools are `numpy.bool_` (i1), bf16 is `ml_dtypes.bfloat16`; all other element types have the
NumPy type of the same name.
"""

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BFloat16Type,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.core.values import INLINE_ELEMENTS, Blob, BlobAttr, ConstantOp, is_dense

Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = np.dtype[Any]

BFLOAT16: DType = np.dtype(ml_dtypes.bfloat16)

_INTEGERS: tuple[tuple[int, Signedness, str], ...] = (
    (1, Signedness.SIGNLESS, "bool"),
    *((width, Signedness.SIGNLESS, f"int{width}") for width in (8, 16, 32, 64)),
    *((width, Signedness.UNSIGNED, f"uint{width}") for width in (8, 16, 32, 64)),
)
_ATTRIBUTES: dict[DType, AnyDenseElement] = {
    **{np.dtype(name): IntegerType(width, sign) for width, sign, name in _INTEGERS},
    np.dtype(np.float16): Float16Type(),
    np.dtype(np.float32): Float32Type(),
    np.dtype(np.float64): Float64Type(),
    BFLOAT16: BFloat16Type(),
}
_DTYPES: dict[Attribute, DType] = {
    **{attribute: dtype for dtype, attribute in _ATTRIBUTES.items()},
    **{IntegerType(width, Signedness.SIGNED): np.dtype(f"int{width}") for width in (8, 16, 32, 64)},
}


def dtype_of(element_type: Attribute) -> DType:
    """
    The NumPy type of the elements of a tensor of `element_type`.

    Raises InterpretationError for element types that NumPy does not have (i4, index, f80, …).
    """
    dtype = _DTYPES.get(element_type)
    if dtype is None:
        raise InterpretationError(f"element type {element_type} has no NumPy type")
    return dtype


def element_type_of(dtype: DType) -> AnyDenseElement:
    """
    The element type of tensors that hold a NumPy type.

    Raises InterpretationError for NumPy types without one (strings, complex numbers, …).
    """
    element_type = _ATTRIBUTES.get(dtype.newbyteorder("="))
    if element_type is None:
        raise InterpretationError(f"the NumPy type {dtype} is no element type of tensors")
    return element_type


def counting(count: int) -> Array:
    """0, 1, … up to before `count`, as int64."""
    return np.arange(count, dtype=np.int64)


def type_of(array: Array) -> TensorType[AnyDenseElement]:
    """The type of a tensor that holds `array`."""
    return TensorType(element_type_of(array.dtype), array.shape)


def held_elements(array: Array) -> Array:
    """The elements of `array` without what `np.broadcast_to` repeats of them."""
    return array[tuple(slice(1) if stride == 0 else slice(None) for stride in array.strides)]


def constant_array(op: ConstantOp) -> Array:
    """
    The value of a constant: a read-only view of its bytes, copied for bools only.

    Raises InterpretationError when the text named the bytes and they were not supplied.
    """
    type_ = op.result.type
    if isinstance(op.value, BlobAttr):
        data = op.value.data.data
        if data is None:
            raise InterpretationError(
                f'the bytes of constant "{op.value.data.key}" ({type_}) were not supplied with '
                "the text that names them"
            )
    else:
        assert is_dense(op.value)
        data = op.value.data.data
    dtype = dtype_of(type_.element_type)
    # A splat may keep the bytes of one element only.
    held = () if len(data) == dtype.itemsize else type_.get_shape()
    if dtype == np.bool_:
        # A dense attribute writes true as 0xff, which is no NumPy bool.
        array = np.asarray(np.ndarray(held, np.uint8, data) != 0)
    else:
        array = np.ndarray(held, dtype, data)
    return np.broadcast_to(array, type_.get_shape())


def constant_op(array: Array) -> ConstantOp:
    """
    A constant that holds `array`: its values when they are few or all the same, else a blob over
    its memory. The blob shares this memory unless `array` has to be copied into row-major order;
    do not write to `array` afterwards.

    Raises InterpretationError as `element_type_of`.
    """
    type_ = type_of(array)
    held = held_elements(array)
    array = held if held.size == 1 else array
    packed = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
    if packed.size <= INLINE_ELEMENTS or _is_splat(packed):
        stored = -packed.view(np.int8) if packed.dtype == np.bool_ else packed
        dense = DenseIntOrFPElementsAttr(type_, BytesAttr(stored.tobytes()))
        return ConstantOp(dense)
    return ConstantOp(BlobAttr(Blob(packed.reshape(-1).view(np.uint8).data)), type_)


def _is_splat(array: Array) -> bool:
    """Whether all elements have the bits of the first one."""
    elements = array.reshape(-1).view(np.dtype((np.void, array.itemsize)))
    few = elements[: INLINE_ELEMENTS + 1]
    return bool(np.all(few == few[0]) and np.all(elements == elements[0]))
