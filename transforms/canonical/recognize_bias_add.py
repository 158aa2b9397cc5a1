"""
`recognize-bias-add`: a vector that is added to the result of a product becomes its bias.

    %0 = relay.nn.conv2d %x, %w
    %b = relay.expand_dims %bias {axis = 1, num_newaxis = 2}
    %1 = relay.add %0, %b               ──►   %1 = relay.nn.bias_add %0, %bias {axis = 1}

The vector has the length of one axis, and axes of length 1 for all that follow it: by `relay.expand_dims`, by
`relay.reshape`, or because it is such a constant. What it is added to is the result of a convolution or a product
(operators of kind `out_ewise_fusable`), whose type it does not widen. Where several axes have the length of a
constant, its own axis decides.

What stays: sums of other values; bodies of `relay.fused` and `relay.composite` and functions for other compilers.
It is the inverse of `canonicalize-ops`, for tables of patterns that name `nn.bias_add`, and runs before them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.lengths import certainly
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.shapes import same_type, shape_of
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.rewriting import ApplyRule, Emitter, has_static_type


def _channel_axis(shape: Sequence[int], whole: Sequence[int]) -> int | None:
    """Which axis of `whole` a tensor of `shape` runs along, if it runs along one."""
    long = [axis for axis, length in enumerate(shape) if not certainly(length, 1)]
    if len(long) != 1 or len(shape) > len(whole):
        return None
    axis = long[0] + len(whole) - len(shape)
    return axis if whole[axis] == shape[long[0]] else None


def recognized_bias(op: AddOp, emit: Emitter) -> SSAValue | None:
    """x + b ──► bias_add(x, b), b being a vector along one axis of x"""
    for data, added in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        product = data.owner
        if not isinstance(product, Operation) or not same_type(data.type, op.result.type):
            continue
        if pattern_kind(product) != OpPatternKind.OUT_EWISE_FUSABLE:
            continue
        if not has_static_type(data) or not has_static_type(added):
            continue
        axis = _channel_axis(shape_of(added), shape_of(data))
        if axis is None:
            continue
        bias = _vector(added, emit)
        if bias is not None:
            return emit(BiasAddOp(data, bias, axis=axis))
    return None


def _vector(value: SSAValue, emit: Emitter) -> SSAValue | None:
    """The vector that `value` is but for axes of length 1."""
    if len(shape_of(value)) == 1:
        return value
    array = known_array(value)
    if array is not None:
        return emit.constant(array.reshape(-1))
    source = value.owner
    if isinstance(source, ExpandDimsOp | ReshapeOp) and len(shape_of(source.data)) == 1:
        return source.data
    return None


@dataclass(frozen=True)
class RecognizeBiasAddPass(RelayPass):
    """Spells the addition of a vector to the result of a product as `relay.nn.bias_add`."""

    name = "recognize-bias-add"

    def rewrite(self, op: ModuleOp) -> None:
        pattern = ApplyRule(AddOp, recognized_bias)
        PatternWalker(Outside(keeps_body, pattern)).rewrite_module(op)
