"""
The element types of tensors: one table of what they are called outside of MLIR.

    name       what Relay, NumPy and ml_dtypes call the type
    onnx       what `onnx.TensorProto.DataType` calls it

Everything that reads or writes element types reads this table: ONNX's and Relay's texts, patterns
and the interpreter's arrays, and elements of kernels. What these compute with is `xrelay.lowering.emit.elements`.
"""

from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute

FloatType: TypeAlias = BFloat16Type | Float16Type | Float32Type | Float64Type
ElementType: TypeAlias = IntegerType | FloatType


@dataclass(frozen=True)
class Dtype:
    """An element type and its names."""

    type: ElementType
    name: str
    onnx: str


def _integers(name: str, signedness: Signedness) -> tuple[Dtype, ...]:
    return tuple(
        Dtype(IntegerType(width, signedness), f"{name}{width}", f"{name}{width}".upper())
        for width in (8, 16, 32, 64)
    )


DTYPES = (
    Dtype(i1, "bool", "BOOL"),
    *_integers("int", Signedness.SIGNLESS),
    *_integers("uint", Signedness.UNSIGNED),
    Dtype(f16, "float16", "FLOAT16"),
    Dtype(bf16, "bfloat16", "BFLOAT16"),
    Dtype(f32, "float32", "FLOAT"),
    Dtype(f64, "float64", "DOUBLE"),
)
"""The element types that values of programs have."""

_NAMES: dict[Attribute, str] = {dtype.type: dtype.name for dtype in DTYPES}


def is_element_type(type_: Attribute) -> TypeGuard[ElementType]:
    """Whether a type is one of the table."""
    return type_ in _NAMES


def dtype_name(type_: Attribute) -> str:
    """The name of an element type; of one that is not in the table its text in MLIR."""
    return _NAMES.get(type_) or str(type_)
