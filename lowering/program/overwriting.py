"""
Which results are written over tensors that nobody reads afterwards.

    elementwise   what is computed element by element takes the memory of an operand
    rows          a tensor with another row takes that of the tensor without it
    initial       what a loop carries takes that of its initial value
    following     what a round computes for the next one takes that of what it was given

What lives outside of a loop is read until its last round ends; what a loop carries, only within a round.
"""

from collections.abc import Collection, Sequence

from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation

from xrelay.dialects.branches import passed_on
from xrelay.dialects.shapes import leaf_types
from xrelay.lowering.emit.evaluate import Leaf
from xrelay.lowering.emit.group import group_of
from xrelay.lowering.program.anchors import keeps_indices
from xrelay.lowering.program.nesting import Nesting
from xrelay.lowering.program.operations import (
    PASSING_ON,
    LoopOp,
    calls_kernel,
    carried_values,
    surrounding_block,
)
from xrelay.lowering.program.selection import Choices
from xrelay.lowering.program.storage import StoragePlan, leaves_of, origin, tensor_type_of


class Overwriting:
    """The state of deciding. Tensors are known by their origins."""

    def __init__(
        self,
        program: Sequence[Operation],
        choices: Choices,
        outputs: Collection[Leaf],
        plan: StoragePlan,
    ):
        self.program = program
        self.choices = choices
        self.outputs = frozenset(outputs)
        self.plan = plan
        self.nesting = Nesting(program)
        self.in_place: dict[Leaf, Leaf] = {}
        self.last: dict[Leaf, int] = {}
        """The number of the last operation that uses what lies in the memory of a tensor."""
        self.in_round: dict[Leaf, int] = {}
        """The same of what a loop carries, within a round."""
        self.homes: dict[Leaf, Leaf] = {}
        """Shorter ways along parts and results in place: those of a row of operators have one home."""
        self.following: dict[Leaf, Leaf] = {}
        """What a round computes for the next one: what that is in the next one."""

    def run(self) -> dict[Leaf, Leaf]:
        """What is written over what."""
        for number, op in enumerate(self.program):
            if not isinstance(op, PASSING_ON):  # Whoever reads knows the tensor by its origin.
                self.note_uses(op, number)
            if isinstance(op, scf.ForOp | scf.WhileOp):
                self.note_following(op)
        for number, op in enumerate(self.program):
            if isinstance(op, scf.ForOp | scf.WhileOp):
                self.take_initial(op, number)
            elif not isinstance(op, PASSING_ON):  # Its results are tensors of other operations.
                for result in leaves_of(*op.results):
                    source = self.source(op, result, number)
                    if source is not None:
                        self.write_over(result, source)
        return self.in_place

    def note_uses(self, op: Operation, number: int) -> None:
        """Notes what an operation uses."""
        for leaf in (*map(origin, leaves_of(*op.operands)), *leaves_of(*op.results)):
            home, value = self.home(leaf), leaf[0]
            end = self.nesting.last_use(value, op, number, carried=True)
            self.last[home] = max(end, self.last.get(home, 0))
            if self.is_in_round(leaf, op):
                end = self.nesting.last_use(value, op, number, carried=False)
                self.in_round[leaf] = max(end, self.in_round.get(leaf, 0))

    def note_following(self, loop: LoopOp) -> None:
        """Notes what the rounds of a loop compute themselves for the next one."""
        carried = leaves_of(*(value for value, _ in carried_values(loop)))
        body = loop.regions[-1].block
        given = map(origin, leaves_of(*passed_on(body)))
        for leaf, target in zip(given, carried, strict=True):
            if surrounding_block(leaf[0].owner) is body and leaf[0].owner is not body:
                self.following.setdefault(leaf, target)

    def source(self, op: Operation, result: Leaf, number: int) -> Leaf | None:
        """What a result can replace."""
        if origin(result) != result or result in self.outputs or result in self.plan.parts:
            return None
        if isinstance(op, tensor.InsertSliceOp):
            source = origin((op.dest, 0))
            return source if self.is_free(source, op, number) else None
        if not calls_kernel(op) and not isinstance(op, scf.IfOp):
            return None
        if calls_kernel(op) and op not in self.plan.joined:
            source = self.overwritten(op, result, number)
            if source is not None:
                return source
        target = self.following.get(result)
        if target is None or self.in_round.get(target, -1) >= number:
            return None
        return target if self.is_alike(result, target) else None

    def overwritten(self, op: Operation, result: Leaf, number: int) -> Leaf | None:
        """The first operand that a kernel can replace element by element."""
        group = group_of(op)
        # Loops of an operator's own may hand elements over twice; else each is computed once.
        if self.choices.get(op) or len(leaf_types(group.result.type)) != 1:
            return None
        homes = [self.home(origin(leaf)) for leaf in leaves_of(*group.args)]
        for param, arg in zip(group.params, group.args, strict=True):
            if not isinstance(param.type, TensorType) or not keeps_indices(param, group):
                continue
            source = origin((arg, 0))
            if not self.is_alike((arg, 0), result) or homes.count(self.home(source)) > 1:
                continue
            if self.is_free(source, op, number):
                return source
        return None

    def take_initial(self, loop: LoopOp, number: int) -> None:
        """Lets what a loop carries begin in the memory of its initial values."""
        pairs = [
            (leaf, origin(initial))
            for value, before in carried_values(loop)
            for leaf, initial in zip(leaves_of(value), leaves_of(before), strict=True)
        ]
        homes = [self.home(source) for _, source in pairs]
        for leaf, source in pairs:
            if leaf in self.outputs or homes.count(self.home(source)) > 1:
                continue
            if self.is_alike(leaf, source) and self.is_free(source, loop, number):
                self.write_over(leaf, source)

    def is_free(self, source: Leaf, op: Operation, number: int) -> bool:
        """Whether an operation is the last to read a tensor in memory of the program's own."""
        if self.is_in_round(source, op):
            return self.in_round.get(source, -1) == number
        home = self.home(source)
        if self.outputs & {source, home} or self.last.get(home) != number:
            return False
        return _is_own(home[0].owner)

    def is_in_round(self, leaf: Leaf, op: Operation) -> bool:
        """Whether a tensor is what a loop carries, and an operation in the loop."""
        return isinstance(leaf[0].owner, Block) and any(
            loop is leaf[0].owner.parent_op() for loop in self.nesting.loops(op)
        )

    def is_alike(self, leaf: Leaf, other: Leaf) -> bool:
        """Whether two tensors lie in the same way."""
        return self.plan.format(leaf) == self.plan.format(other) and (
            tensor_type_of(leaf).element_type == tensor_type_of(other).element_type
        )

    def write_over(self, leaf: Leaf, source: Leaf) -> None:
        """A tensor takes the memory of another one."""
        ends, home = self.last.get(leaf, 0), self.home(source)
        self.in_place[leaf] = source
        self.last[home] = max(ends, self.last.get(home, 0))
        if source in self.in_round:
            self.in_round[source] = max(ends, self.in_round[source])

    def home(self, leaf: Leaf) -> Leaf:
        """The tensor that a buffer was made for, in which this one lies."""
        passed: list[Leaf] = []
        while (around := self._around(leaf)) is not None:
            passed.append(leaf)
            leaf = around
        self.homes.update(dict.fromkeys(passed, leaf))
        return leaf

    def _around(self, leaf: Leaf) -> Leaf | None:
        """A tensor that another one lies in; None when a buffer is made for it."""
        if leaf in self.homes:
            return self.homes[leaf]
        if leaf in self.plan.parts:
            return self.plan.parts[leaf].whole
        return self.in_place.get(leaf)


def _is_own(owner: Operation | Block) -> bool:
    """Whether what an operation gives, or a loop carries, lies in memory of the program's own."""
    if isinstance(owner, Block):
        return isinstance(owner.parent_op(), scf.ForOp | scf.WhileOp)
    own = scf.IfOp | func.CallOp | tensor.EmptyOp | tensor.FromElementsOp | tensor.InsertSliceOp
    return calls_kernel(owner) or isinstance(owner, own)
