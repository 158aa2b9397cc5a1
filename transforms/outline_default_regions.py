"""
`outline-default-regions`: what no compiler takes becomes functions too, so that `main` only calls.

    func.func @main(%x) {                          func.func @main(%x) {
      %0 = relay.exp %x                              %0 = func.call @default_main_0(%x)
      %1 = func.call @engine_main_0(%0)     ──►      %1 = func.call @engine_main_0(%0)
      %2 = relay.exp %1                              %2 = func.call @default_main_1(%1)
      return %2                                      return %2
    }                                              }

Operators are taken as early as they can be, and calls only when no operator is left that does not
wait for one: there are few functions. Constants and tuples are made where they are used.

Changes the function `main` (or the one named) only. Operations of other dialects go into such
functions too; calls and the terminator stay.

Source: none in Relay, whose executors call kernels one by one.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import IsTerminator, SymbolTable
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.compilers import DEFAULT
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.transforms.rules.operands import exchange_operands


@dataclass
class Segments:
    """The operations of a block in an order in which those to be outlined stand together."""

    order: list[list[Operation]] = field(default_factory=list[list[Operation]])
    """Segments of operations that become a function, and others alone."""
    inside: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    """The segment of each operation that goes into a function."""

    @classmethod
    def of(cls, block: Block) -> "Segments":
        """Sorts the operations of a block. Takes time in proportion to their operands."""
        found = cls()
        waits = {op: _producers(op, block) for op in block.ops}
        # Effects stay in their order.
        effects = Effects()
        in_order = [op for op in block.ops if effects.keeps_place(op)]
        for earlier, later in pairwise(in_order):
            waits[later].add(earlier)
        users: dict[Operation, list[Operation]] = {}
        for op, producers in waits.items():
            for producer in producers:
                users.setdefault(producer, []).append(op)
        left = {op: len(producers) for op, producers in waits.items()}
        ready: dict[str, deque[Operation]] = {
            "free": deque(),
            "outlined": deque(),
            "other": deque(),
        }
        segment: list[Operation] = []

        def add(op: Operation) -> None:
            kind = _kind(op)
            if kind == "free" and any(found.inside.get(p) is segment for p in waits[op]):
                kind = "other"  # It stands after the call that the segment becomes.
            ready[kind].append(op)

        for op, count in left.items():
            if not count:
                add(op)
        while queue := next(filter(None, ready.values()), None):
            op = queue.popleft()
            if queue is ready["outlined"]:
                found.inside[op] = segment
                segment.append(op)
            else:
                if queue is ready["other"] and segment:
                    found.order.append(segment)
                    segment = []
                found.order.append([op])
            for user in users.get(op, ()):
                left[user] -= 1
                if not left[user]:
                    add(user)
        if segment:
            found.order.append(segment)
        return found


def _producers(op: Operation, block: Block) -> set[Operation]:
    """The operations of the block that one waits for, those inside of its regions included."""
    found: set[Operation] = set()
    for inner in walk(op):
        for value in inner.operands:
            owner = value.owner
            if isinstance(owner, Operation) and owner.parent is block and owner is not op:
                found.add(owner)
    if op is block.last_op:
        found.update(each for each in block.ops if each is not op)
    return found


def _kind(op: Operation) -> str:
    """
    Whether an operation is "outlined", costs nothing and is "free" to stand anywhere, or is an
    "other" one, which ends a segment. Tuples go where their one user goes.
    """
    tuple_or_user = op
    while isinstance(tuple_or_user, TupleOp):
        user = tuple_or_user.result.get_user_of_unique_use()
        if user is None:
            return "free"
        tuple_or_user = user
    if isinstance(tuple_or_user, TupleGetItemOp):
        source = tuple_or_user.tuple_value.owner
        if isinstance(source, TupleOp):
            return "free"
        outlined = isinstance(source, Operation) and _kind(source) == "outlined"
        return "outlined" if outlined else "free"
    if isinstance(op, ConstantOp):
        return "free"
    if isinstance(tuple_or_user, func.CallOp) or tuple_or_user.has_trait(IsTerminator):
        return "free" if isinstance(op, TupleOp) else "other"
    return "outlined"


def _own_tuples(block: Block) -> None:
    """Gives each user of a tuple one of its own."""
    for op in reversed(list(block.ops)):
        if isinstance(op, TupleOp):
            for use in list(op.result.uses)[1:]:
                copy = op.clone()
                block.insert_op_before(copy, op)
                use.operation.operands[use.index] = copy.result


@dataclass
class _Outlining:
    """The move of one segment into a function."""

    ops: list[Operation]
    name: str
    inside: dict[Operation, list[Operation]]
    moved: dict[SSAValue, SSAValue]
    """Values that segments compute, and what the calls give in their place."""
    inputs: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Values from outside, and what they are inside: parameters and copies of constants."""

    def run(self, before: Operation) -> func.FuncOp:
        """Makes the function, and a call of it in front of an operation."""
        body = Block()
        outputs = list(self.outputs())
        for op in self.ops:
            op.detach()
            body.add_op(op)
            for inner in walk(op):
                outside = [value for value in inner.operands if self.is_outside(value, body)]
                exchange_operands([inner], {value: self.imported(value, body) for value in outside})
        args = [value for value, own in self.inputs.items() if isinstance(own, BlockArgument)]
        call = func.CallOp(self.name, args, [value.type for value in outputs])
        block = before.parent
        assert block is not None
        block.insert_op_before(call, before)
        for value, result in zip(outputs, call.results, strict=True):
            result.name_hint = value.name_hint
            self.moved[value] = result
        body.add_op(func.ReturnOp(*outputs))
        type_ = FunctionType.from_lists(body.arg_types, [value.type for value in outputs])
        return func.FuncOp(self.name, type_, Region(body), visibility="private")

    def outputs(self) -> Iterator[SSAValue]:
        """The results of the operations that others use."""
        for op in self.ops:
            for result in op.results:
                users = (_top(use.operation, op.parent) for use in result.uses)
                if any(self.inside.get(user) is not self.ops for user in users):
                    yield result

    def is_outside(self, value: SSAValue, body: Block) -> bool:
        """Whether an operand comes from another segment, a call, a constant or a parameter."""
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        while block is not None and block is not body:
            parent = block.parent_op()
            block = None if parent is None else parent.parent
        return block is None

    def imported(self, value: SSAValue, body: Block) -> SSAValue:
        """What stands for a value from outside."""
        own = self.inputs.get(value)
        if own is None:
            if isinstance(value.owner, ConstantOp):
                copy = value.owner.clone()
                first = body.first_op
                assert first is not None
                body.insert_op_before(copy, first)
                own = copy.result
            else:
                own = body.insert_arg(value.type, len(body.args))
                own.name_hint = value.name_hint
            self.inputs[value] = own
        return own


