"""
How a fusion plan is carried out: each group moves into a `relay.fused` at the place of its root.

    %0 = relay.nn.dense %x, %w            %1 = relay.fused %x, %w {
    %1 = relay.nn.relu %0          ──►    ^bb0(%p0, %p1):
                                            %2 = relay.nn.dense %p0, %p1
                                            %3 = relay.nn.relu %2
                                            relay.yield %3
                                          }

Values from outside become parameters p0, p1, … in order of first need. A group with several outputs
yields a tuple of them; projections out of it follow. What several groups compute is cloned into
each, and goes when nothing uses it any more.

Operands are exchanged in one walk at the end.
"""

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.walking import walk
from xrelay.analysis.fusion.plan import FusionGroup, FusionNode, FusionPlan, is_operator
from xrelay.analysis.fusion.policy import groups_in_order
from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.values import ConstantOp, FusedOp, TupleGetItemOp, TupleOp, YieldOp
from xrelay.dialects.traits import ReshapeOnly
from xrelay.transforms.rules.operands import exchange_operands, insert_before

REMARK = "relay.fusion_remark"
"""
The attribute that says why a value is not fused with its users: for each output of the group, in
order, a dictionary with the number of the `rule`, the `reason`, and, if there are any, the `sweep`
and the name of the operator that was in the way (`culprit`).
"""


def outline_groups(
    root: Operation,
    plans: Iterable[FusionPlan],
    *,
    link_params: bool = False,
    explain: bool = False,
) -> None:
    """
    Carries out the plans of blocks in `root`. With `link_params` constants of all shapes are copied
    into the groups that use them; with `explain` what ends a group gets the attribute REMARK.
    """
    outliner = _Outliner(link_params)
    for plan in plans:
        if any(len(group.outputs) > 1 for group in plan.groups):
            _reorder(plan)
        for group in plan.groups:
            result = outliner.outline(group, plan.computed(group))
            has_value = bool(group.root.results) and not isinstance(group.root, FusedOp)
            if explain and result is not None and has_value and group.outputs:
                remarks = [_remark(plan.nodes[op]) for op in group.outputs]
                result.attributes[REMARK] = ArrayAttr(remarks)
    outliner.finish(root)


def _reorder(plan: FusionPlan) -> None:
    """Brings the operations of a block in an order in which groups stand one after another."""
    for group in groups_in_order(plan):
        for op in group.members:
            op.detach()
            plan.block.add_op(op)


def _remark(node: FusionNode) -> DictionaryAttr:
    refusal = node.refusal
    assert refusal is not None, "what leaves a group says why"
    entries: dict[str, Attribute] = {
        "rule": IntegerAttr(refusal.rule, i64),
        "reason": StringAttr(refusal.sentence),
    }
    if refusal.sweep is not None:
        entries["sweep"] = IntegerAttr(refusal.sweep, i64)
    if refusal.culprit is not None:
        entries["culprit"] = StringAttr(refusal.culprit.name)
    return DictionaryAttr(entries)


