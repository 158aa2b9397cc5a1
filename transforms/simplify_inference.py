"""
`simplify-inference`: what normalisation and dropout are once a model is trained.

    %0 = relay.nn.batch_norm %x, …          %scale = gamma / sqrt(var + epsilon), as [C, 1, 1]
    %1 = relay.tuple_get_item %0[0]   ──►   %shift = beta - mean * scale,         as [C, 1, 1]
                                            %1 = %x * %scale + %shift

    %0 = relay.nn.dropout %x
    %1 = relay.tuple_get_item %0[0]   ──►   %x

    %1 = relay.nn.layer_norm %x, %gamma, %beta
                                      ──►   %mean = relay.mean %x              along the axis
                                            %var = relay.variance %x, %mean    along the axis
                                            %1 = (%x - %mean) / sqrt(%var + epsilon) * gamma + beta

    %1 = relay.nn.l2_normalize %x     ──►   %1 = %x / sqrt(max(sum of %x², eps))

Instance and group normalisation become the same as layer normalisation with other axes; group
normalisation splits the channels by a reshape before, which is undone after. `keep-norms` leaves these three
and `nn.l2_normalize` as they are, for code generators that have kernels for them. All four compute in f32
where the data has fewer bits (in Relay in f16, whose largest number is soon less than a square).

A scale and a shift round differently in the last places than the difference `%x - mean` times the scale. Where they are
infinite, they make NaN of numbers: infinities of both signs are added. So a batch normalisation gets them where its
statistics and gamma are constants that give finite ones. Others, those of parameters among them, stay a difference, in f32 where the
data has fewer bits:

    %0 = relay.nn.batch_norm %x, …    ──►   %1 = (%x - mean) * (gamma / sqrt(var + epsilon)) + beta
    %1 = relay.tuple_get_item %0[0]

With `unsafe` all of them get a scale and a shift, as in Relay.

Scale and shift are constants after `fold-constant`, when the statistics are. The statistics that a
batch normalisation returns, and a dropout's mask, keep their operator, and so do results that state fewer dimensions
than the data: what takes them may not take others. The bodies of
`relay.fused` and `relay.composite` and functions for other compilers stay as they are.

Source: Relay's SimplifyInference.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import TupleGetItemOp
from xrelay.dialects.nn.norm import (
    BatchNormOp,
    DropoutOp,
    GroupNormOp,
    InstanceNormOp,
    L2NormalizeOp,
    LayerNormOp,
    StandardizingOp,
)
from xrelay.dialects.shapes import is_empty
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reduce import MeanOp, VarianceOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.unary import NegativeOp, SqrtOp
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.emitting import along_axis, narrowed, widened
from xrelay.transforms.rules.l2_normalization import l2_normalized
from xrelay.transforms.rules.rewriting import ApplyRule, Emitter


def is_finite(norm: BatchNormOp) -> bool:
    """Whether a batch normalisation has constants that give a finite scale and shift."""
    values = map(known_array, (norm.moving_var, norm.moving_mean, norm.gamma))
    variance, mean, gamma = values
    if variance is None or mean is None or gamma is None:
        return False
    with np.errstate(all="ignore"):
        scale = 1 / np.sqrt(variance + variance.dtype.type(norm.epsilon.value.data))
        scale = scale * gamma if norm.scale.value.data else scale
        return bool(np.all(np.isfinite(scale) & np.isfinite(mean * scale)))


@dataclass(frozen=True)
class ScaleAndShift(RewritePattern):
    """The first result of a batch normalisation."""

    unsafe: bool
    """Whether all get a scale and a shift, also where these may be infinite."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TupleGetItemOp, rewriter: PatternRewriter, /) -> None:
        norm = op.tuple_value.owner
        if not isinstance(norm, BatchNormOp) or op.index.value.data != 0:
            return
        if op.result.type != norm.data.type:
            return
        emit = Emitter()
        if self.unsafe or is_finite(norm):
            self.scale_and_shift(norm, emit)
        else:
            self.scaled_difference(norm, emit)
        rewriter.replace(op, emit.located(op))
        if not norm.result.uses:
            rewriter.erase(norm)

    def scale_and_shift(self, norm: BatchNormOp, emit: Emitter) -> None:
        """data * scale + (beta - mean * scale)"""
        scale = self.scale_of(norm, norm.moving_var, norm.gamma, emit)
        shift = emit(MultiplyOp(emit(NegativeOp(norm.moving_mean)), scale))
        if norm.center.value.data:
            shift = emit(AddOp(shift, norm.beta))
        axis, rank = norm.channel_axis, norm.data.type.get_num_dims()
        scale = along_axis(emit, scale, axis, rank)
        shift = along_axis(emit, shift, axis, rank)
        emit(AddOp(emit(MultiplyOp(norm.data, scale)), shift))

    def scaled_difference(self, norm: BatchNormOp, emit: Emitter) -> None:
        """(data - mean) * scale + beta"""
        axis, rank = norm.channel_axis, norm.data.type.get_num_dims()
        mean, variance = widened(emit, norm.moving_mean), widened(emit, norm.moving_var)
        gamma = widened(emit, norm.gamma) if norm.scale.value.data else norm.gamma
        scale = self.scale_of(norm, variance, gamma, emit)
        centered = SubtractOp(widened(emit, norm.data), along_axis(emit, mean, axis, rank))
        result = emit(MultiplyOp(emit(centered), along_axis(emit, scale, axis, rank)))
        if norm.center.value.data:
            beta = along_axis(emit, widened(emit, norm.beta), axis, rank)
            result = emit(AddOp(result, beta))
        narrowed(emit, result, norm.data)

    def scale_of(
        self, norm: BatchNormOp, variance: SSAValue, gamma: SSAValue, emit: Emitter
    ) -> SSAValue:
        """gamma / sqrt(variance + epsilon)"""
        stable = emit(AddOp(variance, emit.scalar(norm.epsilon.value.data, variance)))
        scale = emit(DivideOp(emit.scalar(1.0, variance), emit(SqrtOp(stable))))
        return emit(MultiplyOp(scale, gamma)) if norm.scale.value.data else scale


