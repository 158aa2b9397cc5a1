"""
Which operators may compute with fewer bits: the lists of `to-mixed-precision`, by Relay's names.

Source: Relay's defaults, which follow TensorFlow's.
"""

from collections.abc import Mapping, Sequence
from enum import Enum


class Category(Enum):
    """When an operator takes operands of fewer bits."""

    ALWAYS = "always"
    """It gains much."""
    FOLLOW = "follow"
    """Its operands have fewer bits anyway, or are parameters, constants or names."""
    NEVER = "never"
    """Its results are far larger than its operands, or sums of many of them."""


LISTS: Mapping[Category, Sequence[str]] = {
    Category.ALWAYS: (
        "nn.batch_matmul",
        "nn.conv1d",
        "nn.conv1d_transpose",
        "nn.conv2d",
        "nn.conv2d_transpose",
        "nn.conv3d",
        "nn.conv3d_transpose",
        "nn.dense",
    ),
    Category.FOLLOW: (
        # New elements, other shapes.
        "argwhere",
        "broadcast_to_like",
        "concatenate",
        "dyn.broadcast_to",
        "dyn.full",
        "dyn.reshape",
        "dyn.strided_slice",
        "dyn.tile",
        "expand_dims",
        "full",
        "nn.batch_flatten",
        "nn.depth_to_space",
        "nn.pad",
        "reshape",
        "scatter",
        "scatter_nd",
        "split",
        "squeeze",
        "strided_slice",
        "take",
        "tile",
        "transpose",
        "where",
        "zeros",
        # Comparisons, copies, conversions.
        "cast",
        "cast_like",
        "copy",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        # Arithmetic.
        "add",
        "argmax",
        "argmin",
        "divide",
        "max",
        "maximum",
        "min",
        "minimum",
        "multiply",
        "nn.batch_norm",
        "nn.bias_add",
        "nn.dropout",
        "nn.leaky_relu",
        "nn.prelu",
        "nn.relu",
        "shape_of",
        "sqrt",
        "subtract",
        # Functions of a small range.
        "clip",
        "fast_erf",
        "fast_exp",
        "fast_tanh",
        "sigmoid",
        "tanh",
        # Pools.
        "image.resize2d",
        "nn.adaptive_max_pool1d",
        "nn.adaptive_max_pool2d",
        "nn.adaptive_max_pool3d",
        "nn.avg_pool1d",
        "nn.avg_pool2d",
        "nn.avg_pool3d",
        "nn.global_max_pool2d",
        "nn.max_pool1d",
        "nn.max_pool2d",
        "nn.max_pool3d",
    ),
    Category.NEVER: (
        "arange",
        "erf",
        "exp",
        "mean",
        "nn.adaptive_avg_pool1d",
        "nn.adaptive_avg_pool2d",
        "nn.adaptive_avg_pool3d",
        "nn.cross_entropy",
        "nn.cross_entropy_with_logits",
        "nn.global_avg_pool2d",
        "nn.l2_normalize",
        "nn.layer_norm",
        "nn.softmax",
        "power",
        "sum",
        "variance",
    ),
}
"""The operators of each category; others are counted as missing, and follow."""

SUMS = frozenset(
    (
        "nn.batch_matmul",
        "nn.contrib_conv2d_winograd_without_weight_transform",
        "nn.contrib_conv3d_winograd_without_weight_transform",
        "nn.conv1d",
        "nn.conv1d_transpose",
        "nn.conv2d",
        "nn.conv2d_transpose",
        "nn.conv3d",
        "nn.conv3d_transpose",
        "nn.deformable_conv2d",
        "nn.dense",
    )
)
"""The operators whose `out_dtype` says what they sum in."""

FILLED = frozenset(("full", "ones", "zeros"))
"""The operators whose `dtype` says what they give."""


def category_table(
    changes: Mapping[Category, Sequence[str]], lists: Mapping[Category, Sequence[str]] = LISTS
) -> dict[str, Category]:
    """The category of each operator that has one, with `changes` in place of the lists'."""
    return {
        name: category
        for lists in (lists, changes)
        for category, names in lists.items()
        for name in names
    }
