"""
Where a pattern occurs in a function, as groups of operations that can become one.

    %0 = conv2d %x, %w  ┐
    %1 = add %0, %b     │ one group with the inputs %x, %w, %b
    %2 = relu %1        ┘

Matches are tried from the outputs to the inputs. A match is a group if

- none of its operations is in another group,
- what uses a value inside of it leads to its root only, so that the group needs no result of its own;
  such a user keeps a copy of what it uses,
- its check holds.

Inputs are in the order of the leaves of the pattern. Constants that the pattern asks for are inside.

Source: Relay's PatternGrouper. There a check is made after the groups are chosen, so that a match that
fails it can mask others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove

from xrelay.analysis.facts.scopes import in_evaluation_order
from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.analysis.patterns.language import (
    AltPattern,
    CallPattern,
    ConstantPattern,
    DominatorPattern,
    ExprPattern,
    NumberPattern,
    OpPattern,
    Pattern,
    TuplePattern,
)
from xrelay.analysis.patterns.matching import Match, match
from xrelay.analysis.patterns.nodes import nodes
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleGetItemOp, TupleOp


@dataclass(frozen=True)
class PatternGroup:
    """One occurrence of a pattern."""

    match: Match
    inputs: tuple[SSAValue, ...]
    """The values from outside, each once."""
    ops: tuple[Operation, ...]
    """The operations, each after its operands, the root last; constants included."""

    @property
    def root(self) -> Operation:
        """The operation that computes the result."""
        return self.ops[-1]

    @property
    def name(self) -> str:
        """What Relay calls `PartitionedFromPattern`: the operators in order."""
        return "".join(_name(op) for op in self.ops if not isinstance(op, ConstantOp))


def _name(op: Operation) -> str:
    match op:
        case TupleOp():
            return "Tuple_"
        case TupleGetItemOp():
            return f"TupleGetItem{op.index.value.data}_"
        case CompositeOp():
            return f"{op.composite.data}_"
        case _:
            return f"{op.name.removeprefix('relay.')}_"


def embeds(pattern: Pattern) -> bool:
    """Whether a constant that a pattern describes belongs to the group."""
    if isinstance(pattern, AltPattern):
        return embeds(pattern.left) and embeds(pattern.right)
    if isinstance(pattern, ExprPattern):
        return isinstance(pattern.value.owner, ConstantOp)
    return isinstance(pattern, ConstantPattern | NumberPattern)


def pattern_inputs(pattern: Pattern, found: Match) -> Iterator[SSAValue]:
    """The values that leaves of a pattern stand for, in the order of the leaves."""
    for node in nodes(pattern):
        if node not in found or isinstance(node, OpPattern):
            continue
        value = found[node]
        opaque = isinstance(node, CallPattern) and node.args is None
        opaque = opaque or (isinstance(node, TuplePattern) and node.fields is None)
        if opaque:
            assert isinstance(value, OpResult)
            yield from value.op.operands
        elif not node.parts() and not (embeds(node) and isinstance(value.owner, ConstantOp)):
            yield value


def group_of(pattern: Pattern, found: Match) -> PatternGroup | None:
    """The operations of a match; None when control flow is among them, or nothing is."""
    inside = set(found.ops)
    leaves = dict.fromkeys(pattern_inputs(pattern, found))
    if any(isinstance(node, DominatorPattern) for node in nodes(pattern)):
        # What is on the paths belongs to the group, whatever leaves of the child it stands for too.
        leaves = {value: None for value in leaves if value.owner not in inside}
    embedded = {found[node] for node in nodes(pattern) if node in found and embeds(node)}
    root = found.root
    if not isinstance(root, OpResult) or root.op not in inside or root in leaves:
        return None
    used: dict[SSAValue, None] = {}
    order: list[Operation] = []
    path = [(root.op, iter(root.op.operands))]
    seen = {root.op}
    while path:
        op, operands = path[-1]
        value = next(operands, None)
        if value is None:
            path.pop()
            order.append(op)
            continue
        constant = isinstance(value.owner, ConstantOp) and value in embedded
        if (
            value in leaves
            or not isinstance(value, OpResult)
            or value.op not in inside
            and not constant
        ):
            used[value] = None
        elif value.op not in seen:
            seen.add(value.op)
            path.append((value.op, iter(value.op.operands)))
    if any(op.regions and not op.has_trait(IsolatedFromAbove) for op in order):
        return None
    inputs = [value for value in leaves if value in used]
    inputs.extend(value for value in used if value not in leaves)
    return PatternGroup(found, tuple(inputs), tuple(order))


def leads_to(user: Operation, root: Operation, position: dict[Operation, int]) -> bool:
    """Whether whatever needs `user` is needed by `root` only."""
    pending, seen = [user], {user}
    while pending:
        op = pending.pop()
        if op is root:
            continue
        if op.parent is not root.parent or position[op] > position[root] or not op.results:
            return False
        following = [use.operation for result in op.results for use in result.uses]
        if not following:
            return False
        pending.extend(each for each in following if each not in seen)
        seen.update(following)
    return True


def find_groups(function: func.FuncOp, entry: CompositePattern) -> list[PatternGroup]:
    """The groups of a pattern in a function, the last one of the program first."""
    order = list(in_evaluation_order(function))
    position = {op: index for index, op in enumerate(order)}
    taken: set[Operation] = set()
    groups: list[PatternGroup] = []
    for op in reversed(order):
        if op in taken or len(op.results) != 1 or isinstance(op, CompositeOp):
            continue
        found = match(entry.pattern, op.results[0])
        group = None if found is None else group_of(entry.pattern, found)
        if group is None:
            continue
        inside = [each for each in group.ops if not isinstance(each, ConstantOp)]
        if not _is_free(inside, taken, position) or not entry.check(group.match):
            continue
        taken.update(inside)
        groups.append(group)
    return groups


def _is_free(
    inside: Sequence[Operation], taken: set[Operation], position: dict[Operation, int]
) -> bool:
    """Whether operations, the root last, can be computed together."""
    members = set(inside)
    return not any(op in taken for op in inside) and all(
        use.operation in members or leads_to(use.operation, inside[-1], position)
        for op in inside[:-1]
        for result in op.results
        for use in result.uses
    )
