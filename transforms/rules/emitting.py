"""Operators that rules emit only where they do something."""

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32
from xdsl.ir import Attribute, SSAValue, TypeAttribute

from xrelay.dialects.shapes import is_empty, is_tensor_type, same_shape, shape_of
from xrelay.dialects.tensor.layout import Layout, LayoutTransformOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.transforms.rules.rewriting import Emitter


def cast(emit: Emitter, value: SSAValue, dtype: Attribute) -> SSAValue:
    """A tensor with another dtype."""
    assert is_tensor_type(value.type) and isinstance(dtype, TypeAttribute)
    return value if value.type.element_type == dtype else emit(CastOp(value, dtype))


def reshaped(emit: Emitter, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A tensor with another shape."""
    return emit(ReshapeOp(value, shape, allowzero=is_empty(shape)))


def shaped(emit: Emitter, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A tensor with some shape, which it may have already."""
    return value if same_shape(shape_of(value), shape) else reshaped(emit, value, shape)


def along_axis(emit: Emitter, vector: SSAValue, axis: int, rank: int) -> SSAValue:
    """A vector with axes of length 1 after it, so that it broadcasts along `axis` of `rank`."""
    following = rank - axis - 1
    return emit(ExpandDimsOp(vector, 1, num_newaxis=following)) if following else vector


def relaid(emit: Emitter, value: SSAValue, source: Layout | str, target: Layout | str) -> SSAValue:
    """A tensor in the layout `target`, which is in `source`."""
    if str(source) == str(target):
        return value
    return emit(LayoutTransformOp(value, str(source), str(target)))


def widened(emit: Emitter, value: SSAValue) -> SSAValue:
    """A tensor in the type that operators compute its elements in: f32 for f16 and bf16."""
    assert is_tensor_type(value.type)
    dtype = value.type.element_type
    return cast(emit, value, f32 if isinstance(dtype, Float16Type | BFloat16Type) else dtype)


def narrowed(emit: Emitter, value: SSAValue, like: SSAValue) -> SSAValue:
    """What was computed in a wider type, with the dtype of another tensor."""
    assert is_tensor_type(like.type)
    return cast(emit, value, like.type.element_type)
