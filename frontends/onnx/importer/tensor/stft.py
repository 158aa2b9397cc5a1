"""Fourier transforms, as products with matrices, and windows of signals."""

from collections.abc import Sequence
from math import isqrt, prod

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, is_open, larger, smaller
from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.binary import (
    AddOp,
    DivideOp,
    EqualOp,
    FloorModOp,
    LessEqualOp,
    LogicalOrOp,
    MultiplyOp,
)
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reorder import SlidingWindowOp
from xrelay.dialects.tensor.stft import StftOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import CosOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import cast, matrix_product, reshaped
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node

MAX_FACTORS = 2**22
"""Transforms by a matrix of more elements are refused."""


def fourier_transform_by_attribute(node: Node) -> SSAValue:
    """DFT before operator set 20, where `axis` is an attribute."""
    return _fourier_transform(node, node.integer("axis", 1))


def fourier_transform(node: Node) -> SSAValue:
    """DFT along a constant axis."""
    axis = node.known_integer(2, "axis") if node.has_input(2) else -2
    return _fourier_transform(node, axis)


def _fourier_transform(node: Node, axis: int) -> SSAValue:
    """
    The transform of the real and imaginary parts along the last axis, for the first half of the
    frequencies with `onesided`; the inverse of that half is real.
    """
    inverse, onesided = node.flag("inverse"), node.flag("onesided")
    data = node.input(0)
    shape = node.shape_of(data)
    axis = normalize_axis(axis, len(shape))
    if axis == len(shape) - 1 or shape[-1] not in (1, 2):
        raise OnnxImportError(
            f"'axis' is {axis}, the data have the shape {list(shape)}, whose last axis is that of "
            "real and imaginary parts"
        )
    half = inverse and onesided
    length = 2 * (shape[axis] - 1) if half else shape[axis]
    if node.has_input(1):
        length = node.known_integer(1, "dft_length", is_length=True)
    if length < 1:
        raise OnnxImportError(f"the length of the transform is {length}")
    results = length if half else length // 2 + 1 if onesided else length
    used = smaller(shape[axis], length // 2 + 1 if half else length)
    # The axis of the transform becomes the last one but the parts.
    rank = len(shape)
    order = [each for each in range(rank - 1) if each != axis] + [axis, rank - 1]
    if not certainly(used, shape[axis]):
        data = node.emit(StridedSliceOp(data, [0], [used], axes=[axis]))
    rows = node.emit(TransposeOp(data, order))
    found = _transformed(node, rows, length, results, inverse=inverse, is_half=half)
    return node.emit(TransposeOp(found, [order.index(each) for each in range(rank)]))


def _transformed(
    node: Node,
    data: SSAValue,
    length: int,
    results: int,
    *,
    inverse: bool = False,
    is_half: bool = False,
) -> SSAValue:
    """
    The first results of the transform of rows [..., elements, parts], whose parts are real and maybe imaginary ones:
    [..., results, 2], or [..., results, 1] of the half of a spectrum whose inverse is real.
    """
    kind = node.element_type(data)
    if kind != f64:
        data = cast(node, data, f32)
    *batch, used, parts = node.shape_of(data)
    steps = None if is_half else _steps(parts, used, length, results)
    if steps is not None:
        found = _in_two_steps(node, data, steps, results, inverse=inverse)
        return cast(node, found, kind)
    if used * results > MAX_FACTORS:
        raise UnsupportedNode(
            f"it is a product with a matrix of {used} by {results} elements, more than {MAX_FACTORS}"
        )
    row = _counted(node, used, 3)
    places = node.emit(MultiplyOp(row, _counted(node, results, 1)))
    factor = node.constant(np.ones((), np.float64))
    if is_half:
        # What stands for two frequencies counts twice: all but the first, and the middle one of an even length.
        is_first = node.emit(EqualOp(row, node.scalar(0, row)))
        is_second_half = node.emit(LessEqualOp(node.scalar((length + 1) // 2, row), row))
        is_alone = node.emit(LogicalOrOp(is_first, is_second_half))
        factor = node.emit(WhereOp(is_alone, factor, node.scalar(2.0, factor)))
    if inverse:
        factor = node.emit(DivideOp(factor, node.scalar(length, factor)))
    outputs = 1 if is_half else 2
    matrix = _waves(node, places, length, (parts, outputs), factor, data, inverse=inverse)
    product = matrix_product(node, reshaped(node, data, (*batch, used * parts)), matrix)
    return cast(node, reshaped(node, product, (*batch, results, outputs)), kind)


def _steps(parts: int, used: int, length: int, results: int) -> tuple[int, int] | None:
    """Two factors of the length of a transform of all elements, where one step would be much more work, or too large."""
    if any(map(is_open, (used, length, results))) or used != length:
        return None
    first = next(each for each in range(isqrt(length), 0, -1) if length % each == 0)
    blocks = -(-results // first)
    work, alone = 2 * length * (first * parts + 2 * blocks), 2 * parts * length * results
    is_large = length * results > MAX_FACTORS
    if length * blocks > MAX_FACTORS or not is_large and 2 * work > alone:
        return None
    return first, length // first


def _in_two_steps(
    node: Node, data: SSAValue, steps: tuple[int, int], results: int, *, inverse: bool
) -> SSAValue:
    """
    A transform of first * second elements, with i = second * i1 + i2 and k = k1 + first * k2: for all k1 the sums over i1,
    [k1, rows, i2], then their products with a matrix for each k1. Source: J. Cooley and J. Tukey, "An algorithm for the machine
    calculation of complex Fourier series" (1965).
    """
    first, second = steps
    *batch, length, parts = node.shape_of(data)
    rows, blocks = prod(batch), -(-results // first)
    one = node.constant(np.ones((), np.float64))
    places = node.emit(MultiplyOp(_counted(node, first, 3), _counted(node, first, 1)))
    matrix = _waves(node, places, first, (parts, 2), one, data, inverse=inverse)
    split = node.emit(TransposeOp(reshaped(node, data, (rows, first, second, parts)), (0, 2, 1, 3)))
    sums = matrix_product(node, reshaped(node, split, (rows * second, first * parts)), matrix)
    sums = reshaped(node, sums, (rows, second, first, 2))
    sums = reshaped(node, node.emit(TransposeOp(sums, (2, 0, 1, 3))), (first, rows, second * 2))
    block = _counted(node, blocks, 1)
    block = node.emit(MultiplyOp(block, node.scalar(first, block)))
    frequency = node.emit(AddOp(_counted(node, first, 4), block))
    places = node.emit(MultiplyOp(_counted(node, second, 3), frequency))
    factor = node.scalar(1 / length, one) if inverse else one
    matrices = _waves(node, places, length, (2, 2), factor, data, inverse=inverse)
    found = reshaped(node, matrix_product(node, sums, matrices), (first, rows, blocks, 2))
    found = node.emit(TransposeOp(found, (1, 2, 0, 3)))
    found = reshaped(node, found, (rows, blocks * first, 2))
    if blocks * first != results:
        found = node.emit(StridedSliceOp(found, [0], [results], axes=[1]))
    return reshaped(node, found, (*batch, results, 2))


def _waves(
    node: Node,
    places: SSAValue,
    length: int,
    parts: tuple[int, int],
    factor: SSAValue,
    like: SSAValue,
    *,
    inverse: bool,
) -> SSAValue:
    """
    Matrices that multiply pairs of real and imaginary parts by a factor times exp(-2 pi i place / length), or exp(2 pi i place / length)
    for the inverse: of places [..., rows, 1, columns, 1] they are [..., rows * parts, columns * parts], with the parts of operands
    and of results. Part p of an operand adds to part q of a result by the cosine, which is p - q quarters of a turn further. Those
    of one turn are computed once.
    """
    own, others = parts
    quarters = np.subtract.outer(np.arange(own), np.arange(others)) * (1 if inverse else -1)
    quarters = node.constant(quarters.reshape(own, 1, others))
    place = node.emit(FloorModOp(places, node.scalar(length, places)))
    place = node.emit(MultiplyOp(place, node.scalar(4, place)))
    ahead = node.emit(MultiplyOp(quarters, node.scalar(length, quarters)))
    place = node.emit(AddOp(place, ahead))
    place = node.emit(FloorModOp(place, node.scalar(4 * length, place)))
    angle = node.counting(4 * length)
    half = node.emit(FloorModOp(angle, node.scalar(2 * length, angle)))
    is_none = node.emit(EqualOp(half, node.scalar(length, half)))
    angle = cast(node, angle, f64)
    angle = node.emit(MultiplyOp(angle, node.scalar(np.pi / 2, angle)))
    angle = node.emit(DivideOp(angle, node.scalar(length, angle)))
    cosine = node.emit(CosOp(angle))
    # Where a cosine is 0, it is so exactly.
    cosine = node.emit(WhereOp(is_none, node.scalar(0.0, cosine), cosine))
    matrix = node.emit(MultiplyOp(node.emit(TakeOp(cosine, place)), factor))
    *batch, rows, _, columns, _ = node.shape_of(matrix)
    matrix = cast(node, matrix, node.element_type(like))
    return node.computed(reshaped(node, matrix, (*batch, rows * own, columns * others)))


def _counted(node: Node, length: int, behind: int) -> SSAValue:
    """The numbers from 0 up to a length, in front of so many axes of one element."""
    return reshaped(node, node.counting(length), (length, *[1] * behind))


def short_time_fourier_transform(node: Node) -> SSAValue:
    """STFT: the transforms of frames of a signal, which is real or has two parts, times a window."""
    onesided = node.flag("onesided", default=True)
    signal = node.input(0)
    shape = node.shape_of(signal)
    if len(shape) != 2 and (len(shape) != 3 or shape[2] not in (1, 2)):
        raise OnnxImportError(
            f"its signal has the shape {list(shape)}, expected real or complex numbers in rows"
        )
    batch, elements, parts = (*shape, 1)[:3]
    if parts == 2 and onesided:
        raise OnnxImportError("'onesided' is 1, and the signal complex, whose halves differ")
    steps = node.known_lengths(1, "frame_step")
    lengths = node.known_lengths(3, "frame_length") if node.has_input(3) else []
    window = node.input(2) if node.has_input(2) else None
    if window is None and len(lengths) != 1:
        raise OnnxImportError("it has neither a window nor a length of frames")
    stated = [] if window is None else list(node.shape_of(window))
    lengths, stated = lengths or stated, stated or lengths
    if len(steps) != 1 or len(lengths) != 1 or stated != lengths:
        raise OnnxImportError(
            f"the step is {steps}, the length of frames {lengths}, and the window has the shape "
            f"{stated}"
        )
    (step,), (length,) = steps, lengths
    if step < 1 or length < 1 or length > elements:
        raise OnnxImportError(
            f"frames of {length} elements for each {step} of a signal of {elements}"
        )
    bins = length // 2 + 1 if onesided else length
    if parts == 1 and length * bins > MAX_FACTORS and _steps(1, length, length, bins) is None:
        if window is None:
            window = node.filled(np.ones((), node.element_dtype(signal)), (length,))
        signal = reshaped(node, signal, (batch, elements))
        result = node.emit(StftOp(signal, window, length, step, length, onesided=onesided))
        return node.emit(TransposeOp(result, (0, 2, 1, 3)))
    signal = reshaped(node, signal, (batch, elements, parts))
    frames = node.emit(SlidingWindowOp(signal, 1, [length, parts], [step, 1]))
    frames = reshaped(node, frames, (batch, (elements - length) // step + 1, length, parts))
    if window is not None:
        frames = node.emit(MultiplyOp(frames, reshaped(node, window, (length, 1))))
    return _transformed(node, frames, length, bins)


def window(weights: Sequence[float]) -> Converter:
    """Converts a window that is a sum of cosines."""

    def convert(node: Node) -> SSAValue:
        periodic = node.flag("periodic", default=True)
        element_type = node.stated_type("output_datatype", TensorProto.FLOAT)
        size = node.known_integer(0, "size", is_length=True)
        turns = cast(node, node.counting(size), f64)
        turns = node.emit(MultiplyOp(turns, node.scalar(2 * np.pi, turns)))
        around = node.scalar(larger(size if periodic else size - 1, 1), turns)
        turns = node.emit(DivideOp(turns, around))
        total = node.filled(np.asarray(weights[0]), (size,))
        for order, weight in enumerate(weights[1:], 1):
            wave = node.emit(CosOp(node.emit(MultiplyOp(turns, node.scalar(order, turns)))))
            total = node.emit(AddOp(total, node.emit(MultiplyOp(wave, node.scalar(weight, wave)))))
        return node.computed(cast(node, total, element_type))

    return convert


CONVERTERS: ConverterTable = {
    "BlackmanWindow": {17: window((0.42, -0.5, 0.08))},
    "DFT": {17: fourier_transform_by_attribute, 20: fourier_transform},
    "HammingWindow": {17: window((25 / 46, -21 / 46))},
    "HannWindow": {17: window((0.5, -0.5))},
    "STFT": {17: short_time_fourier_transform},
}
