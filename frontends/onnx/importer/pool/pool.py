"""Pooling of lines, images and volumes."""

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import window_output
from xrelay.dialects.lengths import certainly, is_open, larger
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import (
    AvgPool1DOp,
    AvgPool2DOp,
    AvgPool3DOp,
    GlobalAvgPool2DOp,
    GlobalMaxPool2DOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
)
from xrelay.dialects.tensor.binary import (
    AddOp,
    GreaterEqualOp,
    LessOp,
    LogicalAndOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
)
from xrelay.dialects.tensor.indexing import ScatterOp, TakeOp
from xrelay.dialects.tensor.reduce import ArgmaxOp, MaxOp, MeanOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.conv.windows import Window
from xrelay.frontends.onnx.importer.emitting import along, cast, require_range, reshaped
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_table
from xrelay.frontends.onnx.importer.tensor.reduce import norm, root_of_powers
from xrelay.interpreters.numerics import lowest

_MAX = {1: MaxPool1DOp, 2: MaxPool2DOp, 3: MaxPool3DOp}
_AVERAGE = {1: AvgPool1DOp, 2: AvgPool2DOp, 3: AvgPool3DOp}


class _Pool(NamedTuple):
    """The lengths of windows, their places, and the lengths of the axes that they lie on."""

    kernel: list[int]
    window: Window
    image: tuple[int, ...]


def _pool(node: Node) -> _Pool:
    kernel = node.required_integers("kernel_shape")
    window = Window.of(node, len(kernel))
    shape = node.shape_of(node.input(0))
    if not 1 <= len(kernel) <= 3:
        raise UnsupportedNode(f"'kernel_shape' is {kernel}, expected one to three numbers")
    if len(shape) != len(kernel) + 2:
        raise OnnxImportError(
            f"its input has the shape {list(shape)}, expected rank {len(kernel) + 2}"
        )
    return _Pool(kernel, window, shape[2:])


def max_pool(node: Node) -> list[SSAValue]:
    """MaxPool, and where each of the elements stands among all of the input's."""
    by_columns = node.flag("storage_order")
    pool = _pool(node)
    kernel, window, image = pool
    result = node.emit(
        _MAX[len(kernel)](
            node.input(0),
            kernel,
            strides=window.strides,
            dilation=window.dilations,
            padding=window.padding(image, kernel),
            ceil_mode=node.flag("ceil_mode"),
        )
    )
    if node.output_count < 2:
        return [result]
    counts = node.shape_of(result)[2:]
    return [result, _places(node, pool, counts, by_columns=by_columns)]


def _places(node: Node, pool: _Pool, counts: tuple[int, ...], *, by_columns: bool) -> SSAValue:
    """
    The places of the largest elements of windows, the first of several, counted over the whole input; with
    `by_columns` the first of an image's axes varies fastest.
    """
    data = node.input(0)
    batch, channels = node.shape_of(data)[:2]
    inside, rows, numbers = _tables(node, pool, counts, by_columns=by_columns)
    size, windows, parts = prod(pool.image), prod(counts), prod(pool.kernel)
    lines = reshaped(node, data, (batch * channels, size))
    found = node.emit(TakeOp(lines, rows, axis=1))
    found = node.emit(WhereOp(inside, found, node.scalar(lowest(node.element_dtype(data)), data)))
    largest = node.emit(ArgmaxOp(found, [2]))  # [images, windows]
    first = _multiples(node, windows, parts)
    place = node.emit(AddOp(cast(node, largest, i64), first))
    chosen = node.emit(TakeOp(reshaped(node, numbers, (windows * parts,)), place))
    images = reshaped(node, _multiples(node, batch * channels, size), (batch * channels, 1))
    return reshaped(node, node.emit(AddOp(chosen, images)), (batch, channels, *counts))


def _multiples(node: Node, count: int, step: int) -> SSAValue:
    """The first multiples of a number, from 0 on."""
    numbers = node.counting(count)
    return node.emit(MultiplyOp(numbers, node.scalar(step, numbers)))


