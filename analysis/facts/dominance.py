"""
Whether every value is defined before it is used, which xDSL's verifier does not ask.

MLIR's rules hold. In a block a value can be used after the operation that defines it, also in the regions of
later operations, and in other blocks of its region if every way there from the entry passes the definition.
Blocks that nothing leads to and the bodies of modules may use the values of their region in any order.

Not so Relay's operators: they are expressions, computed after their operands. Two that use each other mean
nothing in a module's body either. (Blocks that nothing leads to are for them as if the entry led there.)

One walk over the program, the blocks of a region in the order of their dominator tree. What may be used is a
set that grows with every definition and shrinks where a scope ends: work linear in the operations.

Sources: MLIR's `OperationVerifier` (what is asked); K. Cooper, T. Harvey and K. Kennedy, "A simple, fast
dominance algorithm" (2001).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.post_order import PostOrderIterator
from xdsl.parser import ForwardDeclaredValue
from xdsl.utils.exceptions import VerifyException

from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.scopes import function_around
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.base import RelayOp

GRAPH_OPERATIONS = frozenset(
    {"builtin.module", "builtin.unregistered", "handshake.func", "hw.module"}
)
"""The operations whose regions are graphs in MLIR and CIRCT: the order in them does not count."""


class DominanceError(VerifyException):
    """An operation uses a value that is not defined before it."""

    def __init__(self, operation: Operation, index: int):
        value = operation.operands[index]
        name = f"%{value.name_hint}" if value.name_hint else "a value"
        function = function_around(operation)
        place = "" if function is None else f" in @{function.sym_name.data}"
        super().__init__(
            f"{operation_text(operation)}{place}: operand {index}, {name}{_source(value)}, "
            "is used before it is defined"
        )
        self.operation = operation
        """The operation that uses the value."""


def _source(value: SSAValue) -> str:
    """What defines a value, as part of a sentence."""
    if isinstance(value, ForwardDeclaredValue):
        return ""
    return " of a block" if isinstance(value.owner, Block) else f" of {value.owner.name}"


def check_resolved(op: Operation) -> None:
    """
    Raises DominanceError for the first operation within `op` whose operand the parser has promised and
    not found: it forgets the promise when the name is defined within a region of that operation.
    """
    for each in walk(op):
        for index, operand in enumerate(each.operands):
            if isinstance(operand, ForwardDeclaredValue):
                raise DominanceError(each, index)


def check_dominance(op: Operation) -> None:
    """
    Raises DominanceError for the first operation within `op` that uses a value which is not defined
    before it. Values from outside of `op` count as not defined.
    """
    walk = _Walk()
    for region in op.regions:
        walk.check(region)


class _Walk:
    """A walk without recursion: a stack of the steps that are still to be taken."""

    def __init__(self):
        self.defined: set[SSAValue] = set()
        """The values that are defined before the present operation."""
        self.unordered: set[SSAValue] = set()
        """Those that the present operation may use wherever they are defined."""
        self.steps: list[Callable[[], None]] = []

    def check(self, region: Region) -> None:
        """Takes all steps through a region."""
        self.enter_region(region)
        while self.steps:
            self.steps.pop()()

    def enter_region(self, region: Region) -> None:
        """Plans the steps through a region."""
        entry = region.first_block
        if entry is None:
            return
        if region.parent is not None and region.parent.name in GRAPH_OPERATIONS:
            self.allow_any_order(region)
        tree = DominatorTree.of(region)
        self.steps.append(partial(self.enter_block, entry, tree))

    def allow_any_order(self, region: Region) -> None:
        """Lets all values of a region be used until the end of what is planned so far."""
        values = [value for block in region.blocks for value in _values(block)]
        self.unordered.update(values)
        self.steps.append(partial(self.unordered.difference_update, values))

    def enter_block(self, block: Block, tree: "DominatorTree") -> None:
        """Plans the steps through a block and those that it dominates."""
        self.defined.update(block.args)
        self.steps.append(partial(self.leave_block, block))
        if block is tree.entry and tree.unreachable:
            self.steps.append(partial(self.enter_unreachable, tree))
        for child in reversed(tree.children.get(block, [])):
            self.steps.append(partial(self.enter_block, child, tree))
        self.steps.append(partial(self.enter_operations, iter(block.ops)))

    def enter_unreachable(self, tree: "DominatorTree") -> None:
        """Plans the steps through the blocks that cannot be reached."""
        assert tree.entry.parent is not None
        self.allow_any_order(tree.entry.parent)
        for root in reversed(tree.unreachable):
            self.steps.append(partial(self.enter_block, root, tree))

    def leave_block(self, block: Block) -> None:
        """Ends the scope of a block."""
        self.defined.difference_update(_values(block))

    def enter_operations(self, rest: Iterator[Operation]) -> None:
        """Checks operations up to one with regions, and plans the steps from there."""
        for op in rest:
            for index, operand in enumerate(op.operands):
                if operand in self.defined:
                    continue
                if operand not in self.unordered or isinstance(op, RelayOp):
                    raise DominanceError(op, index)
            if op.regions:
                self.steps.append(partial(self.enter_operations, rest))
                self.steps.append(partial(self.defined.update, op.results))
                for region in reversed(op.regions):
                    self.steps.append(partial(self.enter_region, region))
                return
            self.defined.update(op.results)


@dataclass(frozen=True)
class DominatorTree:
    """The dominator tree of the blocks of a region, and those of the blocks that cannot be reached."""

    entry: Block
    unreachable: Sequence[Block]
    """Blocks from which all those can be reached that the entry does not lead to."""
    children: Mapping[Block, Sequence[Block]]
    """The blocks that each block dominates immediately."""

    @classmethod
    def of(cls, region: Region) -> "DominatorTree":
        """The trees of a region that has blocks."""
        order, (entry, *others) = _search(region)
        children: dict[Block, list[Block]] = {}
        for block, parent in _immediate_dominators(order, entry, others).items():
            children.setdefault(parent, []).append(block)
        return cls(entry, others, children)


def _search(region: Region) -> tuple[list[Block], list[Block]]:
    """
    The blocks of a region, each after its dominators, and where the searches for them began: the entry,
    and what none of the searches before had met.
    """
    order: list[Block] = []
    roots: list[Block] = []
    seen: set[Block] = set()
    for root in region.blocks:
        if root not in seen:
            roots.append(root)
            seen.add(root)
            search = PostOrderIterator(root)
            search.seen = seen
            order.extend(reversed(list(search)))
    return order, roots


def _immediate_dominators(
    order: Sequence[Block], entry: Block, unreachable: Sequence[Block]
) -> dict[Block, Block]:
    """The immediate dominators of all blocks but the roots, in order."""
    place = {block: index for index, block in enumerate(order)}
    reachable = place[unreachable[0]] if unreachable else len(order)
    before: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in () if block.last_op is None else block.last_op.successors:
            # No way comes from what cannot be reached.
            if place[block] < reachable or place[successor] >= reachable:
                before[successor].append(block)
    roots = dict.fromkeys((entry, *unreachable), entry)
    found = dict(roots)
    changed = True
    while changed:
        changed = False
        for block in order:
            if block in roots:
                continue
            first, *rest = (each for each in before[block] if each in found)
            for other in rest:
                while other is not first:
                    if place[other] > place[first]:
                        other = found[other]
                    else:
                        first = found[first]
            if found.get(block) is not first:
                found[block] = first
                changed = True
    return {block: found[block] for block in order if block not in roots}


def _values(block: Block) -> Iterator[SSAValue]:
    """The values that a block defines, those of inner regions left out."""
    yield from block.args
    for op in block.ops:
        yield from op.results
