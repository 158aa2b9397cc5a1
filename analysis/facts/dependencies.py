"""What has to come before an operation: operands, what its blocks contain, and earlier effects."""

from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove, SymbolTable, is_side_effect_free

from xrelay.analysis.facts.scopes import has_flag, in_evaluation_order
from xrelay.dialects.core.functional import LetOp


@dataclass(frozen=True)
class Effects:
    """Which operations have effects. Knows the functions that are called from one question to the next."""

    symbols: dict[Operation, dict[str, Operation]] = field(
        default_factory=dict[Operation, dict[str, Operation]]
    )
    """The operations of each symbol table."""

    def keeps_place(self, op: Operation) -> bool:
        """
        Whether the order of `op` and other such operations counts: it has effects. A call of a function
        that was made of operators without effects (`Primitive`) has none.
        """
        if isinstance(op, func.CallOp):
            called = self.called(op)
            return called is None or not has_flag(called, ("Primitive",))
        return not is_side_effect_free(op)

    def called(self, op: func.CallOp) -> Operation | None:
        """The function that is called, None when the symbol table around does not have it."""
        table = op.parent_op()
        while table is not None and not table.has_trait(SymbolTable):
            table = table.parent_op()
        if table is None or op.callee.nested_references.data:
            return None
        if table not in self.symbols:
            inside = (
                (each.properties.get("sym_name"), each) for each in table.regions[0].block.ops
            )
            self.symbols[table] = {
                name.data: each for name, each in inside if isinstance(name, StringAttr)
            }
        return self.symbols[table].get(op.callee.root_reference.data)


def keeps_place(op: Operation) -> bool:
    """Whether the order of `op` and other such operations counts; see `Effects`."""
    return Effects().keeps_place(op)


@dataclass(frozen=True)
class Dependencies:
    """The dependencies between the operations of a function."""

    function: func.FuncOp
    before: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    """For operations with effects: the last one with effects before it in its block."""

    @classmethod
    def of_function(cls, function: func.FuncOp) -> "Dependencies":
        """The dependencies within `function`."""
        found, effects = cls(function), Effects()
        last: dict[Block, Operation] = {}
        for op in in_evaluation_order(function):
            block = op.parent
            if block is None or op is block.last_op or not effects.keeps_place(op):
                continue
            if block in last:
                found.before[op] = last[block]
            last[block] = op
        return found

    def direct(self, op: Operation) -> list[Operation]:
        """The operations that have to come before `op`, each once: those of its operands first."""
        found: dict[Operation, None] = {}
        for value in op.operands:
            if isinstance(value, OpResult):
                found[value.op] = None
        if op in self.before:
            found[self.before[op]] = None
        if not op.has_trait(IsolatedFromAbove):
            for region in op.regions:
                for block in region.blocks:
                    found.update(dict.fromkeys(block.ops))
        return list(found)

    def visited(self) -> list[Operation]:
        """
        The operations of the function in the order in which Relay visits expressions, wherever in
        their blocks they stand: from `let`s, effects and the result on, each after what it needs.
        Those that nothing needs come last.
        """
        effects = Effects()
        every = list(in_evaluation_order(self.function))
        roots = [
            op
            for block in self.function.body.blocks
            for op in block.ops
            if isinstance(op, LetOp) or op is block.last_op or effects.keeps_place(op)
        ]
        found: dict[Operation, None] = {}
        entered: set[Operation] = set()
        pending = [*roots, *every][::-1]
        while pending:
            op = pending[-1]
            if op in entered:
                found[pending.pop()] = None
            else:
                entered.add(op)
                pending.extend(other for other in self.direct(op)[::-1] if other not in entered)
        return list(found)


def block_of(value: SSAValue) -> Block | None:
    """The block in which a value is defined."""
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def encloses(outer: Block | None, inner: Block | None) -> bool:
    """Whether `inner` is `outer` or within one of its operations."""
    while inner is not None and inner is not outer:
        inner = inner.parent_block()
    return inner is outer
