"""
`xrelay-opt --bisect`: the smallest program on which a pass changes a result.

    program before the wrong pass ──► one result of the function that it changes
                                  ──► the first operation after which the result is wrong
                                  ──► operations replaced by parameters, many at once, then fewer

A smaller program counts when the pass changes its results on the inputs of `--verify-semantics`.

Reference for the last step: A. Zeller and R. Hildebrandt, Simplifying and Isolating Failure-Inducing
Input, 2002 (delta debugging).
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from xrelay.analysis.facts.walking import walk
from xrelay.options import Progress, silent
from xrelay.tools.errors import CommandFailed
from xrelay.tools.semantics import ChangedResult, SemanticsCheck
from xrelay.transforms.rules.copying import copied

MOST_TRIALS = 400
"""After trying this many smaller programs, the smallest one so far is good enough."""


def is_changed(module: ModuleOp, step: ModulePass, ctx: Context) -> bool:
    """Whether a pass changes a result of a program, which stays as it is."""
    copy = copied(module)
    try:
        check = SemanticsCheck(copy)
        try:
            step.apply(ctx, copy)
        except Exception:  # noqa: BLE001 a pass with a mistake raises anything on programs cut short
            return False
        copy.verify()
        check.after(step.name, copy)
    except ChangedResult:
        return True
    except (CommandFailed, DiagnosticException, VerifyException):
        return False  # It fails in another way.
    return False


@dataclass(frozen=True)
class Part:
    """A part of a function: some of its operations, and the values that it returns."""

    ops: tuple[Operation, ...]
    returned: tuple[SSAValue, ...]

    def program(self, module: ModuleOp, name: str) -> ModuleOp:
        """The module with this part as the function of that name; other values are parameters."""
        block, values = Block(), dict[SSAValue, SSAValue]()
        needed = set(self.needed())

        def parameter(value: SSAValue) -> SSAValue:
            if value not in values:
                values[value] = block.insert_arg(value.type, len(block.args))
                values[value].name_hint = value.name_hint
            return values[value]

        # Parameters that nothing computes any more come in the order of their first use.
        inside = {result for op in needed for result in op.results}
        for op in self.ops:
            if op in needed:
                for each in walk(op):
                    for value in each.operands:
                        if value not in inside and not _is_within(value, op):
                            parameter(value)
                block.add_op(op.clone(values))
        results = [parameter(value) for value in self.returned]
        block.add_op(func.ReturnOp(*results))
        type_ = FunctionType.from_lists(block.arg_types, [value.type for value in results])
        made = func.FuncOp(name, type_, Region(block))
        copy = copied(module)
        for op in list(copy.ops):
            if isinstance(op, func.FuncOp) and op.sym_name.data == name:
                copy.body.block.insert_op_before(made, op)
                op.detach()
                op.erase()
        return copy

    def needed(self) -> list[Operation]:
        """The operations that the returned values need."""
        kept = set(self.ops)
        wanted = {v.owner for v in self.returned if isinstance(v.owner, Operation)} & kept
        found: list[Operation] = []
        for op in reversed(self.ops):
            if op in wanted:
                found.append(op)
                for each in walk(op):
                    for value in each.operands:
                        if isinstance(value.owner, Operation) and value.owner in kept:
                            wanted.add(value.owner)
        return found[::-1]


def _is_within(value: SSAValue, op: Operation) -> bool:
    """Whether a value is computed inside of an operation."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    parent = None if block is None else block.parent_op()
    while parent is not None and parent is not op:
        parent = parent.parent_op()
    return parent is op


@dataclass
class Reducer:
    """Makes a program smaller as long as a pass changes its results."""

    module: ModuleOp
    step: ModulePass
    ctx: Context
    function: func.FuncOp
    progress: Progress = silent
    trials: int = 0

    @property
    def is_over(self) -> bool:
        """Whether no further program is tried."""
        return self.trials >= MOST_TRIALS

    def fails(self, part: Part) -> bool:
        """Whether the pass changes the results of a part."""
        if self.is_over:
            return False
        self.trials += 1
        self.progress(f"reduce: {len(part.ops)} operations, trial {self.trials}")
        program = part.program(self.module, self.function.sym_name.data)
        return is_changed(program, self.step, self.ctx)

    def run(self, result: int) -> ModuleOp:
        """The smallest program that was found; `result` is the number of the result that changes."""
        *ops, end = self.function.body.block.ops
        whole = Part(tuple(ops), tuple(end.operands))
        alone = Part(whole.ops, (whole.returned[result],))
        best = self.without_end(alone if self.fails(alone) else whole)
        best = self.without_operations(Part(tuple(best.needed()), best.returned))
        return best.program(self.module, self.function.sym_name.data)

    def without_end(self, part: Part) -> Part:
        """Returns the result of an earlier operation, found by bisection."""
        needed = part.needed()
        low, high, best = 0, len(needed) - 1, part
        while low < high and not self.is_over:
            middle = (low + high) // 2
            shorter = Part(tuple(needed[: middle + 1]), tuple(needed[middle].results))
            if shorter.returned and self.fails(shorter):
                high, best = middle, shorter
            else:
                low = middle + 1
        return best

    def without_operations(self, part: Part) -> Part:
        """Replaces operations by parameters: runs of them, then shorter runs."""
        size = max(1, len(part.ops) // 2)
        while True:
            start = 0
            while start < len(part.ops) and not self.is_over:
                kept = part.ops[:start] + part.ops[start + size :]
                smaller = Part(tuple(Part(kept, part.returned).needed()), part.returned)
                if kept and self.fails(smaller):
                    part = smaller
                else:
                    start += size
            if size == 1 or self.is_over:
                return part
            size = max(1, size // 2)


def reduced_program(
    module: ModuleOp,
    step: ModulePass,
    ctx: Context,
    change: ChangedResult,
    progress: Progress = silent,
) -> ModuleOp:
    """
    A small program on which a pass changes a result, as it does on `module`, the program before the
    pass; `module` itself when no smaller one was found.
    """
    function = SymbolTable.lookup_symbol(module, change.function)
    if not isinstance(function, func.FuncOp) or len(function.body.blocks) != 1:
        return module
    found = Reducer(module, step, ctx, function, progress).run(change.operand)
    return found if is_changed(found, step, ctx) else module