class _Outliner:
    """Moves groups, and remembers which values stand for those that moved."""

    def __init__(self, link_params: bool):
        self.link_params = link_params
        self.replaced: dict[SSAValue, SSAValue] = {}
        """The values that take the place of others outside of the groups."""
        self.unneeded: dict[Operation, None] = {}
        """Operations that go when nothing uses them any more, users first."""

    def outline(self, group: FusionGroup, ops: Sequence[Operation]) -> Operation | None:
        """
        Carries out one group, which computes `ops`; returns the operation that stands for it, if
        one does.
        """
        if isinstance(group.root, StopFusionOp):  # Rule 27.
            value = group.root.data
            self.replaced[group.root.result] = self.replaced.get(value, value)
            self.unneeded[group.root] = None
            return None
        return self.fuse(group, ops) if group.fused else group.root

    def fuse(self, group: FusionGroup, ops: Sequence[Operation]) -> FusedOp:
        """Moves a group into a `relay.fused` (rules 28-33)."""
        root = group.root
        block = Block()
        inside: dict[SSAValue, SSAValue] = {}
        arguments: list[SSAValue] = []
        for value in values_from_outside(group, ops):
            owner = value.owner
            if self.link_params and isinstance(owner, ConstantOp):
                inside[value] = _copied(owner, block, inside).results[0]
                self.unneeded[owner] = None
                continue
            argument = self.replaced.get(value, value)
            parameter = inside.get(argument)
            if parameter is None:
                parameter = inside[argument] = block.insert_arg(argument.type, len(arguments))
                parameter.name_hint = f"p{len(arguments)}"
                arguments.append(argument)
            inside[value] = parameter

        reshape_only = only_reshapes(group, ops, arguments)
        outputs = [op.results[0] for op in group.outputs]
        end = TupleOp(outputs) if len(outputs) > 1 else None
        yielded = end.result if end is not None else outputs[0]
        fused = FusedOp(arguments, Region(block), yielded.type, reshape_only=reshape_only)
        insert_before(root, fused)
        if end is None:
            self.replace(outputs[0], fused.result)
        else:
            for index, output in enumerate(outputs):
                item = TupleGetItemOp(fused.result, index)
                item.location = output.op.location
                Rewriter.insert_op(item, InsertPoint.before(root))
                self.replace(output, item.result)
        copies = set(group.copies)
        for op in ops:
            if op in copies:
                _copied(op, block, inside)
                self.unneeded[op] = None
            else:
                op.detach()
                op.operands = [inside.get(operand, operand) for operand in op.operands]
                block.add_op(op)
        if end is not None:
            block.add_op(end)
        block.add_op(YieldOp(yielded))
        return fused

    def replace(self, old: SSAValue, new: SSAValue) -> None:
        """Notes that `new` takes the place of `old`, and its name."""
        new.name_hint = old.name_hint
        self.replaced[old] = new

    def finish(self, root: Operation) -> None:
        """Exchanges operands outside of the groups, and removes what is no longer needed."""
        # What is in a group uses the members themselves.
        outside = (op for op in walk(root) if not isinstance(op.parent_op(), FusedOp))
        exchange_operands(outside, self.replaced)
        for op in reversed(self.unneeded):
            if not any(result.uses for result in op.results):
                Rewriter.erase_op(op)


def _copied(op: Operation, block: Block, inside: dict[SSAValue, SSAValue]) -> Operation:
    """A copy of an operation at the end of a block, without what was said of its value there."""
    copy = op.clone(inside)
    copy.attributes.pop(REMARK, None)
    block.add_op(copy)
    return copy


def values_from_outside(group: FusionGroup, ops: Sequence[Operation]) -> list[SSAValue]:
    """
    The values that a group needs which computes `ops`, in order of first need when these are
    visited depth first from the outputs, each after its operands.
    """
    pending = dict.fromkeys(ops)
    values: dict[SSAValue, None] = {}
    for output in group.outputs:
        if output not in pending:
            continue
        del pending[output]
        path = [(output, iter(output.operands))]
        while path:
            op, operands = path[-1]
            for operand in operands:
                if isinstance(operand, OpResult) and operand.op in pending:
                    del pending[operand.op]
                    path.append((operand.op, iter(operand.op.operands)))
                    break
            else:
                path.pop()
                values.update(dict.fromkeys(op.operands))
    results = {op.results[0] for op in ops}
    return [value for value in values if value not in results]


def only_reshapes(
    group: FusionGroup, ops: Sequence[Operation], arguments: Sequence[SSAValue]
) -> bool:
    """Whether all operators that a group computes keep the elements as they are (rule 30)."""
    operators = [op for op in ops if is_operator(op)]
    return (
        len(group.outputs) == 1
        and bool(operators)
        and all(op.has_trait(ReshapeOnly) for op in operators)
        and all(isinstance(argument.type, TensorType) for argument in arguments)
    )
