"""
`fuse-ops`: groups operators into `relay.fused`, each of which becomes one kernel.

    %0 = relay.nn.dense %x, %w            %1 = relay.fused %x, %w {
    %1 = relay.nn.relu %0          ──►    ^bb0(%p0, %p1):
                                            %2 = relay.nn.dense %p0, %p1
                                            %3 = relay.nn.relu %2
                                            relay.yield %3
                                          }

The decision is `xrelay.analysis.fusion.plan_fusion`, made for all blocks before anything changes.
The patterns only carry it out: a group moves to the place of its root, the one member that others
use. Values from outside become parameters p0, p1, …

Leaves alone: functions with `Compiler`, `Extern`, `SkipOptimization` or `Primitive`, the bodies of
`relay.fused`, operations of other dialects, tuples and projections that end a group, and constants
that are not in a group.

Run it after types are inferred and expressions are simplified. Running it twice changes nothing.
A scalar constant goes into a group when all its users do: one that unrelated operators share is a
parameter, so that sharing is better undone before.

Source: Relay's FuseOps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from xrelay.analysis.fusion import (
    FusionGroup,
    FusionOptions,
    fusion_blocks,
    is_operator,
    plan_fusion,
)
from xrelay.analysis.scopes import has_flag
from xrelay.dialects.annotation import StopFusionOp
from xrelay.dialects.core import ConstantOp, FusedOp, YieldOp
from xrelay.dialects.traits import ReshapeOnly


@dataclass(frozen=True)
class InlineStopFusion(RewritePattern):
    """`relay.annotation.stop_fusion(x)` is x, as soon as fusion is decided (rule 27)."""

    groups: dict[Operation, FusionGroup]
    """The group of each operation that ends one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: StopFusionOp, rewriter: PatternRewriter, /) -> None:
        if op in self.groups:
            rewriter.replace(op, (), (op.data,))


@dataclass(frozen=True)
class OutlineGroup(RewritePattern):
    """A group moves into a `relay.fused` at the place of its root (rules 28-32)."""

    groups: dict[Operation, FusionGroup]
    """The group of each operation that ends one."""
    link_params: bool
    """Whether constants outside of the group are copied into it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        group = self.groups.get(op)
        if group is None or not group.fused:
            return
        (result,) = op.results
        block = Block()
        inside: dict[SSAValue, SSAValue] = {}
        arguments: list[SSAValue] = []
        for value in values_from_outside(group):
            if self.link_params and isinstance(value.owner, ConstantOp):
                linked = value.owner.clone()
                block.add_op(linked)
                inside[value] = linked.result
            else:
                parameter = block.insert_arg(value.type, len(arguments))
                parameter.name_hint = f"p{len(arguments)}"
                arguments.append(value)
                inside[value] = parameter

        reshape_only = only_reshapes(group, arguments)
        fused = FusedOp(arguments, Region(block), result.type, reshape_only=reshape_only)
        fused.location = op.location
        fused.result.name_hint = result.name_hint
        rewriter.insert(fused, InsertPoint.before(op))
        rewriter.replace_all_uses_with(result, fused.result)
        for member in group.members:
            member.detach()
            member.operands = [inside.get(operand, operand) for operand in member.operands]
            block.add_op(member)
        block.add_op(YieldOp(result))
        for value in inside:
            if isinstance(value.owner, ConstantOp) and not value.uses:
                rewriter.erase(value.owner)


def values_from_outside(group: FusionGroup) -> list[SSAValue]:
    """
    The values that a group needs, in order of first need when the members are visited depth
    first from the root, each after its operands.
    """
    pending = dict.fromkeys(group.members)
    values: dict[SSAValue, None] = {}
    path = [group.root]
    del pending[group.root]
    while path:
        op = path[-1]
        for operand in op.operands:
            if isinstance(operand, OpResult) and operand.op in pending:
                del pending[operand.op]
                path.append(operand.op)
                break
        else:
            values.update(dict.fromkeys(path.pop().operands))
    results = {member.results[0] for member in group.members}
    return [value for value in values if value not in results]


def only_reshapes(group: FusionGroup, arguments: Sequence[SSAValue]) -> bool:
    """Whether all operators of a group keep the elements as they are (rule 30)."""
    operators = [op for op in group.members if is_operator(op)]
    return (
        bool(operators)
        and all(op.has_trait(ReshapeOnly) for op in operators)
        and all(isinstance(argument.type, TensorType) for argument in arguments)
    )


@dataclass(frozen=True)
class FuseOpsPass(ModulePass):
    """
    Groups operators into `relay.fused`.

    A wrong option raises PassFailedException.
    """

    name = "fuse-ops"

    opt_level: int = FusionOptions.opt_level
    """At 0 every operator becomes a `relay.fused` of its own. From 1 on operators fuse."""
    max_depth: int = FusionOptions.max_depth
    """The largest number of nodes in a group. Constants, tuples and projections count."""
    link_params: bool | None = None
    """
    Whether constants of all shapes move into the groups that use them, instead of being
    parameters. When not given, the module's attribute `link-params` says so.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        link_params = self.link_params
        if link_params is None:
            link_params = has_flag(op, ("link-params",))
        options = FusionOptions(self.opt_level, self.max_depth, link_params)

        groups: dict[Operation, FusionGroup] = {}
        for block in fusion_blocks(op):
            plan = plan_fusion(block, options)
            groups.update((group.root, group) for group in plan.groups)
        PatternRewriteWalker(
            GreedyRewritePatternApplier(
                [InlineStopFusion(groups), OutlineGroup(groups, link_params)],
                dce_enabled=False,
            ),
            apply_recursively=False,
        ).rewrite_module(op)