def _tables(
    node: Node, pool: _Pool, counts: tuple[int, ...], *, by_columns: bool
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """
    For each window and each of its places, [windows, places], whether it is in the image, the number of its element, or of the
    nearest one, and the same as results have it.
    """
    kernel, window, image = pool
    if not any(map(is_open, (*image, *counts))):
        require_table((*counts, *kernel), "the array of places in windows")
    axes, pads = len(kernel), window.padding(image, kernel)
    rows = numbers = inside = None
    for axis, (count, length) in enumerate(zip(counts, image, strict=True)):
        starts = along(node, _multiples(node, count, window.strides[axis]), axis, 2 * axes)
        taps = np.arange(kernel[axis], dtype=np.int64) * window.dilations[axis] - pads[axis]
        taps = node.constant(taps.reshape(-1, *[1] * (axes - 1 - axis)))
        place = node.emit(AddOp(starts, taps))
        low = node.emit(GreaterEqualOp(place, node.scalar(0, place)))
        held = node.emit(LogicalAndOp(low, node.emit(LessOp(place, node.scalar(length, place)))))
        within = node.emit(MaximumOp(place, node.scalar(0, place)))
        within = node.emit(MinimumOp(within, node.scalar(length - 1, place)))
        behind = prod(image[:axis]) if by_columns else prod(image[axis + 1 :])
        row, number = (
            node.emit(MultiplyOp(within, node.scalar(step, within)))
            for step in (prod(image[axis + 1 :]), behind)
        )
        rows = row if rows is None else node.emit(AddOp(rows, row))
        numbers = number if numbers is None else node.emit(AddOp(numbers, number))
        inside = held if inside is None else node.emit(LogicalAndOp(inside, held))
    assert rows is not None and numbers is not None and inside is not None
    shape = prod(counts), prod(kernel)
    first, second, third = (
        node.computed(reshaped(node, table, shape)) for table in (inside, rows, numbers)
    )
    return first, second, third


def average_pool(node: Node) -> SSAValue:
    """AveragePool."""
    kernel, window, image = _pool(node)
    return node.emit(
        _AVERAGE[len(kernel)](
            node.input(0),
            kernel,
            strides=window.strides,
            dilation=window.dilations,
            padding=window.padding(image, kernel),
            ceil_mode=node.flag("ceil_mode"),
            count_include_pad=node.flag("count_include_pad"),
        )
    )


def norm_pool(node: Node) -> SSAValue:
    """
    LpPool: the p-norms of windows. Elements outside are 0: they are added, so that each mean of a
    window is one of as many elements.
    """
    kernel, window, image = _pool(node)
    p, ceil_mode = _order(node), node.flag("ceil_mode")
    axes = len(kernel)
    pads = window.padding(image, kernel)
    widths = [(0, 0), (0, 0)]
    counts = window_output(
        image, kernel, window.strides, window.dilations, tuple(pads), ceil_mode=ceil_mode
    )
    for i, (length, count) in enumerate(zip(image, counts, strict=True)):
        reach = (count - 1) * window.strides[i] + (kernel[i] - 1) * window.dilations[i] + 1
        widths.append((pads[i], larger(reach - length - pads[i], 0)))

    def total(powers: SSAValue) -> SSAValue:
        if not all(certainly(width, 0) for each in widths for width in each):
            zero = node.scalar(0, powers)
            powers = node.emit(PadOp(powers, zero, widths, pad_mode="constant"))
        pool = _AVERAGE[axes](powers, kernel, strides=window.strides, dilation=window.dilations)
        means = node.emit(pool)
        return node.emit(MultiplyOp(means, node.scalar(prod(kernel), means)))

    return root_of_powers(node, node.input(0), p, total)


def global_pool(
    pool: Callable[[SSAValue], RelayOp], other: type[MeanOp] | type[MaxOp]
) -> Converter:
    """Converts a pool over whole images, and a reduction where the input is not an image."""

    def convert(node: Node) -> SSAValue:
        data = node.input(0)
        rank = len(node.shape_of(data))
        if rank == 4:
            return node.emit(pool(data))
        return node.emit(other(data, range(2, rank), keepdims=True))

    return convert


def global_norm_pool(node: Node) -> SSAValue:
    """GlobalLpPool: the p-norms of whole images."""
    data = node.input(0)
    return norm(node, data, _order(node), range(2, len(node.shape_of(data))))


def _order(node: Node) -> int:
    """The attribute `p`."""
    p = node.integer("p", 2)
    if p < 1:
        raise OnnxImportError(f"'p' is {p}, expected a positive number")
    return p


def max_unpool(node: Node) -> SSAValue:
    """MaxUnpool: elements at the places, in the whole tensor, that MaxPool took them from."""
    kernel = node.required_integers("kernel_shape")
    axes = len(kernel)
    window = Window.of(node, axes)
    data, indices = node.input(0), node.input(1)
    shape = node.shape_of(data)
    if len(shape) != axes + 2:
        raise OnnxImportError(f"'kernel_shape' is {kernel}, its input has rank {len(shape)}")
    pads = window.pads or [0] * 2 * axes
    lengths = [
        (shape[2 + i] - 1) * window.strides[i] - pads[i] - pads[axes + i] + kernel[i]
        for i in range(axes)
    ]
    inferred = [*shape[:2], *lengths]
    stated = node.known_lengths(2, "output_shape") if node.has_input(2) else inferred
    if min(inferred) < 0 or len(stated) != len(shape):
        raise OnnxImportError(f"its result would have the shape {inferred}, stated is {stated}")
    more = [outer - inner for outer, inner in zip(stated, inferred, strict=True)]
    if min(more) < 0:
        raise OnnxImportError(f"'output_shape' is {stated}, expected at least {inferred}")
    zero = node.scalar(0, data)
    require_range(node, 1, "I", 0, prod(inferred) - 1)
    nothing = node.zeros((prod(inferred),), data)
    flat = [reshaped(node, value, (prod(shape),)) for value in (indices, data)]
    result = reshaped(node, node.emit(ScatterOp(nothing, *flat)), tuple(inferred))
    if not any(more):
        return result
    return node.emit(PadOp(result, zero, [(0, each) for each in more], pad_mode="constant"))


CONVERTERS: ConverterTable = {
    "AveragePool": {1: average_pool},
    "GlobalAveragePool": {1: global_pool(GlobalAvgPool2DOp, MeanOp)},
    "GlobalLpPool": {2: global_norm_pool},
    "GlobalMaxPool": {1: global_pool(GlobalMaxPool2DOp, MaxOp)},
    "LpPool": {2: norm_pool},
    "MaxPool": {1: max_pool},
    "MaxUnpool": {9: max_unpool},
}
