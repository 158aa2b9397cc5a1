"""
Fusion plans that others decide: groups of operations, checked before anything is rewritten.

A plan is legal when
- every operation is in one group at most, and all of a group stand in one block;
- members are operators without side effects that share kernels, or constants, tuples and
  projections;
- one member only is used outside of its group, or several, where the caller allows it;
- what groups copy is in no group itself, and each of these groups uses it;
- no value leaves a group and comes back to it: there is an order in which groups can be computed.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush
from typing import NamedTuple

from xdsl.ir import Block, Operation, OpResult
from xdsl.traits import IsTerminator, is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.fusion.graph import ELEMWISE, OUT_EWISE_FUSABLE, FusionNode, forward_graph
from xrelay.analysis.fusion.plan import (
    FusionGroup,
    FusionOptions,
    FusionPlan,
    becomes_function,
    may_fuse,
)
from xrelay.analysis.fusion.post_dominators import find_post_dominators
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp


class GroupMembers(NamedTuple):
    """What somebody wants to fuse."""

    members: Sequence[Operation]
    """The operations that stay together."""
    copies: Sequence[Operation] = ()
    """Operations in no group that this group, and perhaps others, computes for itself."""


def plan_of_groups(
    block: Block, groups: Iterable[GroupMembers], *, multi_output: bool = False
) -> FusionPlan:
    """
    The plan in which exactly these groups fuse. With `multi_output` the results of several members
    may be used outside of a group.

    Raises PassFailedException when a group is not legal.
    """
    nodes = {node.op: node for node in forward_graph(block)}
    find_post_dominators(list(nodes.values()))
    groups = [_checked(each, block, nodes) for each in groups]
    homes = _homes(nodes, groups)
    made: list[FusionGroup] = []
    for number, (members, copies) in enumerate(groups):
        outputs = tuple(op for op in members if not _stays_inside(op, {number}, homes))
        where = f"the group that ends in {operation_text(members[-1])}"
        kinds = [nodes[op].kind for op in members if not isinstance(op, ConstantOp)]
        anchors = [op for op in members if nodes[op].kind is OUT_EWISE_FUSABLE]
        group = FusionGroup(
            tuple(members),
            members[-1],
            anchors[0] if anchors else None,
            max(kinds, default=ELEMWISE),
            becomes_function(members[-1], len(members)),
            outputs,
            tuple(copies),
        )
        if not group.fused:
            raise PassFailedException(f"{where} has no operator, expected one at its end")
        made.append(group)
    group_of = {op: group for group in made for op in group.members}
    for op, node in nodes.items():
        if op not in group_of:
            outputs = (op,) if None in homes[op] else ()
            group_of[op] = FusionGroup((op,), op, None, node.kind, False, outputs)
    in_order = tuple(group_of[op] for op in nodes if group_of[op].root is op)
    plan = FusionPlan(block, FusionOptions(), nodes, in_order, group_of)
    groups_in_order(plan)
    for group in made:
        if len(group.outputs) > 1 and not multi_output:
            names = ", ".join(operation_text(op) for op in group.outputs[:4])
            raise PassFailedException(
                f"the group that ends in {operation_text(group.root)} has {len(group.outputs)} operations "
                f"that others use ({names}), expected one (or the option multi-output=true)"
            )
    return plan


def _checked(
    group: GroupMembers, block: Block, nodes: Mapping[Operation, FusionNode]
) -> GroupMembers:
    """The group in program order, without duplicates, if its operations may be in one."""
    for op in (*group.members, *group.copies):
        if op.parent is not block:
            raise PassFailedException(
                f"{operation_text(op)} stands in another block than its group"
            )
        if not (may_fuse(op) or isinstance(op, ConstantOp | TupleOp | TupleGetItemOp)):
            raise PassFailedException(
                f"{operation_text(op)} cannot be fused: expected an operator with a kernel, one result "
                "and no side effects, a constant, a tuple or a projection"
            )
    return GroupMembers(
        *(sorted(dict.fromkeys(ops), key=lambda op: nodes[op].index) for ops in group)
    )


def _homes(
    nodes: Iterable[Operation], groups: Sequence[GroupMembers]
) -> dict[Operation, set[int | None]]:
    """
    The numbers of the groups that compute each operation, None for its own place in the block: there
    an operation stays that is in no group, unless only groups with a copy of it use it.
    """
    group_of: dict[Operation, int] = {}
    holders: dict[Operation, set[int]] = {}
    for number, group in enumerate(groups):
        for op in group.members:
            if group_of.setdefault(op, number) != number:
                ends = (operation_text(groups[each].members[-1]) for each in (group_of[op], number))
                raise PassFailedException(
                    f"{operation_text(op)} is in the groups that end in {' and in '.join(ends)}, expected "
                    "one at most"
                )
        for op in group.copies:
            holders.setdefault(op, set()).add(number)
    homes: dict[Operation, set[int | None]] = {}
    for op in reversed(list(nodes)):
        if op not in holders:
            homes[op] = {group_of.get(op)}
            continue
        if op in group_of:
            raise PassFailedException(
                f"{operation_text(op)} is copied, and in the group that ends in "
                f"{operation_text(groups[group_of[op]].members[-1])}: expected an operation that is in "
                "no group (name it as a copy there, too)"
            )
        used: set[int | None] = set()
        for use in op.results[0].uses:
            used |= homes.get(use.operation, {None})
        for number in sorted(holders[op] - used):
            raise PassFailedException(
                f"the group that ends in {operation_text(groups[number].members[-1])} has a copy of "
                f"{operation_text(op)} and does not use it"
            )
        homes[op] = {*holders[op], *(() if _stays_inside(op, holders[op], homes) else (None,))}
    return homes


def _stays_inside(
    op: Operation, groups: AbstractSet[int], homes: Mapping[Operation, AbstractSet[int | None]]
) -> bool:
    """Whether the value of an operation is used, and by what these groups compute only."""
    uses = [use.operation for use in op.results[0].uses]
    return bool(uses) and all(user in homes and homes[user] <= groups for user in uses)


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
            f"a value leaves the group that ends in {operation_text(stuck.root)} and comes back to it"
            " or to a group that it needs, expected groups that can be computed one after another"
        )
    return order


def _needs(op: Operation, plan: FusionPlan) -> Iterable[Operation]:
    """The operations of the block that `op`, or what is nested in it, uses."""
    for each in walk(op):
        for operand in each.operands:
            if isinstance(operand, OpResult) and operand.op in plan.nodes:
                yield operand.op
