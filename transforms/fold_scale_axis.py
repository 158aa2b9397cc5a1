"""
`fold-scale-axis`: multiplications by constants move into the weights of convolution and dense.

    %0 = relay.nn.conv2d %x, %w                %0 = relay.multiply %w, %s      [O, 1, 1, 1]
    %1 = relay.nn.bias_add %0, %b              %1 = relay.nn.conv2d %x, %0
    %2 = relay.multiply %1, %s          ──►    %2 = relay.multiply %b, %s
    %3 = relay.add %2, %t                      %3 = relay.nn.bias_add %1, %2
                                               %4 = relay.add %3, %t

The products with weights and biases are constants after `fold-constant`. First `backward`: a
multiplication after a convolution (what `simplify-inference` makes of batch normalisation), then
`forward`: one before it. Additions stay additions, of scaled constants. xrelay.analysis.facts.scale_axis
says what scales move past; `xrelay.analysis.facts.scale_axis.plans` explains refusals.

A scale in front of a grouped convolution is laid along the input channels of each group:
w [O, I / G, …] as [G, O / G, I / G, …] times s as [G, 1, I / G, 1, 1].

Reordering the multiplication rounds differently in the last places, and results that overflowed
between may no longer do so; a NaN or an infinite input stays one unless the scale is 0.
Leaves alone: infinite scales and NaN, integer arithmetic, types with unknown dimensions, the bodies of `relay.fused` and
`relay.composite` and functions for other compilers.

Source: Relay's FoldScaleAxis. Scales along the axes of non-constant weights fold as in Relay unless
`constant-weights` is set.
"""

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scale_axis import Direction, Edit, Plan, plan
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.tensor.binary import DivideOp, MultiplyOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.transforms.rules.rewriting import Emitter, erase_unused, shape_of


def scaled_operand(edit: Edit, each: Plan, emit: Emitter) -> SSAValue:
    """The operand that an edit puts in place."""
    value = edit.op.operands[edit.index]
    factors = emit.constant(np.ascontiguousarray(each.scale.factors).reshape(edit.shape or ()))
    if edit.divide:
        return emit(DivideOp(value, factors))
    if edit.groups == 1:
        return emit(MultiplyOp(value, factors))
    out_channels, group_channels, *kernel = shape = shape_of(value)
    groups = edit.groups
    grouped = (groups, out_channels // groups, group_channels, *kernel)
    factors = emit(ReshapeOp(factors, (groups, 1, group_channels, *[1] * len(kernel))))
    product = emit(MultiplyOp(emit(ReshapeOp(value, grouped)), factors))
    return emit(ReshapeOp(product, shape))


@dataclass(frozen=True)
class FoldScale(RewritePattern):
    """Carries out the plan for a multiplication."""

    direction: Direction
    constant_weights: bool

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, MultiplyOp):
            return
        each = plan(op, self.direction, self.constant_weights)
        if each is None or not each.folds:
            return
        for edit in each.edits:
            emit = Emitter()
            value = scaled_operand(edit, each, emit)
            rewriter.insert(emit.located(edit.op), InsertPoint.before(edit.op))
            old = edit.op.operands[edit.index]
            edit.op.operands[edit.index] = value
            rewriter.notify_op_modified(edit.op)
            erase_unused((old,), rewriter)
        factors = op.rhs if each.data is op.lhs else op.lhs
        rewriter.replace(op, (), (each.data,))
        erase_unused((factors,), rewriter)


@dataclass(frozen=True)
class FoldScaleAxisPass(RelayPass):
    """Folds multiplications by constants into weights, backward and then forward."""

    name = "fold-scale-axis"

    directions: tuple[str, ...] = ("backward", "forward")
    """Which folds to make, in order."""
    constant_weights: bool = False
    """Leave multiplications whose weight or summand is not constant."""

    def rewrite(self, op: ModuleOp) -> None:
        for direction in self.directions:
            if direction not in ("backward", "forward"):
                raise PassFailedException(
                    f'\'directions\' has "{direction}", accepted are "backward" and "forward"'
                )
            # The last multiplication first: it merges into the one before, which then moves on.
            PatternWalker(
                Outside(keeps_body, FoldScale(direction, self.constant_weights)),
                apply_recursively=False,
                walk_reverse=direction == "backward",
            ).rewrite_module(op)
