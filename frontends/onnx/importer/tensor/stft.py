"""Fourier transforms, as products with matrices, and windows of signals."""

from collections.abc import Sequence
from math import log, log10

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import larger, smaller
from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.binary import (
    AddOp,
    DivideOp,
    EqualOp,
    FloorModOp,
    LessEqualOp,
    LogicalOrOp,
    MultiplyOp,
    SubtractOp,
)
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reorder import SlidingWindowOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.stft import StftOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import CosOp, SinOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import cast, joined, matrix_product, reshaped
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_table
from xrelay.frontends.onnx.tensors import element_type_of
from xrelay.interpreters.arrays import dtype_of

MAX_FACTORS = 2**22
"""Transforms by a matrix of more elements are refused."""


def fourier_transform_by_attribute(node: Node) -> SSAValue:
    """DFT before operator set 20, where `axis` is an attribute."""
    return _fourier_transform(node, node.integer("axis", 1))


def fourier_transform(node: Node) -> SSAValue:
    """DFT along a constant axis."""
    axes = node.known_integers(2, "axis") if node.has_input(2) else [-2]
    if len(axes) != 1:
        raise OnnxImportError(f"input 2 ('axis') is {axes}, expected one number")
    return _fourier_transform(node, axes[0])


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
        lengths = node.known_lengths(1, "dft_length")
        if len(lengths) != 1:
            raise OnnxImportError(f"input 1 ('dft_length') is {lengths}, expected one number")
        (length,) = lengths
    if length < 1:
        raise OnnxImportError(f"the length of the transform is {length}")
    bins = length // 2 + 1 if onesided else length
    used = smaller(shape[axis], bins if half else length)
    results = length if half else bins
    _require_factors(used, results)
    matrices = _factors(node, (used, results), length, data, weighted=half, scaled=inverse)
    # The axis of the transform becomes the last one, after the parts have one tensor each.
    order = [each for each in range(len(shape) - 1) if each != axis] + [axis]
    parts: list[SSAValue] = []
    for part in range(shape[-1]):
        taken = StridedSliceOp(data, [0, part], [used, part + 1], axes=[axis, len(shape) - 1])
        cut = [*shape[:axis], used, *shape[axis + 1 : -1]]
        parts.append(node.emit(TransposeOp(reshaped(node, node.emit(taken), tuple(cut)), order)))
    products = [[matrix_product(node, part, factor) for factor in matrices] for part in parts]
    real, imaginary = _combined(node, products, inverse=inverse)
    outputs = [real] if half else [real, imaginary]
    back = [order.index(each) for each in range(len(order))]
    return joined_parts(node, [node.emit(TransposeOp(each, back)) for each in outputs])


def _require_factors(rows: int, columns: int) -> None:
    if rows * columns > MAX_FACTORS:
        raise UnsupportedNode(
            f"it is a product with a matrix of {rows} by {columns} elements, more than "
            f"{MAX_FACTORS}"
        )


