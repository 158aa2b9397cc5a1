"""The data of ONNX tensors as NumPy arrays, and their element types."""

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import TensorType

from xrelay.dialects.dtypes import DTYPES, ElementType
from xrelay.dialects.shapes import array_refusal
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.external import read_external
from xrelay.frontends.onnx.narrow import NARROW, UI8, unpacked
from xrelay.interpreters.arrays import Array, DType, dtype_of

FOLDED_ELEMENTS = 4096
"""Constants with more elements are not computed with here."""

_ELEMENT_TYPES: dict[int, ElementType] = {
    TensorProto.DataType.Value(row.onnx): row.type for row in DTYPES
}
_DATA_TYPES: dict[DType, int] = {
    dtype_of(element_type): code for code, element_type in _ELEMENT_TYPES.items()
}


def data_type_of(dtype: DType) -> int:
    """The ONNX data type code of the NumPy type of an element type."""
    return _DATA_TYPES[dtype]


def element_type_of(data_type: int, what: str) -> ElementType:
    """The element type that an ONNX data type code stands for: of 8 bits or fewer what programs hold for it."""
    narrow = NARROW.get(data_type)
    if narrow is not None:
        return narrow.held_as
    if data_type not in _ELEMENT_TYPES:
        known = data_type in TensorProto.DataType.values()
        name = TensorProto.DataType.Name(data_type) if known else str(data_type)
        raise OnnxImportError(f"{what} has elements of type {name}, which is not supported")
    return _ELEMENT_TYPES[data_type]


def element_type_named(name: str) -> ElementType:
    """The element type that an ONNX data type name stands for ("FLOAT")."""
    if name.upper() not in TensorProto.DataType.keys():  # noqa: SIM118 (an enum, not a dict)
        raise OnnxImportError(f"'{name}' is not the name of an element type")
    return element_type_of(TensorProto.DataType.Value(name.upper()), f"'{name}'")


def _size_of(tensor: TensorProto, what: str) -> int:
    """How many bytes the elements of a tensor take, of which several may share one."""
    if any(dim < 0 for dim in tensor.dims):
        raise OnnxImportError(f"{what} has the shape {list(tensor.dims)} with a negative number")
    if tensor.HasField("segment"):
        raise OnnxImportError(f"{what} is stored in segments, which is not supported")
    narrow = NARROW.get(tensor.data_type)
    if narrow is not None:
        return -(-prod(tensor.dims) * narrow.bits // 8)
    return prod(tensor.dims) * dtype_of(element_type_of(tensor.data_type, what)).itemsize


def _content(tensor: TensorProto, base_dir: Path | None, size: int, what: str) -> Any:
    """The bytes of a tensor that has them in one piece, here or in a file of its own."""
    if tensor.data_location == TensorProto.EXTERNAL:
        content = read_external(tensor, base_dir, size)
    else:
        content = tensor.raw_data
    if len(content) != size:
        shape = list(tensor.dims)
        raise OnnxImportError(
            f"{what} has {len(content)} bytes of data, its shape {shape} needs {size}"
        )
    return content


def tensor_array(tensor: TensorProto, base_dir: Path | None) -> Array:
    """
    The elements of a TensorProto, read-only where its bytes are used in place.

    Raises OnnxImportError naming the tensor when its size disagrees with its data, its type is
    not supported, or its external data cannot be read. Elements of 8 bits or fewer that programs
    do not have are given as what they hold for them.
    """
    what = f"tensor '{tensor.name}'"
    narrow = NARROW.get(tensor.data_type)
    dtype = dtype_of(UI8 if narrow is not None else element_type_of(tensor.data_type, what))
    size = _size_of(tensor, what)
    if tensor.data_location != TensorProto.EXTERNAL and not tensor.HasField("raw_data"):
        elements = _from_fields(tensor, dtype, size // dtype.itemsize, what)
    else:
        content = _content(tensor, base_dir, size, what)
        if dtype == np.bool_:  # any byte but 0 is true
            return _shaped(np.frombuffer(content, np.uint8) != 0, tensor, what)
        elements = np.frombuffer(content, dtype)
    if narrow is not None:
        elements = unpacked(elements, prod(tensor.dims), narrow)
    return _shaped(elements, tensor, what)


def loaded_tensor(tensor: TensorProto, base_dir: Path | None) -> TensorProto:
    """
    A tensor with its bytes in it; itself when they are.

    Raises OnnxImportError when its external data cannot be read.
    """
    if tensor.data_location != TensorProto.EXTERNAL:
        return tensor
    what = f"tensor '{tensor.name}'"
    content = _content(tensor, base_dir, _size_of(tensor, what), what)
    return TensorProto(
        name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=content
    )


def _shaped(elements: Array, tensor: TensorProto, what: str) -> Array:
    """The elements in the shape of a tensor that has as many. Without any, other dimensions may be huge."""
    refusal = array_refusal(TensorType(element_type_of(tensor.data_type, what), tensor.dims))
    if refusal is not None:
        raise OnnxImportError(f"{what}: {refusal}")
    return elements.reshape(tuple(tensor.dims))


def _from_fields(tensor: TensorProto, dtype: DType, count: int, what: str) -> Array:
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


def _narrowed(elements: Array, dtype: DType, what: str) -> Array:
    """`elements` as `dtype`, which must hold them exactly."""
    if elements.dtype == dtype:
        return elements
    narrowed = elements.astype(dtype)
    if not np.array_equal(narrowed, elements):
        raise OnnxImportError(f"{what} has elements that its type {dtype} cannot hold")
    return narrowed
