"""Changes of layout in NumPy."""

from math import prod

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import layout
from xrelay.dialects.tensor.layout import Layout
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning


def change_layout(data: Array, source: Layout, target: Layout, *, padding: int = 0) -> Array:
    """`data` in another layout of the same axes; new elements are `padding`."""
    whole = _joined(data, source)
    lengths = dict(zip(source.names, whole.shape, strict=True))
    whole = whole.transpose([source.names.index(name) for name in target.names])
    return _split(whole, target, target.shape(lengths), padding)


def _joined(data: Array, source: Layout) -> Array:
    """`data` with every block back in its axis."""
    order: list[int] = []
    for name in source.names:
        order.append(source.index(name))
        if name in source.blocks:
            order.append(source.index(name, block=True))
    return data.transpose(order).reshape(list(source.lengths(data.shape).values()))


def _split(whole: Array, target: Layout, shape: list[int], padding: int) -> Array:
    """Axes in the order of `target`, split as it says, with `padding` up to whole blocks."""
    blocks = target.blocks
    pairs = [(shape[target.index(name)], blocks.get(name, 1)) for name in target.names]
    widths = [(0, prod(pair) - length) for pair, length in zip(pairs, whole.shape, strict=True)]
    padded = (
        np.pad(whole, widths, constant_values=padding)
        if any(after for _, after in widths)
        else whole
    )
    apart = padded.reshape([length for pair in pairs for length in pair])
    order = [2 * target.names.index(axis.name) + (axis.block is not None) for axis in target.axes]
    # Axes that are not split have a block of length 1, which goes last and disappears.
    rest = [axis for axis in range(apart.ndim) if axis not in order]
    return np.ascontiguousarray(apart.transpose(order + rest).reshape(shape))


@register_impls
class LayoutFunctions(InterpreterFunctions):
    """The operators of `xrelay.dialects.tensor.layout`."""

    @meaning
    def run_layout_transform(self, op: layout.LayoutTransformOp, data: Array) -> Array:
        return change_layout(data, *op.layouts)