class SkipDropout(RewritePattern):
    """The first result of a dropout."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TupleGetItemOp, rewriter: PatternRewriter, /) -> None:
        dropout = op.tuple_value.owner
        if not isinstance(dropout, DropoutOp) or op.index.value.data != 0:
            return
        if op.result.type != dropout.data.type:
            return
        rewriter.replace(op, (), (dropout.data,))
        if not dropout.result.uses:
            rewriter.erase(dropout)


class Standardize(RewritePattern):
    """Layer, instance and group normalisation: statistics of the data itself, in f32 for narrower types."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: StandardizingOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, GroupNormOp) and not op.data.type.has_static_shape():
            return
        if op.result.type != op.data.type:
            return
        emit = Emitter()
        axis, shape = op.channel_axis, op.data.type.get_shape()
        data = widened(emit, op.data)
        match op:
            case LayerNormOp():
                normal = self.standardized(emit, op, data, (op.axis.value.data,))
            case InstanceNormOp():
                normal = self.standardized(emit, op, data, op.reduced_axes)
            case GroupNormOp():
                groups = op.num_groups.value.data
                split = (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
                data = emit(ReshapeOp(data, split, allowzero=0 in split))
                normal = self.standardized(emit, op, data, range(axis + 1, len(split)))
                normal = emit(ReshapeOp(normal, shape, allowzero=is_empty(shape)))
            case _:
                return
        if op.scale.value.data:
            gamma = along_axis(emit, widened(emit, op.gamma), axis, len(shape))
            normal = emit(MultiplyOp(normal, gamma))
        if op.center.value.data:
            beta = along_axis(emit, widened(emit, op.beta), axis, len(shape))
            normal = emit(AddOp(normal, beta))
        narrowed(emit, normal, op.data)
        rewriter.replace(op, emit.located(op))

    def standardized(
        self, emit: Emitter, op: StandardizingOp, data: SSAValue, axes: Sequence[int]
    ) -> SSAValue:
        """(data - mean) / sqrt(variance + epsilon), the statistics over `axes`."""
        mean = emit(MeanOp(data, axes, keepdims=True))
        variance = emit(VarianceOp(data, mean, axis=axes, keepdims=True))
        stable = emit(AddOp(variance, emit.scalar(op.epsilon.value.data, data)))
        centered = emit(SubtractOp(data, mean))
        return emit(DivideOp(centered, emit(SqrtOp(stable))))


@dataclass(frozen=True)
class SimplifyInferencePass(RelayPass):
    """Rewrites operators that only differ from simpler ones while a model is trained."""

    name = "simplify-inference"

    keep_norms: bool = False
    """Leave layer, instance, group and L2 normalisation as they are."""
    unsafe: bool = False
    """Give batch normalisation a scale and a shift also where these may be infinite, and NaN the result."""

    def rewrite(self, op: ModuleOp) -> None:
        patterns: list[RewritePattern] = [ScaleAndShift(self.unsafe), SkipDropout()]
        if not self.keep_norms:
            patterns.extend((Standardize(), ApplyRule(L2NormalizeOp, l2_normalized)))
        applier = Outside(keeps_body, GreedyRewritePatternApplier(patterns, dce_enabled=False))
        PatternWalker(applier, apply_recursively=False).rewrite_module(op)