def _factors(
    node: Node,
    shape: tuple[int, int],
    length: int,
    like: SSAValue,
    *,
    weighted: bool,
    scaled: bool,
) -> list[SSAValue]:
    """
    The matrices whose elements are cos(2 pi i j / length) and sin(2 pi i j / length), each computed once, for the angles of
    one turn. With `weighted`, rows that stand for two frequencies count twice: all but the first, and the middle one of an even
    length. With `scaled`, elements are divided by the length.
    """
    rows, columns = shape
    row = reshaped(node, node.counting(rows), (rows, 1))
    column = reshaped(node, node.counting(columns), (1, columns))
    place = node.emit(MultiplyOp(row, column))
    place = node.emit(FloorModOp(place, node.scalar(length, place)))
    angles = cast(node, node.counting(length), f64)
    angles = node.emit(MultiplyOp(angles, node.scalar(2 * np.pi, angles)))
    angles = node.emit(DivideOp(angles, node.scalar(length, angles)))
    factor = node.scalar(1.0, angles)
    if weighted:
        is_first = node.emit(EqualOp(row, node.scalar(0, row)))
        is_second_half = node.emit(LessEqualOp(node.scalar((length + 1) // 2, row), row))
        is_alone = node.emit(LogicalOrOp(is_first, is_second_half))
        factor = node.emit(WhereOp(is_alone, factor, node.scalar(2.0, factor)))
    if scaled:
        factor = node.emit(DivideOp(factor, node.scalar(length, factor)))
    matrices: list[SSAValue] = []
    for function in (CosOp, SinOp):
        turn = node.emit(function(angles))
        matrix = node.emit(MultiplyOp(node.emit(TakeOp(turn, place)), factor))
        matrices.append(node.computed(cast(node, matrix, node.element_type(like))))
    return matrices


def _combined(
    node: Node, products: Sequence[Sequence[SSAValue]], *, inverse: bool
) -> tuple[SSAValue, SSAValue]:
    """The product of (a + i b) and (c -+ i s), given the products of a, and maybe b, with c and s."""
    (real, cross), *rest = products
    zero = node.scalar(0, cross)
    if not rest:
        return real, cross if inverse else node.emit(SubtractOp(zero, cross))
    other_cross, other = rest[0]
    if inverse:
        return (
            node.emit(SubtractOp(real, other)),
            node.emit(AddOp(other_cross, cross)),
        )
    return node.emit(AddOp(real, other)), node.emit(SubtractOp(other_cross, cross))


def joined_parts(node: Node, parts: Sequence[SSAValue]) -> SSAValue:
    """Real and imaginary parts along a new last axis."""
    rank = len(node.shape_of(parts[0]))
    wide = [node.emit(ExpandDimsOp(part, rank)) for part in parts]
    return joined(node, wide, rank)


def short_time_fourier_transform(node: Node) -> SSAValue:
    """STFT: frames of a signal, which is real or has two parts, times a window, as products with matrices."""
    onesided = node.flag("onesided", default=True)
    signal = node.input(0)
    shape = node.shape_of(signal)
    if len(shape) != 2 and (len(shape) != 3 or shape[2] not in (1, 2)):
        raise OnnxImportError(
            f"its signal has the shape {list(shape)}, expected real or complex numbers in rows"
        )
    if len(shape) == 3 and shape[2] == 2 and onesided:
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
    if step < 1 or length < 1 or length > shape[1]:
        raise OnnxImportError(
            f"frames of {length} elements for each {step} of a signal of {shape[1]}"
        )
    bins = length // 2 + 1 if onesided else length
    parts = _parts(node, signal)
    if len(parts) == 1 and length * bins > MAX_FACTORS:
        if window is None:
            window = node.constant(np.ones(length, node.element_dtype(signal)))
        result = node.emit(StftOp(parts[0], window, length, step, length, onesided=onesided))
        return node.emit(TransposeOp(result, (0, 2, 1, 3)))
    _require_factors(length, bins)
    matrices = _factors(node, (length, bins), length, signal, weighted=False, scaled=False)
    products: list[list[SSAValue]] = []
    for part in parts:
        frames = node.emit(SlidingWindowOp(part, 1, [length], [step]))
        if window is not None:
            frames = node.emit(MultiplyOp(frames, window))
        products.append([matrix_product(node, frames, factor) for factor in matrices])
    return joined_parts(node, _combined(node, products, inverse=False))


def _parts(node: Node, signal: SSAValue) -> list[SSAValue]:
    """The real rows of a signal, and the imaginary ones where it has them."""
    shape = node.shape_of(signal)
    if len(shape) == 2 or shape[2] == 1:
        return [reshaped(node, signal, shape[:2])]
    taken = [node.emit(StridedSliceOp(signal, [i], [i + 1], axes=[2])) for i in range(2)]
    return [reshaped(node, each, shape[:2]) for each in taken]


def window(weights: Sequence[float]) -> Converter:
    """Converts a window that is a sum of cosines."""

    def convert(node: Node) -> SSAValue:
        periodic = node.flag("periodic", default=True)
        code = node.integer("output_datatype", TensorProto.FLOAT)
        element_type = element_type_of(code, "attribute 'output_datatype'")
        sizes = node.known_lengths(0, "size")
        if len(sizes) != 1:
            raise OnnxImportError(f"input 0 ('size') is {sizes}, expected one number")
        (size,) = sizes
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


def mel_weights(node: Node) -> SSAValue:
    """MelWeightMatrix: triangles over the bins of a spectrum, evenly spaced on the mel scale."""
    code = node.integer("output_datatype", TensorProto.FLOAT)
    dtype = dtype_of(element_type_of(code, "attribute 'output_datatype'"))
    names = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
    arrays = [node.known(index, name) for index, name in enumerate(names)]
    if any(array.size != 1 for array in arrays):
        raise OnnxImportError("an input has several elements, expected one")
    bands, length, rate = (int(array.item()) for array in arrays[:3])
    low, high = (float(array.item()) for array in arrays[3:])
    require_table((length // 2 + 1, bands), "the result")
    if bands < 1 or length < 1 or rate < 1 or not 0 <= low < high:
        raise OnnxImportError(
            f"it has {bands} bands from {low} to {high} Hz, for transforms of {length} samples of "
            f"{rate} Hz"
        )
    begin, end = (2595 * log10(1 + edge / 700) for edge in (low, high))
    mels = np.linspace(begin, end, bands + 2, endpoint=False)
    hertz = 700 * np.expm1(mels * (log(10) / 2595))
    edges = np.floor(hertz * (length + 1) / rate).astype(np.int64)
    first, middle, last = edges[:-2], edges[1:-1], edges[2:]
    bins = np.arange(length // 2 + 1, dtype=np.int64)[:, None]
    rising = np.add(np.subtract(bins, first), np.equal(first, middle))
    rising = np.divide(rising, np.maximum(np.subtract(middle, first), 1))
    falling = np.divide(np.subtract(last, bins), np.maximum(np.subtract(last, middle), 1))
    weights = np.where(np.less_equal(bins, middle), rising, falling)
    below = np.logical_or(np.less(bins, last), np.equal(bins, middle))
    inside = np.logical_and(np.greater_equal(bins, first), below)
    return node.constant(np.where(inside, weights, 0).astype(dtype))


CONVERTERS: ConverterTable = {
    "BlackmanWindow": {17: window((0.42, -0.5, 0.08))},
    "DFT": {17: fourier_transform_by_attribute, 20: fourier_transform},
    "HammingWindow": {17: window((25 / 46, -21 / 46))},
    "HannWindow": {17: window((0.5, -0.5))},
    "MelWeightMatrix": {17: mel_weights},
    "STFT": {17: short_time_fourier_transform},
}
