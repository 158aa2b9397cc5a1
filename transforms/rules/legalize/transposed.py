"""
Rules of `legalize` for the transposes of convolutions.

    relay.nn.conv1d_transpose   a line is an image of height 1: relay.nn.conv2d_transpose
    relay.nn.conv3d_transpose   relay.nn.dilate by the strides, then relay.nn.conv3d with the weight
                                [O, C / groups, KD, KH, KW] in the opposite order of taps; padding
                                (K - 1) * dilation less than before

`legalize-layouts` brings tensors into the order of axes that these are described in.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DTransposeOp, Conv3DOp
from xrelay.dialects.conv.transpose import Conv1DTransposeOp, Conv3DTransposeOp
from xrelay.dialects.nn.dilate import DilateOp
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.reshape import ExpandDimsOp, SqueezeOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.transforms.rules.emitting import reshaped
from xrelay.transforms.rules.rewriting import Emitter

TransposedRule: TypeAlias = Callable[[Any, Emitter], SSAValue | None]


def _line(op: Conv1DTransposeOp, emit: Emitter) -> SSAValue | None:
    if not op.is_plain:
        return None
    left, right = op.pads
    image = emit(
        Conv2DTransposeOp(
            emit(ExpandDimsOp(op.data, 2)),
            emit(ExpandDimsOp(op.weight, 2)),
            strides=(1, *op.window_strides),
            output_padding=(0, *op.output_padding.get_values()),
            padding=(0, left, 0, right),
            dilation=(1, *op.window_dilation),
            groups=op.group_count(),
            kernel_layout="IOHW",
            out_dtype=op.out_dtype,
        )
    )
    return emit(SqueezeOp(image, (2,)))


def _volume(op: Conv3DTransposeOp, emit: Emitter) -> SSAValue | None:
    if not op.is_plain:
        return None
    data: SSAValue = op.data
    _, _, *kernel = shape_of(op.weight)
    if {*op.window_strides} != {1}:
        data = emit(DilateOp(data, (1, 1, *op.window_strides)))
    reach = [(taps - 1) * gap for taps, gap in zip(kernel, op.window_dilation, strict=True)]
    extra = (*[0] * op.spatial_axes, *op.output_padding.get_values())
    borders = [
        far - pad + more for far, pad, more in zip((*reach, *reach), op.pads, extra, strict=True)
    ]
    whole = emit(
        Conv3DOp(
            data,
            _mirrored(emit, op.weight, op.group_count()),
            padding=[max(border, 0) for border in borders],
            dilation=op.window_dilation,
            groups=op.group_count(),
            out_dtype=op.out_dtype,
        )
    )
    return _without_borders(emit, whole, [max(-n, 0) for n in borders])


def _without_borders(emit: Emitter, images: SSAValue, borders: Sequence[int]) -> SSAValue:
    """Images without the borders that more padding than windows reach cuts off."""
    if not any(borders):
        return images
    _, _, *size = shape_of(images)
    before, after = borders[: len(size)], borders[len(size) :]
    stops = [length - cut for length, cut in zip(size, after, strict=True)]
    return emit(StridedSliceOp(images, before, stops, axes=range(2, 2 + len(size))))


def _mirrored(emit: Emitter, weight: SSAValue, groups: int) -> SSAValue:
    """A weight [C, O / groups, …] as [O, C / groups, …], with the taps in the opposite order."""
    inputs, outputs, *kernel = shape_of(weight)
    apart = reshaped(emit, weight, (groups, inputs // groups, outputs, *kernel))
    swapped = emit(TransposeOp(apart, (0, 2, 1, *range(3, 3 + len(kernel)))))
    joined = reshaped(emit, swapped, (groups * outputs, inputs // groups, *kernel))
    last, before_first = [taps - 1 for taps in kernel], [-taps - 1 for taps in kernel]
    axes = range(2, 2 + len(kernel))
    return emit(StridedSliceOp(joined, last, before_first, [-1] * len(kernel), axes=axes))


TRANSPOSED_RULES: dict[type[Operation], TransposedRule] = {
    Conv1DTransposeOp: _line,
    Conv3DTransposeOp: _volume,
}
"""What replaces the transposes of convolutions of lines and volumes."""
