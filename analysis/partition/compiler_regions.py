"""
The regions of a function that `compiler_begin` and `compiler_end` enclose.

    %b = compiler_begin %x "a"     ┐ region 0, which begins a new one
    %c = compiler_begin %y "a"     │ region 1
    %0 = relay.add %b, %c          │ joins its operands' regions: 1 becomes part of 0
    %e = compiler_end %0 "a"       ┘ an output of region 0; what uses %e is outside

A region has a number, a compiler, operations, inputs (begins) and outputs (ends). Every begin starts a
region with the next number; any other operation joins the region of its first operand that is in one,
and the regions of its other operands become part of it, their inputs and outputs behind its own. What
only uses ends, parameters and the like is in no region.

A `let` is in no region either: it is a name for a value that has left its region. `annotate-target` puts a begin in
front of it, as Relay does, which begins nothing.

The walk visits every use once, and regions are joined in constant time.

Source: Relay's AnnotatedRegionSet, which searches all regions for an operation, does not compare the
compilers of regions that it joins, and crashes on other malformed annotations and on `let`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.dependencies import Dependencies
from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.nesting import Nesting
from xrelay.analysis.facts.walking import blocks_in
from xrelay.analysis.partition.compilers import DEFAULT
from xrelay.dialects.core.annotation import CompilerAnnotationOp, CompilerBeginOp, CompilerEndOp
from xrelay.dialects.core.functional import ApplyOp, LetOp


@dataclass(eq=False)
class CompilerRegion:
    """A part of a function for one compiler."""

    id: int
    """Its number in the function: how many begins come before its first."""
    compiler: str
    function: str
    """The name of the function."""
    inputs: list[CompilerBeginOp] = field(default_factory=list[CompilerBeginOp])
    outputs: list[CompilerEndOp] = field(default_factory=list[CompilerEndOp])
    """Empty when nothing uses the region."""
    ops: list[Operation] = field(default_factory=list[Operation])
    """Its operations in the order of the program, begins and ends included."""

    def home(self, nesting: Nesting) -> Block:
        """The outermost of the blocks that its operations are in."""
        home, *others = dict.fromkeys(op.parent for op in self.ops)
        assert home is not None
        for block in others:
            if block is not None and nesting.encloses(block, home):
                home = block
        return home

    def __str__(self) -> str:
        return f"region {self.id} of compiler '{self.compiler}' in @{self.function}"

    @property
    def results(self) -> list[SSAValue]:
        """The values that leave the region, each once, in the order of its outputs."""
        return list(dict.fromkeys(end.data for end in self.outputs))


@dataclass(frozen=True)
class CompilerRegionSet:
    """The regions of a function, by number."""

    dependencies: Dependencies
    """Those of the function."""
    regions: tuple[CompilerRegion, ...]
    of: dict[Operation, CompilerRegion]
    """The region of each operation that is in one."""


def source_of(value: SSAValue) -> SSAValue:
    """The value itself, without the borders of regions that it passed."""
    while isinstance(value.owner, CompilerAnnotationOp):
        value = value.owner.data
    return value


def enters_let(begin: CompilerBeginOp) -> bool:
    """Whether a begin stands in front of `let`s only, and so begins no region."""
    users = [use.operation for use in begin.result.uses]
    return bool(users) and all(isinstance(user, LetOp) for user in users)


def outside_operands(op: Operation) -> Iterator[SSAValue]:
    """The operands of an operation, and what the blocks within it end with."""
    yield from op.operands
    if not op.has_trait(IsolatedFromAbove):
        for block in blocks_in(op):
            if block.last_op is not None and block.last_op.has_trait(IsTerminator):
                yield from block.last_op.operands


@dataclass
class _Part:
    """A region that grows; when it becomes part of another one, `into` is that one."""

    id: int
    compiler: str
    borders: list["CompilerBeginOp | CompilerEndOp | _Part"]
    """Its inputs and outputs, and the parts that joined it with theirs, in the order in which they came."""
    into: "_Part | None" = None


@dataclass
class _Creator:
    """The walk over one function."""

    function: func.FuncOp
    dependencies: Dependencies
    part_of: dict[Operation, _Part] = field(default_factory=dict[Operation, _Part])
    count: int = 0

    def find(self, op: Operation) -> _Part | None:
        part = self.part_of.get(op)
        if part is None:
            return None
        while part.into is not None:
            if part.into.into is not None:
                part.into = part.into.into
            part = part.into
        return part

    def open_region(self, value: SSAValue) -> _Part | None:
        """The region that a use of `value` is in."""
        if isinstance(value, OpResult) and not isinstance(value.op, CompilerEndOp):
            return self.find(value.op)
        return None

    def visit(self, op: Operation) -> None:
        match op:
            case CompilerBeginOp():
                self.refuse_open(op)
                if not enters_let(op):
                    self.part_of[op] = _Part(self.count, op.compiler.data, [op])
                    self.count += 1
            case CompilerEndOp():
                self.end(op)
            case LetOp():
                self.refuse_open(op)
            case _ if op.has_trait(IsTerminator):
                # Those of blocks inside of an operation count as its operands.
                if op.parent_op() is self.function:
                    self.refuse_open(op)
            case _:
                self.join(op)

    def refuse_open(self, op: Operation) -> None:
        for value in op.operands:
            part = self.open_region(value)
            if part is not None:
                assert isinstance(value, OpResult)
                raise self.error(
                    op,
                    f"uses {operation_text(value.op)} of {self.text(part)}, which no compiler_end leaves",
                )

    def end(self, op: CompilerEndOp) -> None:
        part = self.open_region(op.data)
        if part is None:
            raise self.error(
                op,
                f"in @{self.function.sym_name.data} ends a region of compiler "
                f"'{op.compiler.data}' that no compiler_begin begins",
            )
        if part.compiler != op.compiler.data:
            raise self.error(op, f"is for compiler '{op.compiler.data}' and ends {self.text(part)}")
        self.part_of[op] = part
        part.borders.append(op)

    def join(self, op: Operation) -> None:
        values = list(outside_operands(op))
        if isinstance(op, ApplyOp):
            del values[0]  # The function that it calls, which is no value of the region.
        parts = [self.open_region(value) for value in values]
        first = next((part for part in parts if part is not None), None)
        if first is None:
            return
        for index, part in enumerate(parts):
            if part is None:
                raise self.error(
                    op,
                    f"is in {self.text(first)}, and its operand {index} enters without "
                    "compiler_begin",
                )
            if part.compiler != first.compiler:
                raise self.error(op, f"is in {self.text(first)} and in {self.text(part)}")
            self.merge(part, first)
        self.part_of[op] = first

    def merge(self, part: _Part, into: _Part) -> None:
        while part.into is not None:
            part = part.into
        if part is not into:
            into.borders.append(part)
            part.into = into

    def text(self, part: _Part) -> str:
        return str(CompilerRegion(part.id, part.compiler, self.function.sym_name.data))

    def error(self, op: Operation, message: str) -> DiagnosticException:
        return DiagnosticException(f"{operation_text(op)} {message}")

    def finished(self) -> CompilerRegionSet:
        """The regions, without inputs that are outputs of the same region."""
        found: dict[int, CompilerRegion] = {}
        of: dict[Operation, CompilerRegion] = {}
        name = self.function.sym_name.data
        for op in self.part_of:
            part = self.find(op)
            assert part is not None
            if part.id not in found:
                found[part.id] = CompilerRegion(part.id, part.compiler, name)
                _add_borders(found[part.id], part)
            region = of[op] = found[part.id]
            is_left = bool(region.outputs) or part.compiler == DEFAULT
            if not is_left and self.dependencies.effects.keeps_place(op):
                raise self.error(
                    op, f"has effects and is in {region}, which no compiler_end leaves"
                )
            region.ops.append(op)
        regions = tuple(found[number] for number in sorted(found))
        for region in regions:
            for begin in region.inputs:
                source = begin.data.owner
                if isinstance(source, CompilerEndOp) and of.get(source) is region:
                    raise self.error(begin, f"enters {region}, which its operand has just left")
        return CompilerRegionSet(self.dependencies, regions, of)


def _add_borders(region: CompilerRegion, part: _Part) -> None:
    """Gives a region the inputs and outputs of a part, and of those within it."""
    pending: list[CompilerBeginOp | CompilerEndOp | _Part] = [part]
    while pending:
        each = pending.pop()
        if isinstance(each, _Part):
            pending.extend(reversed(each.borders))
        elif isinstance(each, CompilerBeginOp):
            region.inputs.append(each)
        else:
            region.outputs.append(each)


def compiler_regions(function: func.FuncOp, effects: Effects) -> CompilerRegionSet:
    """
    The regions of a function of a program whose `effects` are known. The order of regions, operations, inputs and outputs follows from the
    order of the program.

    Raises DiagnosticException, with the operation and the region, for a begin without end (of a region
    that something outside uses or that has effects), an end without begin, and an operation that is in regions of different compilers, or in one by some of its
    operands only.
    """
    creator = _Creator(function, Dependencies.of_function(function, effects))
    for op in creator.dependencies.visited():
        creator.visit(op)
    return creator.finished()
