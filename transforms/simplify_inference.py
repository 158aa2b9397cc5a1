"""
`simplify-inference`: what batch normalisation and dropout are once a model is trained.

    %0 = relay.nn.batch_norm %x, …          %scale = gamma / sqrt(var + epsilon), as [C, 1, 1]
    %1 = relay.tuple_get_item %0[0]   ──►   %shift = beta - mean * scale,         as [C, 1, 1]
                                            %1 = %x * %scale + %shift

    %0 = relay.nn.dropout %x
    %1 = relay.tuple_get_item %0[0]   ──►   %x

Scale and shift are constants after `fold-constant`, when the statistics are. The statistics that a
batch normalisation returns, and a dropout's mask, keep their operator. The bodies of
`relay.fused` and `relay.composite` and functions for other compilers stay as they are.

Source: Relay's SimplifyInference.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xrelay.analysis.scopes import is_kept
from xrelay.dialects.binary import AddOp, DivideOp, MultiplyOp
from xrelay.dialects.core import ConstantOp, TupleGetItemOp
from xrelay.dialects.norm import BatchNormOp, DropoutOp
from xrelay.dialects.reshape import ExpandDimsOp
from xrelay.dialects.unary import NegativeOp, SqrtOp


class ScaleAndShift(RewritePattern):
    """The first result of a batch normalisation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TupleGetItemOp, rewriter: PatternRewriter, /) -> None:
        norm = op.tuple_value.owner
        if not isinstance(norm, BatchNormOp) or op.index.value.data != 0 or is_kept(op):
            return
        dtype = norm.data.type.element_type
        assert isinstance(dtype, AnyFloat)
        new: list[Operation] = []

        def emit(operation: Operation) -> SSAValue:
            new.append(operation)
            return operation.results[0]

        def scalar(value: float) -> SSAValue:
            type_ = TensorType(dtype, [])
            return emit(ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, [value])))

        variance = emit(AddOp(norm.moving_var, scalar(norm.epsilon.value.data)))
        scale = emit(DivideOp(scalar(1.0), emit(SqrtOp(variance))))
        if norm.scale.value.data:
            scale = emit(MultiplyOp(scale, norm.gamma))
        shift = emit(MultiplyOp(emit(NegativeOp(norm.moving_mean)), scale))
        if norm.center.value.data:
            shift = emit(AddOp(shift, norm.beta))
        following = norm.data.type.get_num_dims() - norm.channel_axis - 1
        if following:
            scale = emit(ExpandDimsOp(scale, 1, num_newaxis=following))
            shift = emit(ExpandDimsOp(shift, 1, num_newaxis=following))
        product = emit(MultiplyOp(norm.data, scale))
        emit(AddOp(product, shift))
        for operation in new:
            operation.location = op.location
        rewriter.replace(op, new)
        if not norm.result.uses:
            rewriter.erase(norm)


class SkipDropout(RewritePattern):
    """The first result of a dropout."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TupleGetItemOp, rewriter: PatternRewriter, /) -> None:
        dropout = op.tuple_value.owner
        if not isinstance(dropout, DropoutOp) or op.index.value.data != 0 or is_kept(op):
            return
        rewriter.replace(op, (), (dropout.data,))
        if not dropout.result.uses:
            rewriter.erase(dropout)


@dataclass(frozen=True)
class SimplifyInferencePass(ModulePass):
    """Rewrites operators that only differ from simpler ones while a model is trained."""

    name = "simplify-inference"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = GreedyRewritePatternApplier([ScaleAndShift(), SkipDropout()], dce_enabled=False)
        PatternRewriteWalker(patterns, apply_recursively=False).rewrite_module(op)
