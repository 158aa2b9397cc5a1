"""
Fusion plans that others decide: groups of operations, checked before anything is rewritten.

A plan is legal when
- every operation is in one group at most, and all of a group stand in one block;
- members are operators without side effects that share kernels, or constants, tuples and
  projections;
- one member only is used outside of its group, or several, where the caller allows it;
- no value leaves a group and comes back to it: there is an order in which groups can be computed.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from xdsl.ir import Block, Operation, OpResult
from xdsl.traits import IsTerminator, is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.fusion import (
    FusionGroup,
    FusionOptions,
    FusionPlan,
    becomes_function,
    may_fuse,
)
from xrelay.analysis.fusion_graph import ELEMWISE, OUT_EWISE_FUSABLE, forward_graph
from xrelay.analysis.post_dominators import find_post_dominators
from xrelay.dialects.core import ConstantOp, TupleGetItemOp, TupleOp


def plan_of_groups(
    block: Block, groups: Iterable[Sequence[Operation]], *, multi_output: bool = False
) -> FusionPlan:
    """
    The plan in which exactly the operations in `groups` fuse. With `multi_output` the results of
    several members may be used outside of a group.

    Raises PassFailedException when a group is not legal.
    """
    nodes = {node.op: node for node in forward_graph(block)}
    find_post_dominators(list(nodes.values()))
    group_of: dict[Operation, FusionGroup] = {}
    for ops in groups:
        for op in ops:
            _check_member(op, block)
        members = tuple(sorted(dict.fromkeys(ops), key=lambda op: nodes[op].index))
        outputs = _outputs(members)
        where = f"the group that ends in {described(members[-1])}"
        if len(outputs) > 1 and not multi_output:
            names = ", ".join(described(op) for op in outputs[:4])
            raise PassFailedException(
                f"{where} has {len(outputs)} operations that others use ({names}), expected one"
            )
        kinds = [nodes[op].kind for op in members if not isinstance(op, ConstantOp)]
        anchors = [op for op in members if nodes[op].kind is OUT_EWISE_FUSABLE]
        group = FusionGroup(
            members,
            members[-1],
            anchors[0] if anchors else None,
            max(kinds, default=ELEMWISE),
            becomes_function(members[-1], len(members)),
            outputs,
        )
        if not group.fused:
            raise PassFailedException(f"{where} has no operator, expected one at its end")
        for op in members:
            if op in group_of:
                raise PassFailedException(f"{described(op)} is in two groups, expected one at most")
            group_of[op] = group
    for op, node in nodes.items():
        if op not in group_of:
            group_of[op] = FusionGroup((op,), op, None, node.kind, False, (op,))
    plan = FusionPlan(
        block, FusionOptions(), nodes, tuple(dict.fromkeys(group_of[op] for op in nodes)), group_of
    )
    groups_in_order(plan)
    return plan


def described(op: Operation) -> str:
    """An operation as diagnostics call it: its name, and that of its value."""
    hint = op.results[0].name_hint if op.results else None
    return f"{op.name} %{hint}" if hint else op.name


def _check_member(op: Operation, block: Block) -> None:
    if op.parent is not block:
        raise PassFailedException(f"{described(op)} stands in another block than its group")
    if not (may_fuse(op) or isinstance(op, ConstantOp | TupleOp | TupleGetItemOp)):
        raise PassFailedException(
            f"{described(op)} cannot be fused: expected an operator with a kernel, one result and "
            "no side effects, a constant, a tuple or a projection"
        )


def _outputs(members: Sequence[Operation]) -> tuple[Operation, ...]:
    """The members that others use, or nothing does."""
    inside = set(members)
    return tuple(
        op
        for op in members
        if not op.results[0].uses or any(use.operation not in inside for use in op.results[0].uses)
    )


def groups_in_order(plan: FusionPlan) -> list[FusionGroup]:
    """
    The groups of a plan such that each stands after what it needs: by the program order of their
    roots as far as possible. Operations with effects keep their order.

    Raises PassFailedException when groups need each other.
    """
    waits_for: dict[int, int] = {}
    after: dict[int, list[FusionGroup]] = {}
    last_effect: Operation | None = None
    for op in plan.nodes:
        waits_for.setdefault(id(plan.group_of[op]), 0)
        needed = list(_needs(op, plan))
        if op.has_trait(IsTerminator) or not is_side_effect_free(op):
            if last_effect is not None:
                needed.append(last_effect)
            last_effect = op
        for group in plan.homes(op):
            for each in needed:
                if group not in plan.homes(each):
                    after.setdefault(id(plan.group_of[each]), []).append(group)
                    waits_for[id(group)] = waits_for.get(id(group), 0) + 1
    ready: list[tuple[int, FusionGroup]] = []

    def push(group: FusionGroup) -> None:
        heappush(ready, (plan.nodes[group.root].index, group))

    for group in plan.groups:
        if not waits_for[id(group)]:
            push(group)
    order: list[FusionGroup] = []
    while ready:
        _, group = heappop(ready)
        order.append(group)
        waits_for[id(group)] = -1
        for other in after.get(id(group), ()):
            waits_for[id(other)] -= 1
            if not waits_for[id(other)]:
                push(other)
    if len(order) < len(plan.groups):
        stuck = next(g for g in plan.groups if len(g.members) > 1 and waits_for[id(g)] > 0)
        raise PassFailedException(
            f"a value leaves the group that ends in {described(stuck.root)} and comes back to it"
            " or to a group that it needs, expected groups that can be computed one after another"
        )
    return order


def _needs(op: Operation, plan: FusionPlan) -> Iterable[Operation]:
    """The operations of the block that `op`, or what is nested in it, uses."""
    for each in op.walk():
        for operand in each.operands:
            if isinstance(operand, OpResult) and operand.op in plan.nodes:
                yield operand.op