def _top(op: Operation, block: Block | None) -> Operation:
    """The operation of the block that an operation is, or is inside of."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def outline_default_regions(module: ModuleOp, function: func.FuncOp) -> list[func.FuncOp]:
    """
    Moves what a function computes itself into functions of the module, which are returned in the
    order of their calls. The function has one block.
    """
    block = function.body.block
    _own_tuples(block)
    segments = Segments.of(block)
    last = block.last_op
    assert last is not None
    taken = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)}
    created: list[func.FuncOp] = []
    moved: dict[SSAValue, SSAValue] = {}
    number = 0
    for ops in segments.order:
        if ops[0] not in segments.inside:
            if ops[0] is not last:
                ops[0].detach()
                block.insert_op_before(ops[0], last)
            continue
        name = f"{DEFAULT}_{function.sym_name.data}_{number}"
        while name in taken:
            number += 1
            name = f"{DEFAULT}_{function.sym_name.data}_{number}"
        number += 1
        made = _Outlining(ops, name, segments.inside, moved).run(last)
        module.body.block.add_op(made)
        created.append(made)
    exchange_operands(walk(function), moved)
    for op in list(block.ops):
        if isinstance(op, ConstantOp) and not op.result.uses:
            op.detach()
            op.erase()
    return created


@dataclass(frozen=True)
class OutlineDefaultRegionsPass(RelayPass):
    """
    Makes functions of what no compiler takes.

    Raises PassFailedException when there is no such function with one block.
    """

    name = "outline-default-regions"

    function: str = "main"
    """The name of the function."""

    def rewrite(self, op: ModuleOp) -> None:
        found = SymbolTable.lookup_symbol(op, StringAttr(self.function))
        if not isinstance(found, func.FuncOp) or len(found.body.blocks) != 1:
            raise PassFailedException(f"there is no function @{self.function} of one block")
        outline_default_regions(op, found)
