"""
Which operators compute with fewer bits, or with more, when a model is compiled for a CPU, by Relay's names: the lists of
`to-mixed-precision{rules=cpu}` and `{rules=wide}`, and of `store-rounded`.

They are shorter than Relay's, which are for devices that compute in 16 bits. A CPU does so in products alone, and sums
them in f32: all else is computed in f32, on the registers that hold the sums, and rounded once where it is stored.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute, SSAValue

from xrelay.dialects.core.values import ConstantOp
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.constants import attribute_array
from xrelay.transforms.rules.quantize.mixed_precision import Category

CPU_LISTS: Mapping[Category, Sequence[str]] = {
    Category.ALWAYS: (
        "nn.batch_matmul",
        "nn.conv1d",
        "nn.conv2d",
        "nn.conv3d",
        "nn.dense",
        "nn.matmul",
    ),
}
"""All others compute in f32, unless they move elements."""

MOVES = (
    "broadcast_to",
    "concatenate",
    "copy",
    "expand_dims",
    "layout_transform",
    "nn.batch_flatten",
    "nn.batch_to_space_nd",
    "nn.depth_to_space",
    "nn.global_max_pool2d",
    "nn.max_pool1d",
    "nn.max_pool2d",
    "nn.max_pool3d",
    "nn.space_to_depth",
    "repeat",
    "reshape",
    "reverse",
    "squeeze",
    "stack",
    "strided_slice",
    "tile",
    "transpose",
)
"""They follow: they move elements, or pick some, so that it is the same to round before and to round after."""


WIDE_LISTS: Mapping[Category, Sequence[str]] = {
    Category.FOLLOW: (
        *MOVES,
        "adv_index",
        "gather",
        "gather_nd",
        "split",
        "take",
        "where",
    ),
    Category.NEVER: (
        "bitwise_and",
        "bitwise_not",
        "bitwise_or",
        "bitwise_xor",
        "left_shift",
        "reinterpret",
        "right_shift",
    ),
}
"""
All others take more bits, but for those on bits. What moves elements follows computed ones: of tables and parameters it moves
those with fewer bits, which are converted behind it.
"""


def holds(dtype: Attribute, value: SSAValue, *, exactly: bool = False) -> bool:
    """
    Whether the finite numbers of a constant are finite in another type, those of f16 end at 65504, or with `exactly` are the
    same there. Nothing is known of other values, and of constants whose bytes did not come with the text: these are taken for
    finite, but not for the same.
    """
    if not isinstance(value.owner, ConstantOp):
        return True
    array = attribute_array(value.owner.value, value.owner.result.type)
    if array is None:
        return not exactly
    if exactly:
        with np.errstate(over="ignore"):
            return np.array_equal(
                array.astype(dtype_of(dtype)).astype(array.dtype), array, equal_nan=True
            )
    largest = np.float64(cast(Any, ml_dtypes).finfo(dtype_of(dtype)).max)  # partly untyped
    finite = np.where(np.isfinite(array), np.abs(array), 0)
    return bool((finite <= largest).all())
