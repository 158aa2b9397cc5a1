"""
`fold-explicit-padding`: a pad becomes the padding of the convolution or pooling after it.

    %0 = relay.nn.pad %x, %zero {[0, 0], [0, 0], [1, 1], [1, 1]}
    %1 = relay.nn.conv2d %0, %w {padding = [0, 0]}
                                        ──►   %1 = relay.nn.conv2d %x, %w {padding = [1, 1, 1, 1]}

The pad is of constant mode and widens the spatial axes only, by what the operator itself pads with: zeros
for convolutions and average pools, the zero point of the data for qnn.conv2d, the smallest value of the
type (-inf) for max pools. The elements that a pad adds count for average pools, so that these have to count their own
padding (`count_include_pad`) or have none until now. Pooling with `ceil_mode` stays as it is: its last windows depend on what
is padding. All of them have one to three spatial axes, in any layout.
A pad with other users stays for them. The bodies of `relay.fused` and `relay.composite` and functions
for other compilers stay as they are.

Source: Relay's FoldExplicitPadding, whose max pools pad with the lowest finite number instead of -inf.
"""

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.conv.conv import Conv1DOp, Conv2DOp, Conv3DOp
from xrelay.dialects.conv.windows import expand_padding
from xrelay.dialects.lengths import holds_lengths
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import AvgPoolOp, MaxPool1DOp, MaxPool2DOp, MaxPool3DOp
from xrelay.dialects.qnn.products import QnnConv2DOp
from xrelay.dialects.shapes import boolean, int_array
from xrelay.dialects.tensor.layout import Layout, layout_of
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.constants import known_array
from xrelay.interpreters.numerics import convert, lowest
from xrelay.transforms.rules.rewriting import ApplyRule, Emitter, like

ConvOp = Conv1DOp | Conv2DOp | Conv3DOp
MaxPoolOp = MaxPool1DOp | MaxPool2DOp | MaxPool3DOp
WindowOp = ConvOp | QnnConv2DOp | MaxPoolOp | AvgPoolOp


def may_absorb(op: WindowOp, pad_value: Array) -> bool:
    """Whether `op` pads with `pad_value` itself."""
    if isinstance(op, MaxPoolOp):
        smallest = np.asarray(lowest(pad_value.dtype), pad_value.dtype)
        return bool(pad_value == smallest) and not op.ceil_mode.value.data
    if isinstance(op, AvgPoolOp):
        counts = op.count_include_pad.value.data or not any(op.padding.get_values())
        return pad_value == 0 and bool(counts) and not op.ceil_mode.value.data
    if isinstance(op, QnnConv2DOp):
        zero_point = known_array(op.input_zero_point)
        return zero_point is not None and bool(np.all(pad_value == zero_point))
    return bool(pad_value == 0)


def layouts_of(op: WindowOp) -> tuple[Layout, str]:
    """The layout of the data of a windowed operator, and the one that it is described in."""
    if isinstance(op, QnnConv2DOp):
        images = Conv2DOp.IMAGE_LAYOUT
        return layout_of(op.data_layout, "data_layout", images, splits="NC"), images
    return op.layouts[0] if isinstance(op, ConvOp) else op.data_layout, op.IMAGE_LAYOUT


def absorbed_pad(op: WindowOp, emit: Emitter) -> SSAValue | None:
    """conv2d(pad(x)) ──► conv2d(x) with padding"""
    pad = op.data.owner
    if not isinstance(pad, PadOp) or pad.pad_mode.data != "constant":
        return None
    if holds_lengths(pad):
        return None
    pad_value = known_array(pad.pad_val)
    layout, images = layouts_of(op)
    spatial = [layout.index(name) for name in images[2:]]
    others = (pair for axis, pair in enumerate(pad.widths) if axis not in spatial)
    if pad_value is None or any(map(any, others)):
        return None
    if any(min(pair) < 0 for pair in pad.widths):
        return None
    if not may_absorb(op, convert(pad_value, dtype_of(pad.data.type.element_type))):
        return None
    before = expand_padding(op.padding.get_values(), len(spatial))
    added = [pad.widths[axis][side] for side in (0, 1) for axis in spatial]
    padding = [sum(pair) for pair in zip(before, added, strict=True)]
    properties: dict[str, Attribute] = {"padding": int_array(padding)}
    if isinstance(op, AvgPoolOp):
        properties["count_include_pad"] = boolean(True)
    return emit(like(op, [pad.data, *op.operands[1:]], op.result.type, properties))


@dataclass(frozen=True)
class FoldExplicitPaddingPass(RelayPass):
    """Folds pads into the padding of the operators after them."""

    name = "fold-explicit-padding"

    def rewrite(self, op: ModuleOp) -> None:
        pattern = ApplyRule(WindowOp, absorbed_pad)
        PatternWalker(Outside(keeps_body, pattern)).rewrite_module(op)
