"""
`outline-default-regions`: what no compiler takes becomes functions too, so that `main` only calls.

    func.func @main(%x) {                          func.func @main(%x) {
      %0 = relay.exp %x                              %0 = func.call @default_main_0(%x)
      %1 = func.call @engine_main_0(%0)     ──►      %1 = func.call @engine_main_0(%0)
      %2 = relay.exp %1                              %2 = func.call @default_main_1(%1)
      return %2                                      return %2
    }                                              }

Operators are taken as early as they can be, and calls only when no operator is left that does not
wait for one: there are few functions. Constants and tuples are made where they are used, in each function once, as are numbers of
quantised constants, whose users compute with integers where they know these; and what takes a field out of a tuple again is not
needed.

Changes the function `main` (or the one named) only, and calls alone stay in their order. Operations of other dialects go into such
functions too; calls and the terminator stay.

Source: none in Relay, whose executors call kernels one by one.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator, SymbolTable

from xrelay.analysis.facts.constants import computed_of_quantized
from xrelay.analysis.facts.dependencies import operations_for
from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.names import fresh_names
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.compilers import DEFAULT
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import same_type
from xrelay.transforms.rules.operands import exchange_operands


@dataclass
class Segments:
    """
    The operations of a block in an order in which those to be outlined stand together. What is made where it is used stands
    nowhere.
    """

    order: list[list[Operation]] = field(default_factory=list[list[Operation]])
    """Segments of operations that become a function, and others alone."""
    inside: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    """The segment of each operation that goes into a function."""
    behind: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    """For tuples: the segment that was under way when the last of their fields was there, if that is in it."""
    copied: set[Operation] = field(default_factory=set[Operation])
    """What is made in each function that uses it: tuples, and what is computed of quantised constants."""

    @classmethod
    def of(cls, block: Block) -> "Segments":
        """Sorts the operations of a block. Takes time in proportion to their operands."""
        found = cls()
        waits, kinds = _waits(block), _kinds(block)
        numbers = computed_of_quantized(block.ops).keys() - _asked_for(block, kinds)
        found.copied.update(numbers, (op for op in block.ops if isinstance(op, TupleOp)))
        kinds |= dict.fromkeys(numbers, "free")
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
            kind = kinds[op]
            if kind == "free" and found.needs(waits[op], segment):
                if isinstance(op, TupleOp):
                    found.behind[op] = segment
                else:
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
            elif op not in found.copied:
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

    def needs(self, producers: Iterable[Operation], segment: list[Operation]) -> bool:
        """Whether an operation that waits for others waits for the segment that is under way."""
        return any(
            self.inside.get(each) is segment or self.behind.get(each) is segment
            for each in producers
        )


def _waits(block: Block) -> dict[Operation, set[Operation]]:
    """What each operation of a block has to stand behind. Effects stay in their order."""
    waits = {op: _producers(op, block) for op in block.ops}
    effects = Effects()
    in_order = [op for op in block.ops if effects.keeps_place(op)]
    for earlier, later in pairwise(in_order):
        waits[later].add(earlier)
    return waits


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


def _kinds(block: Block) -> dict[Operation, str]:
    """
    Whether each operation of a block is "outlined", costs nothing and is "free" to stand anywhere, or is an
    "other" one, which ends a segment. Fields are taken where the tuple is made.
    """
    kinds: dict[Operation, str] = {}
    for op in block.ops:
        match op:
            case ConstantOp() | TupleOp():
                kinds[op] = "free"
            case TupleGetItemOp():
                source = op.tuple_value.owner
                outlined = isinstance(source, Operation) and kinds.get(source) == "outlined"
                kinds[op] = "outlined" if outlined else "free"
            case func.CallOp():
                kinds[op] = "other"
            case _:
                kinds[op] = "other" if op.has_trait(IsTerminator) else "outlined"
    return kinds


def _asked_for(block: Block, kinds: Mapping[Operation, str]) -> set[Operation]:
    """What operations that stay in the block use, also within tuples."""
    found: set[Operation] = set()
    pending = [op for op in block.ops if kinds[op] != "outlined" and not isinstance(op, TupleOp)]
    while pending:
        for value in _operands(pending.pop()):
            owner = value.owner
            if isinstance(owner, Operation) and owner not in found:
                found.add(owner)
                if isinstance(owner, TupleOp):
                    pending.append(owner)
    return found


def _divide_numbers(block: Block) -> None:
    """Doubles what is computed of quantised constants for operations that stay in the block and for others, which get the copy."""
    kinds = _kinds(block)
    asked = _asked_for(block, kinds)

    def stays(user: Operation) -> bool:
        outer = block.find_ancestor_op_in_block(user)
        assert outer is not None
        return kinds[outer] != "outlined" and not (
            isinstance(outer, TupleOp) and outer not in asked
        )

    for op in list(computed_of_quantized(block.ops)):
        if op not in asked:
            continue
        uses = [use for use in op.results[0].uses if not stays(use.operation)]
        if uses:
            copy = op.clone()
            block.insert_op_after(copy, op)
            for use in uses:
                use.operation.operands[use.index] = copy.results[0]


def _forward_fields(block: Block) -> None:
    """Puts the fields of tuples that are made in the block in the place of what takes them out again."""
    for op in list(block.ops):
        if isinstance(op, TupleGetItemOp) and isinstance(made := op.tuple_value.owner, TupleOp):
            value = made.fields[op.index.value.data]
            if same_type(value.type, op.result.type):
                Rewriter.replace_op(op, [], [value])


@dataclass
class _Outlining:
    """The move of the segments of a block into functions."""

    block: Block
    segments: Segments
    level: set[SSAValue] = field(default_factory=set[SSAValue])
    """The values of the block itself, those within operations left out."""
    needed: set[SSAValue] = field(default_factory=set[SSAValue])
    """The values of the block, but tuples made there, that another operation than those of their segment uses."""
    moved: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Values that segments compute, and what the calls give in their place."""
    placed: set[Operation] = field(default_factory=set[Operation])
    """The tuples that the block itself needs, and which have found their place there."""

    def __post_init__(self):
        self.level.update(self.block.args, *(op.results for op in self.block.ops))
        for ops in self.segments.order:
            seen: set[SSAValue] = set()
            pending = [value for op in ops for value in _operands(op)]
            while pending:
                value = pending.pop()
                if value in seen or value not in self.level:
                    continue
                seen.add(value)
                if isinstance(value.owner, TupleOp):
                    pending.extend(value.owner.fields)
                elif not self.is_own(value, ops) and value.owner not in self.segments.copied:
                    self.needed.add(value)

    def is_own(self, value: SSAValue, ops: list[Operation]) -> bool:
        """Whether an operation of a segment gives a value."""
        return isinstance(value.owner, Operation) and self.segments.inside.get(value.owner) is ops

    def place(self, op: Operation, last: Operation) -> None:
        """Moves an operation that is not outlined to the end of the block, behind the tuples that it uses."""
        for each in operations_for(op, self._is_unplaced_tuple):
            if each is not last:
                each.detach()
                self.block.insert_op_before(each, last)
            self.placed.add(each)

    def _is_unplaced_tuple(self, value: SSAValue) -> bool:
        owner = value.owner
        return isinstance(owner, TupleOp) and value in self.level and owner not in self.placed

    def outline(self, ops: list[Operation], name: str, last: Operation) -> func.FuncOp:
        """Makes a function of a segment, and a call of it at the end of the block."""
        steps = self._with_copies(ops)
        used = (value for op in steps for value in _operands(op) if value in self.level)
        outside = dict.fromkeys(
            value for value in used if value.owner not in steps and not self.is_own(value, ops)
        )
        constants = [value.owner for value in outside if isinstance(value.owner, ConstantOp)]
        args = [value for value in outside if not isinstance(value.owner, ConstantOp)]
        outputs = [value for op in ops for value in op.results if value in self.needed]
        body = Block(arg_types=[value.type for value in args])
        inputs: dict[SSAValue, SSAValue] = dict(zip(args, body.args, strict=True))
        for value, own in inputs.items():
            own.name_hint = value.name_hint
        body.add_ops([constant.clone(inputs) for constant in constants])
        for op in steps:
            if op not in self.segments.inside:
                body.add_op(op.clone(inputs))
                continue
            op.detach()
            body.add_op(op)
            exchange_operands(walk(op), inputs)
        call = func.CallOp(name, args, [value.type for value in outputs])
        self.block.insert_op_before(call, last)
        for value, result in zip(outputs, call.results, strict=True):
            result.name_hint = value.name_hint
            self.moved[value] = result
        body.add_op(func.ReturnOp(*outputs))
        type_ = FunctionType.from_lists(body.arg_types, [value.type for value in outputs])
        return func.FuncOp(name, type_, Region(body), visibility="private")

    def _with_copies(self, ops: list[Operation]) -> dict[Operation, None]:
        """The operations of a segment, each behind what is made for it and those before it do not use."""
        steps: dict[Operation, None] = {}

        def is_new(value: SSAValue) -> bool:
            owner = value.owner
            return value in self.level and owner in self.segments.copied and owner not in steps

        for op in ops:
            steps.update(dict.fromkeys(operations_for(op, is_new)))
        return steps

    def finish(self, function: func.FuncOp) -> None:
        """Lets the block use what the calls give, and removes what it no longer needs."""
        for op in reversed(list(self.block.ops)):
            if op in self.segments.copied and op not in self.placed:
                Rewriter.erase_op(op)
        exchange_operands(walk(function), self.moved)
        for op in list(self.block.ops):
            if isinstance(op, ConstantOp) and not op.result.uses:
                Rewriter.erase_op(op)


def _operands(op: Operation) -> Iterator[SSAValue]:
    """The operands of an operation and of those within it."""
    return (value for inner in walk(op) for value in inner.operands)


def outline_default_regions(module: ModuleOp, function: func.FuncOp) -> Sequence[func.FuncOp]:
    """
    Moves what a function computes itself into functions of the module, which are returned in the
    order of their calls. The function has one block.
    """
    block = function.body.block
    _forward_fields(block)
    _divide_numbers(block)
    segments = Segments.of(block)
    if not segments.inside:
        return ()
    outlining = _Outlining(block, segments)
    last = block.last_op
    assert last is not None
    names = fresh_names(f"{DEFAULT}_{function.sym_name.data}_", module)
    created: list[func.FuncOp] = []
    for ops in segments.order:
        if ops[0] not in segments.inside:
            outlining.place(ops[0], last)
            continue
        created.append(outlining.outline(ops, next(names), last))
        module.body.block.add_op(created[-1])
    outlining.finish(function)
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
            raise PassOptionError(f"there is no function @{self.function} of one block")
        outline_default_regions(op, found)
