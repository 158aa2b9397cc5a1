"""TensorProto, NumPy arrays and `relay.constant`: from one to the other."""

from math import prod
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype
from xdsl.dialects.builtin import (
    BFloat16Type,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from xrelay.dialects.core.values import INLINE_ELEMENTS, Blob, BlobAttr, ConstantOp, is_dense
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.external import read_external

Array: TypeAlias = npt.NDArray[Any]
ElementType: TypeAlias = IntegerType | BFloat16Type | Float16Type | Float32Type | Float64Type

_ELEMENT_TYPES: dict[int, ElementType] = {
    TensorProto.FLOAT: f32,
    TensorProto.DOUBLE: f64,
    TensorProto.FLOAT16: f16,
    TensorProto.BFLOAT16: bf16,
    TensorProto.BOOL: i1,
    TensorProto.INT8: i8,
    TensorProto.INT16: i16,
    TensorProto.INT32: i32,
    TensorProto.INT64: i64,
    TensorProto.UINT8: IntegerType(8, Signedness.UNSIGNED),
    TensorProto.UINT16: IntegerType(16, Signedness.UNSIGNED),
    TensorProto.UINT32: IntegerType(32, Signedness.UNSIGNED),
    TensorProto.UINT64: IntegerType(64, Signedness.UNSIGNED),
}
_NUMPY_TYPES: dict[Attribute, np.dtype[Any]] = {
    element_type: tensor_dtype_to_np_dtype(code).newbyteorder("<")
    for code, element_type in _ELEMENT_TYPES.items()
}


_DATA_TYPES: dict[np.dtype[Any], int] = {
    _NUMPY_TYPES[element_type]: code for code, element_type in _ELEMENT_TYPES.items()
}


def data_type_of(dtype: np.dtype[Any]) -> int:
    """The ONNX data type code of the NumPy type of an element type."""
    return _DATA_TYPES[dtype]


def element_type_of(data_type: int, what: str) -> ElementType:
    """The element type that an ONNX data type code stands for."""
    if data_type not in _ELEMENT_TYPES:
        known = data_type in TensorProto.DataType.values()
        name = TensorProto.DataType.Name(data_type) if known else str(data_type)
        raise OnnxImportError(f"{what} has elements of type {name}, which is not supported")
    return _ELEMENT_TYPES[data_type]


def is_element_type(type_: Attribute) -> TypeGuard[ElementType]:
    """Whether a type is one that ONNX tensors are imported with."""
    return type_ in _NUMPY_TYPES


def element_type_named(name: str) -> ElementType:
    """The element type that an ONNX data type name stands for ("FLOAT")."""
    if name.upper() not in TensorProto.DataType.keys():  # noqa: SIM118 (an enum, not a dict)
        raise OnnxImportError(f"'{name}' is not the name of an element type")
    return element_type_of(TensorProto.DataType.Value(name.upper()), f"'{name}'")


def numpy_type(element_type: ElementType) -> np.dtype[Any]:
    """The NumPy dtype of an element type; bfloat16 comes from ml_dtypes."""
    return _NUMPY_TYPES[element_type]


def as_type(array: npt.ArrayLike, dtype: np.dtype[Any]) -> Array:
    """The elements as another type: too large for a floating-point type are infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(array).astype(dtype)


def tensor_array(tensor: TensorProto, base_dir: Path | None) -> Array:
    """
    The elements of a TensorProto, read-only where its bytes are used in place.

    Raises OnnxImportError naming the tensor when its size disagrees with its data, its type is
    not supported, or its external data cannot be read.
    """
    what = f"tensor '{tensor.name}'"
    dtype = numpy_type(element_type_of(tensor.data_type, what))
    shape = tuple(tensor.dims)
    if any(dim < 0 for dim in shape):
        raise OnnxImportError(f"{what} has the shape {list(shape)} with a negative number")
    if tensor.HasField("segment"):
        raise OnnxImportError(f"{what} is stored in segments, which is not supported")
    count = prod(shape)
    size = count * dtype.itemsize
    if tensor.data_location == TensorProto.EXTERNAL:
        content = read_external(tensor, base_dir, size)
    elif tensor.HasField("raw_data"):
        content = tensor.raw_data
    else:
        return _from_fields(tensor, dtype, count, what).reshape(shape)
    if len(content) != size:
        raise OnnxImportError(
            f"{what} has {len(content)} bytes of data, its shape {list(shape)} needs {size}"
        )
    if dtype == np.bool_:  # any byte but 0 is true
        return (np.frombuffer(content, np.uint8) != 0).reshape(shape)
    return np.frombuffer(content, dtype).reshape(shape)


def _from_fields(tensor: TensorProto, dtype: np.dtype[Any], count: int, what: str) -> Array:
    """The elements from the field for their type (`float_data`, `int32_data`, …)."""
    match tensor.data_type:
        case TensorProto.FLOAT:
            field, stored = tensor.float_data, np.dtype(np.float32)
        case TensorProto.DOUBLE:
            field, stored = tensor.double_data, np.dtype(np.float64)
        case TensorProto.INT64:
            field, stored = tensor.int64_data, np.dtype(np.int64)
        case TensorProto.UINT32 | TensorProto.UINT64:
            field, stored = tensor.uint64_data, np.dtype(np.uint64)
        case _:
            field, stored = tensor.int32_data, np.dtype(np.int32)
    if len(field) != count:
        raise OnnxImportError(
            f"{what} has {len(field)} elements of data, its shape {list(tensor.dims)} needs {count}"
        )
    elements: Array = np.array(field, stored)
    if tensor.data_type in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
        return _narrowed(elements, np.dtype(np.uint16), what).view(dtype)
    return _narrowed(elements, dtype, what)


def _narrowed(elements: Array, dtype: np.dtype[Any], what: str) -> Array:
    """`elements` as `dtype`, which must hold them exactly."""
    if elements.dtype == dtype:
        return elements
    narrowed = elements.astype(dtype)
    if not np.array_equal(narrowed, elements):
        raise OnnxImportError(f"{what} has elements that its type {dtype} cannot hold")
    return narrowed


def tensor_type_of(array: Array) -> TensorType[ElementType]:
    """The builtin tensor type of an array."""
    for element_type, dtype in _NUMPY_TYPES.items():
        if array.dtype == dtype and is_element_type(element_type):
            return TensorType(element_type, array.shape)
    raise ValueError(f"no element type for {array.dtype}")


def is_splat(array: Array) -> bool:
    """Whether an array repeats one stored element, as `np.broadcast_to` of a scalar does."""
    return array.size > 1 and not any(
        stride for stride, dim in zip(array.strides, array.shape, strict=True) if dim > 1
    )


def constant_of(array: Array) -> ConstantOp:
    """
    A constant with the elements of `array`: small ones and splats as a dense attribute, others
    as a blob over the bytes of the array. A large splat keeps the bytes of one element only.
    """
    type_ = tensor_type_of(array)
    if is_splat(array) or array.size <= INLINE_ELEMENTS:
        stored = array
        if array.size > INLINE_ELEMENTS:
            stored = np.asarray(array[(0,) * array.ndim])
        if stored.dtype == np.bool_:  # a dense attribute writes true as -1
            stored = np.negative(stored, dtype=np.int8)
        return ConstantOp(DenseIntOrFPElementsAttr(type_, BytesAttr(stored.tobytes())))
    flat: npt.NDArray[np.uint8] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return ConstantOp(BlobAttr(Blob(flat.data)), type_)


def array_of(op: ConstantOp) -> Array | None:
    """
    The elements of a constant, the opposite of `constant_of`: a read-only view of its bytes, copied
    for bools. None when the text that names the bytes came without them.
    """
    type_ = op.result.type
    assert is_element_type(type_.element_type)
    dtype = numpy_type(type_.element_type)
    if isinstance(op.value, BlobAttr):
        content = op.value.data.data
    else:
        assert is_dense(op.value)
        content = op.value.data.data
    if content is None:
        return None
    # A splat may keep the bytes of one element only.
    held = () if len(content) == dtype.itemsize else type_.get_shape()
    if dtype == np.bool_:  # a dense attribute writes true as -1
        return np.broadcast_to(np.ndarray(held, np.uint8, content) != 0, type_.get_shape())
    return np.broadcast_to(np.ndarray(held, dtype, content), type_.get_shape())
