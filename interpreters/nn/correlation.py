"""Correlation of images and deformable convolution in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.nn import correlation
from xrelay.dialects.tensor.layout import Layout
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.base import meaning
from xrelay.interpreters.conv.conv import canonical_operands, in_out_layout
from xrelay.interpreters.numerics import convert, narrow, wide_dtype, widen
from xrelay.interpreters.tensor.layout import change_layout


def _sampled(images: Array, rows: Array, columns: Array) -> Array:
    """
    `images` [N, G, C, H, W] at fractional places `rows` and `columns` [N, G, …], interpolated, as
    [N, G, C, …]. Elements outside are 0, and so is what lies outside of the images.
    """
    batch, groups, channels, height, width = images.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    rows, columns = np.where(inside, rows, 0), np.where(inside, columns, 0)
    top, left = np.floor(rows), np.floor(columns)
    result = np.zeros((batch, groups, channels, *rows.shape[2:]), images.dtype)
    n, g = np.ogrid[:batch, :groups]
    extra = (1,) * (rows.ndim - 2)
    n, g = n.reshape(batch, 1, *extra), g.reshape(1, groups, *extra)
    for down in (0, 1):
        for right in (0, 1):
            y, x = top.astype(np.int64) + down, left.astype(np.int64) + right
            exists = inside & (y < height) & (x < width)
            y, x = np.minimum(y, height - 1), np.minimum(x, width - 1)
            weight = (rows - top if down else 1 - (rows - top)) * (
                columns - left if right else 1 - (columns - left)
            )
            # The indexed axes come first, the channels last.
            values = images.transpose(0, 1, 3, 4, 2)[n, g, y, x]
            part = np.where(exists[..., None], weight[..., None] * values, 0)
            result += np.moveaxis(part, -1, 2).astype(images.dtype)
    return result


@register_impls
class CorrelationFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.nn.correlation`."""

    @meaning
    def run_correlation(self, op: correlation.CorrelationOp, *args: Array) -> Array:
        top, left, bottom, right = op.pads
        border = [(0, 0), (0, 0), (top, bottom), (left, right)]
        first, second = (np.pad(widen(array), border) for array in args)
        kernel, most = op.kernel_size.value.data, op.max_displacement.value.data
        step, gap, reach = op.stride1.value.data, op.stride2.value.data, op.reach
        batch, channels, height, width = first.shape
        rows, columns = ((length - 2 * most - kernel) // step + 1 for length in (height, width))
        displaced = range(-reach * gap, reach * gap + 1, gap)
        result = np.zeros((batch, len(displaced) ** 2, rows, columns), first.dtype)

        def patch(images: Array, y: int, x: int) -> Array:
            """The elements that lie (y, x) from the corner of every patch."""
            last_y, last_x = y + (rows - 1) * step + 1, x + (columns - 1) * step + 1
            return images[:, :, y:last_y:step, x:last_x:step]

        for q, (down, right_by) in enumerate((y, x) for y in displaced for x in displaced):
            for i, j in np.ndindex(kernel, kernel):
                a = patch(first, most + i, most + j)
                b = patch(second, most + down + i, most + right_by + j)
                parts = a * b if op.is_multiply.value.data else np.abs(a - b)
                result[:, q] += parts.sum(axis=1)
        count = max(kernel**2 * channels, 1)
        return narrow(result / first.dtype.type(count), args[0].dtype)

    @meaning
    def run_deformable_conv2d(self, op: correlation.DeformableConv2DOp, *args: Array) -> Array:
        dtype = args[0].dtype if op.out_dtype is None else dtype_of(op.out_dtype)
        data, weight = canonical_operands(op, widen(args[0]), widen(convert(args[2], dtype)))
        canonical = Layout.parse(op.IMAGE_LAYOUT, "data_layout")
        offset = widen(change_layout(args[1], op.layouts[0], canonical))
        batch, channels, height, width = data.shape
        outputs, depth, *taps = weight.shape
        parts, groups = op.deformable_groups.value.data, op.groups.value.data
        positions = offset.shape[2:]
        offsets = offset.reshape(batch, parts, *taps, 2, *positions)
        places: list[Array] = []
        for axis in (0, 1):
            step, gap, pad = (
                numbers[axis] for numbers in (op.window_strides, op.window_dilation, op.pads)
            )
            shape = [1, 1, 1, 1]
            shape[axis], shape[2 + axis] = taps[axis], positions[axis]
            grid: Array = np.array(
                [
                    i * gap + y * step - pad
                    for i in range(taps[axis])
                    for y in range(shape[2 + axis])
                ],
                offset.dtype,
            )
            places.append(grid.reshape(shape) + offsets[:, :, :, :, axis])
        images = data.reshape(batch, parts, channels // parts, height, width)
        if data.size:
            sampled = _sampled(images, *places)
        else:
            sampled = np.zeros((batch, channels, *taps, *positions), data.dtype)
        columns = convert(sampled, wide_dtype(dtype)).reshape(
            batch, groups, depth * taps[0] * taps[1], positions[0] * positions[1]
        )
        products = np.matmul(weight.reshape(groups, outputs // groups, -1), columns)
        result = narrow(products.reshape(batch, outputs, *positions), dtype)
        return in_out_layout(op, result)
