"""
`manifest-lifetimes`: names end where they are used for the last time.

    %0 = relay.add %x, %x                     %0 = relay.add %x, %x
    %a = relay.let %0                         %a = relay.let %0
    %1 = relay.exp %a                 ──►     %2 = relay.memory.kill %x
    %b = relay.let %1                         %3 = relay.let %2
    return %b                                 %1 = relay.exp %a
                                              %b = relay.let %1
                                              %4 = relay.memory.kill %a
                                              %5 = relay.let %4
                                              return %b

Names are parameters, the variables of patterns, and what `relay.let` binds: the pass takes programs in A-normal form
(`to-a-normal-form`), in which all that is computed has one. Names for names go first: those of a `let` or of a
copy to the same device, and a pattern that is one variable.

- The result of a function or a branch is never killed, nor is it behind the branch, whose result it may be.
- In a branch a name ends behind its last use there, unless it is used behind the branches as well. One that other
  branches use only is not killed in a branch, and one that nothing uses nowhere.
- What functions take from outside is not killed within them. A kill ends the function's own hold: what tuples, cells
  and function values hold, or a caller, stays.

A second run changes nothing, as names that are killed already are left alone. Functions for other compilers and
primitive ones stay as they are.

Source: Relay's ManifestLifetimes, of programs for its virtual machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.nesting import block_of
from xrelay.analysis.facts.scopes import Within, belongs_to_backend, in_evaluation_order
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import ConstructorOp, MatchOp, VarPatternAttr
from xrelay.dialects.core.device import DeviceCopyOp, OnDeviceOp
from xrelay.dialects.core.functional import ClosureOp, GlobalVarOp, LetOp
from xrelay.dialects.core.memory import KillOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.interpreters.core.functional import values_from_outside
from xrelay.transforms.rules.called_bodies import keeps_function

BRANCHES = (scf.IfOp, MatchOp)
"""Operations of whose regions one runs, once, before what is behind them."""
ATOMS = (ConstantOp, ConstructorOp, GlobalVarOp)
"""Operations that need no name."""
LOOKS = (LetOp, OnDeviceOp, tensor.ExtractOp)
"""
Operations whose result is their operand, so that using it is using that: the last makes the condition of a branch
of a tensor.
"""


def is_copy(op: Operation) -> bool:
    """Whether `op` copies a value to the device on which it is."""
    if not isinstance(op, DeviceCopyOp):
        return False
    source, target = op.src_virtual_device, op.dst_virtual_device
    return (source.device_type, source.device_id) == (target.device_type, target.device_id)


def name_in(value: SSAValue) -> SSAValue | None:
    """The name that a value is, or is a look at; None where it is computed without one."""
    name: SSAValue | None = None
    while isinstance(value.owner, Operation):
        if isinstance(value.owner, LetOp):
            name = value
        elif not isinstance(value.owner, LOOKS) and not is_copy(value.owner):
            return name
        value = value.owner.operands[0]
    return value


def remove_aliases(ops: list[Operation]) -> None:
    """Puts names in the place of their other names."""
    for op in ops:
        if isinstance(op, LetOp) and (name := name_in(op.value)) is not None:
            between = op.value.owner
            # A look at a tensor of one element has another type than its name.
            is_look = name.type != op.result.type
            Rewriter.replace_op(op, [], [op.value if is_look else name])
            while isinstance(between, OnDeviceOp | DeviceCopyOp) and not between.results[0].uses:
                before = between.operands[0].owner
                Rewriter.erase_op(between)
                between = before
        elif isinstance(op, MatchOp) and (data := name_in(op.data)) is not None:
            for pattern, region in zip(op.patterns, op.clauses, strict=True):
                if isinstance(pattern, VarPatternAttr):
                    region.block.args[0].replace_all_uses_with(data)


class Uses:
    """Where the names of a function are used for the last time."""

    def __init__(self, ops: list[Operation]):
        self.last: dict[tuple[SSAValue, Block], Operation] = {}
        """For names and blocks: the last operation of the block that uses the name, or holds one that does."""
        self.killed: set[SSAValue] = set()
        """What the program kills already."""
        for op in ops:
            if isinstance(op, KillOp):
                self.killed.update(name for name in map(name_in, op.operands) if name is not None)
            elif not isinstance(op, LOOKS) and not is_copy(op):
                within = values_from_outside(op) if keeps_function(op) else ()
                for operand in (*op.operands, *within):
                    self._note(operand, op)

    def _note(self, operand: SSAValue, user: Operation) -> None:
        name = name_in(operand)
        if name is None:
            return
        scope, holder = block_of(name), user
        while True:
            block = holder.parent
            if block is None or self.last.get((name, block)) is holder:
                return
            self.last[name, block] = holder
            around = block.parent_op()
            if block is scope or around is None:
                return
            holder = around

    def ends(self) -> Iterator[tuple[SSAValue, Operation]]:
        """The names that end, with the operations behind which they do."""
        for (name, block), op in self.last.items():
            if name in self.killed or op.has_trait(IsTerminator) or self._is_used_within(name, op):
                continue
            if _can_die(name) and self._ends_in(name, block):
                yield name, op

    def _is_used_within(self, name: SSAValue, op: Operation) -> bool:
        """Whether a branch of `op` uses a name: it ends in some of them, if it ends."""
        blocks = [block for region in op.regions for block in region.blocks]
        return isinstance(op, BRANCHES) and any((name, block) in self.last for block in blocks)

    def _ends_in(self, name: SSAValue, block: Block) -> bool:
        """Whether what a block does is the last thing that is done with a name."""
        scope = block_of(name)
        while block is not scope:
            around = block.parent_op()
            if not isinstance(around, BRANCHES) or around.parent is None:
                return False
            block = around.parent
            if self.last[name, block] is not around:
                return False
        return True


def _can_die(name: SSAValue) -> bool:
    """All but the name of a recursive function within it."""
    if not isinstance(name, BlockArgument) or name.index > 0:
        return True
    function = name.block.parent_op()
    return not (isinstance(function, ClosureOp) and function.recursive is not None)


def _behind(op: Operation) -> Operation:
    """The operation that gives the result of `op` a name, else `op`."""
    following = op
    while isinstance(following.next_op, LetOp | OnDeviceOp) and any(
        operand.owner is following for operand in following.next_op.operands
    ):
        following = following.next_op
        if isinstance(following, LetOp):
            return following
    return op


def _require_names(ops: list[Operation]) -> None:
    for op in ops:
        if isinstance(op, (*ATOMS, *LOOKS)) or is_copy(op):
            continue
        for result in op.results:
            for use in result.uses:
                if not isinstance(use.operation, LetOp | OnDeviceOp):
                    raise PassFailedException(
                        f"{use.operation.name} uses the result of {op.name}, "
                        "expected a name for it (to-a-normal-form)"
                    )


def manifest(function: func.FuncOp) -> None:
    """Ends the names of a function."""
    is_kept = Within(keeps_function)

    def operations() -> list[Operation]:
        return [op for op in in_evaluation_order(function) if not is_kept(op)]

    _require_names(operations())
    remove_aliases(operations())
    ends: dict[Operation, list[SSAValue]] = {}
    for name, op in Uses(operations()).ends():
        ends.setdefault(_behind(op), []).append(name)
    for place, names in ends.items():
        for name in reversed(names):
            kill = KillOp(name)
            Rewriter.insert_op([kill, LetOp(kill.result)], InsertPoint.after(place))


@dataclass(frozen=True)
class ManifestLifetimesPass(RelayPass):
    """Kills names behind their last use."""

    name = "manifest-lifetimes"

    def rewrite(self, op: ModuleOp) -> None:
        for function in op.body.ops:
            if isinstance(function, func.FuncOp) and not belongs_to_backend(function):
                manifest(function)
