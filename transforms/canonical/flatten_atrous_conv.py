"""
`flatten-atrous-conv`: a convolution of every second (third, …) element becomes a dilated one.

    %0 = relay.nn.space_to_batch_nd %x {block_shape = [2, 2], paddings = [2, 3], [2, 3]}
    %1 = relay.nn.conv2d %0, %w {data_layout = "NHWC"}
    %2 = relay.nn.batch_to_space_nd %1 {block_shape = [2, 2], crops = [0, 1], [0, 1]}
                            ──►   %2 = relay.nn.conv2d %x, %w {dilation = [2, 2], padding = [2, 2, 2, 2], …}

TensorFlow writes dilated convolutions in this way. With blocks of b elements, element q of phase k is element q * b + k
of the padded image; so the distance of the weight's elements is multiplied by b, and so is the padding of the
convolution, to which that of the image is added. Crops take away what would be padding, or part of it.

The convolution is `relay.nn.conv2d` or `relay.qnn.conv2d` with axes N, H, W, C in this order and steps of 1. What
stays: blocks that differ between the two, or of another number of axes; images padded with what the convolution does
not pad with (0, or the zero point of a quantised image); crops of more than what is padded in front; results that
others use; an operator in between; images that crops leave nothing of; bodies of `relay.fused` and `relay.composite`.

Source: Relay's FlattenAtrousConv, which pads as "SAME" does, whatever paddings and crops say; here these decide.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.conv.windows import expand_padding
from xrelay.dialects.nn.space import BatchToSpaceNDOp, SpaceToBatchNDOp
from xrelay.dialects.qnn.products import QnnConv2DOp
from xrelay.dialects.shapes import int_array
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.rewriting import ApplyRule, Emitter, has_static_type, like


def _pads_with(op: Conv2DOp | QnnConv2DOp, value: float) -> bool:
    """Whether elements around the image count as `value`."""
    if isinstance(op, Conv2DOp):
        return value == 0
    zero = known_array(op.input_zero_point)
    return zero is not None and bool((zero == value).all())


def dilated(op: BatchToSpaceNDOp, emit: Emitter) -> SSAValue | None:
    """batch_to_space(conv2d(space_to_batch(x), w)) ──► conv2d(x, w) with dilation"""
    conv = op.data.owner
    if not isinstance(conv, Conv2DOp | QnnConv2DOp) or not conv.result.has_one_use():
        return None
    split = conv.data.owner
    if not isinstance(split, SpaceToBatchNDOp) or not split.result.has_one_use():
        return None
    if len(op.blocks) != 2 or op.blocks != split.blocks or not has_static_type(split.data):
        return None
    if conv.data_layout.data != "NHWC" or conv.out_layout.data not in ("", "NHWC"):
        return None
    if any(stride != 1 for stride in conv.strides.get_values()):
        return None
    if not _pads_with(conv, split.pad_value.value.data):
        return None
    own = expand_padding(conv.padding.get_values())
    pads = list(zip(own[:2], own[2:], strict=True))
    padding = [
        widths[side] + block * pad[side] - cuts[side]
        for side in (0, 1)
        for widths, block, pad, cuts in zip(split.widths, op.blocks, pads, op.cuts, strict=True)
    ]
    if min(padding) < 0:
        return None
    dilation = [
        block * step for block, step in zip(op.blocks, conv.dilation.get_values(), strict=True)
    ]
    properties = {"padding": int_array(padding), "dilation": int_array(dilation)}
    new = like(conv, [split.data, *conv.operands[1:]], op.result.type, properties)
    try:
        fits = new.infer_type() == op.result.type
    except VerifyException:
        # Crops left nothing of the image, which has no room for the weight.
        return None
    return emit(new) if fits else None


@dataclass(frozen=True)
class FlattenAtrousConvPass(RelayPass):
    """Spells convolutions between `space_to_batch_nd` and `batch_to_space_nd` as dilated ones."""

    name = "flatten-atrous-conv"

    def rewrite(self, op: ModuleOp) -> None:
        pattern = ApplyRule(BatchToSpaceNDOp, dilated)
        PatternWalker(Outside(keeps_body, pattern)).rewrite_module(op)
