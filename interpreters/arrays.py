"""
NumPy arrays as values of builtin tensor types: element types and tensor types.

Bools are `numpy.bool_` (i1), bf16 is `ml_dtypes.bfloat16`; all other element types have the
NumPy type of the same name.
"""

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    AnyDenseElement,
    IntegerType,
    Signedness,
    TensorType,
    TupleType,
    bf16,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.dtypes import DTYPES
from xrelay.dialects.shapes import inner_tuples_first, is_dynamic, is_tensor_type, tensor_of

Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = np.dtype[Any]

BFLOAT16: DType = np.dtype(ml_dtypes.bfloat16)

_ATTRIBUTES: dict[DType, AnyDenseElement] = {
    BFLOAT16 if row.type == bf16 else np.dtype(row.name): row.type for row in DTYPES
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
    type_ = tensor_of(element_type_of(array.dtype), array.shape)
    return cast(TensorType[AnyDenseElement], type_)


def type_bytes(type_: Attribute) -> int:
    """The bytes of tensors of a type, tuples included; 0 where a dimension is not known."""
    if isinstance(type_, TupleType):
        for each in inner_tuples_first((type_,), lambda each: _BYTES in vars(each)):
            vars(each)[_BYTES] = sum(map(type_bytes, each.types.data))
        return vars(type_)[_BYTES]
    if not is_tensor_type(type_) or is_dynamic(type_):
        return 0
    return prod(type_.get_shape()) * dtype_of(type_.element_type).itemsize


_BYTES = "xrelay.bytes"
"""What `type_bytes` found is kept with a tuple type: of tuples in tuples each would look at all within."""


def held_elements(array: Array) -> Array:
    """The elements of `array` without what `np.broadcast_to` repeats of them."""
    return array[tuple(slice(1) if stride == 0 else slice(None) for stride in array.strides)]


def arrays_in(values: Sequence[Any]) -> list[Array]:
    """The arrays in values that may be tuples, from the left."""
    flat: list[Array] = []
    for value in values:
        if isinstance(value, tuple):
            flat.extend(arrays_in(cast(tuple[Any, ...], value)))
        else:
            flat.append(value)
    return flat


def along(numbers: Array, axis: int, rank: int) -> Array:
    """Numbers as a tensor of `rank` axes that runs along one of them."""
    return numbers.reshape([-1 if d == axis else 1 for d in range(rank)])
