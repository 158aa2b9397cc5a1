"""The weights of a spectrum on the mel scale, of which the length of the transform may be known when the program runs only."""

from math import log, log10

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.tensor.binary import (
    AddOp,
    DivideOp,
    EqualOp,
    GreaterEqualOp,
    LessEqualOp,
    LessOp,
    LogicalAndOp,
    LogicalOrOp,
    MaximumOp,
    MultiplyOp,
    SubtractOp,
)
from xrelay.dialects.tensor.transform import StridedSliceOp, WhereOp
from xrelay.dialects.tensor.unary import FloorOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.core.loop_inputs import single
from xrelay.frontends.onnx.importer.emitting import cast, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_table


def mel_weights(node: Node) -> SSAValue:
    """MelWeightMatrix: triangles over the bins of a spectrum, evenly spaced on the mel scale."""
    element_type = node.stated_type("output_datatype", TensorProto.FLOAT)
    bands = int(single(node, 0, "num_mel_bins"))
    length = single(node, 1, "dft_length")
    rate = single(node, 2, "sample_rate")
    low, high = (
        float(node.known_number(index, name))
        for index, name in ((3, "lower_edge_hertz"), (4, "upper_edge_hertz"))
    )
    if bands < 1 or length < 1 or rate < 1 or not 0 <= low < high:
        raise OnnxImportError(
            f"it has {bands} bands from {low} to {high} Hz, for transforms of {length} samples of "
            f"{rate} Hz"
        )
    bins = length // 2 + 1
    if not is_open(bins):
        require_table((bins, bands), "the result")
    first, middle, last = _edges(node, bands, length, rate, low, high)
    place = reshaped(node, node.counting(bins), (bins, 1))
    one = node.constant(np.array(1))
    # Where a triangle begins in its middle, that counts as a whole.
    is_edge = cast(node, node.emit(EqualOp(first, middle)), i64)
    rising = _share(
        node, node.emit(AddOp(node.emit(SubtractOp(place, first)), is_edge)), middle, first, one
    )
    falling = _share(node, node.emit(SubtractOp(last, place)), last, middle, one)
    weights = node.emit(WhereOp(node.emit(LessEqualOp(place, middle)), rising, falling))
    is_middle = node.emit(EqualOp(place, middle))
    is_below = node.emit(LogicalOrOp(node.emit(LessOp(place, last)), is_middle))
    inside = node.emit(LogicalAndOp(node.emit(GreaterEqualOp(place, first)), is_below))
    found = node.emit(WhereOp(inside, weights, node.scalar(0, weights)))
    return node.computed(cast(node, found, element_type))


def _edges(
    node: Node, bands: int, length: int, rate: int, low: float, high: float
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The bins where triangles begin, are highest, and end."""
    begin, end = (2595 * log10(1 + edge / 700) for edge in (low, high))
    mels = np.linspace(begin, end, bands + 2, endpoint=False)
    hertz = node.constant(700 * np.expm1(mels * (log(10) / 2595)))
    places = node.emit(MultiplyOp(hertz, node.scalar(length + 1, hertz)))
    places = node.emit(FloorOp(node.emit(DivideOp(places, node.scalar(rate, hertz)))))
    places = cast(node, places, i64)
    first, middle, last = (
        node.emit(StridedSliceOp(places, [start], [start + bands])) for start in range(3)
    )
    return first, middle, last


def _share(node: Node, part: SSAValue, end: SSAValue, start: SSAValue, one: SSAValue) -> SSAValue:
    """What part of the way from one edge to another a number of bins is."""
    whole = node.emit(MaximumOp(node.emit(SubtractOp(end, start)), one))
    return node.emit(DivideOp(cast(node, part, f64), cast(node, whole, f64)))


CONVERTERS: ConverterTable = {
    "MelWeightMatrix": {17: mel_weights},
}
