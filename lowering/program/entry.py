"""
The entry function of a program: it runs the steps, and its callers know where everything lies.

Every thread of a team runs it; between steps the threads wait for one another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects import arith, func, llvm, scf
from xdsl.dialects.builtin import BoolAttr, FunctionType, UnitAttr, i8, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xrelay.analysis.facts.memory_plan import ALIGNMENT
from xrelay.dialects.model_names import model_names
from xrelay.lowering.emit.attributes import access, step, whole_number
from xrelay.lowering.emit.builder import POINTER
from xrelay.lowering.emit.context import BARRIER, NEXT_TASK
from xrelay.lowering.emit.strategy import Selection
from xrelay.lowering.llvm.to_llvm import PUBLIC_ATTRIBUTE
from xrelay.lowering.program.kernel import Kernel
from xrelay.lowering.program.selection import Choice
from xrelay.lowering.program.storage import Storage

STAMP = "xrelay_stamp"
"""The function of the run time that takes the time: void (ptr team, i64 step)."""
COPY = "copy"
"""The name of the steps that copy tensors. Those of kernels begin with `fused`."""


@dataclass(frozen=True)
class Step:
    """A kernel call or a copy."""

    name: str
    """The kernel's, or `copy`."""
    choices: tuple[Choice, ...]
    """What computes the operators that have strategies."""
    flops: int
    """Additions and multiplications of convolutions and matrix products; other operators count
    one operation for each element of their result."""
    bytes: int
    """Bytes of the tensors that are read and written."""
    op: Operation | None = None
    """The operation of the program that the kernel computes, None for a copy."""

    @property
    def is_kernel(self) -> bool:
        """Whether it calls a kernel."""
        return self.name != COPY

    @property
    def implementations(self) -> tuple[str, ...]:
        """The names of what computes the operators that have strategies."""
        return tuple(choice.implementation.name for choice in self.choices)

    @cached_property
    def selections(self) -> tuple[Selection, ...]:
        """The choices beside the other implementations, which are judged for this."""
        return tuple(choice.selection for choice in self.choices)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes of the model that it computes."""
        return () if self.op is None else model_names(self.op)


@dataclass(frozen=True)
class Call:
    """One call of a kernel (`kernel` None: a copy of `size` bytes) on tensors."""

    kernel: Kernel | None
    reads: tuple[Storage, ...]
    writes: tuple[Storage, ...]
    step: Step
    size: int = 0


def write_entry(
    name: str,
    calls: Sequence[Call],
    offsets: Sequence[int],
    threads: int,
    *,
    profile: bool,
) -> func.FuncOp:
    """
    The function that runs the calls for `threads` threads.

    `offsets` are those of the buffers of the workspace: first of the numbered ones, then of the
    scratch memory of each call. `profile` makes it take the time of its steps.
    """
    pointer = LLVMPointerType()
    block = Block(arg_types=[*[pointer] * 4, i64, i64, pointer])
    names = ("inputs", "outputs", "constants", "workspace", "thread", "threads", "team")
    for arg, hint in zip(block.args, names, strict=True):
        arg.name_hint = hint
    writer = _EntryWriter(block, offsets, threads)
    buffers = len(offsets) - len(calls)
    for number, call in enumerate(calls):
        if number:
            writer.barrier()
        if profile:
            writer.stamp(number)
        if call.kernel is None:
            writer.copy(call.reads[0], call.writes[0], call.size)
            continue
        places = [*call.reads, *call.writes, Storage("buffer", buffers + number)]
        block.add_op(
            func.CallOp(
                call.kernel.function.sym_name.data,
                [*map(writer.address, places), *block.args[4:]],
                [],
            )
        )
    if profile:
        writer.barrier()
        writer.stamp(len(calls))
    block.add_op(func.ReturnOp())
    function = func.FuncOp(name, FunctionType.from_lists(block.arg_types, []), Region(block))
    function.attributes[PUBLIC_ATTRIBUTE] = UnitAttr()
    return function


def declarations(threads: int, *, profile: bool) -> list[llvm.FuncOp]:
    """The functions of the run time that the program calls."""
    pointer = LLVMPointerType()
    taken: dict[str, llvm.LLVMFunctionType] = {}
    if threads > 1:
        taken[BARRIER] = llvm.LLVMFunctionType([pointer, i64])
        taken[NEXT_TASK] = llvm.LLVMFunctionType([pointer, *[i64] * 5], i64)
    if profile:
        taken[STAMP] = llvm.LLVMFunctionType([pointer, i64])
    external = llvm.LinkageAttr("external")
    return [llvm.FuncOp(name, type_, linkage=external) for name, type_ in taken.items()]


@dataclass(eq=False)
class _EntryWriter:
    """Writes the addresses of tensors into the entry function, each once."""

    block: Block
    offsets: Sequence[int]
    threads: int
    addresses: dict[Storage, SSAValue] = field(default_factory=dict[Storage, SSAValue])

    def barrier(self) -> None:
        """Waits until every thread has finished the steps so far."""
        _, threads, team = self.block.args[4:]
        if self.threads > 1:
            self.block.add_op(llvm.CallOp(BARRIER, team, threads))

    def stamp(self, step: int) -> None:
        """Takes the time at which a step begins."""
        thread, _, team = self.block.args[4:]
        is_first = self.emit(arith.CmpiOp(thread, self.number(0), "eq"))
        then = Block([llvm.CallOp(STAMP, team, self.number(step)), scf.YieldOp()])
        self.block.add_op(scf.IfOp(is_first, [], Region(then), Region(Block([scf.YieldOp()]))))

    def emit(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def number(self, value: int) -> SSAValue:
        return self.emit(llvm.ConstantOp(whole_number(i64, value), i64))

    def address(self, place: Storage) -> SSAValue:
        """The address of a tensor."""
        known = self.addresses.get(place)
        if known is not None:
            return known
        inputs, outputs, constants, workspace = self.block.args[:4]
        match place.place:
            case "input" | "output":
                table = inputs if place.place == "input" else outputs
                slot = self.step([table], place.number, POINTER)
                load = llvm.LoadOp.create(
                    operands=[slot], result_types=[POINTER], properties=access(8)
                )
                known = self.emit(load)
                if place.before:
                    known = self.offset(known, place.before)
            case "constant":
                known = self.offset(constants, place.number)
            case _:
                known = self.offset(workspace, self.offsets[place.number] + place.before)
        self.addresses[place] = known
        return known

    def offset(self, base: SSAValue, offset: int) -> SSAValue:
        # GEP takes 32-bit literals only, and weights can be larger.
        return self.step([base, self.number(offset)], llvm.GEP_USE_SSA_VAL, i8)

    def step(self, operands: Sequence[SSAValue], offset: int, storage: Attribute) -> SSAValue:
        """The address some elements after another."""
        return self.emit(
            llvm.GEPOp.create(
                operands=operands, result_types=[POINTER], properties=step(storage, offset)
            )
        )

    def copy(self, source: Storage, place: Storage, size: int) -> None:
        """A copy of bytes; every thread copies a part."""
        addresses, count = [self.address(place), self.address(source)], self.number(size)
        if self.threads > 1:
            units, threads = self.number(-(-size // ALIGNMENT)), self.block.args[5]
            unit, thread = self.number(ALIGNMENT), self.block.args[4]
            after = self.emit(arith.AddiOp(thread, self.number(1)))
            start, stop = (
                self.emit(arith.MuliOp(self.emit(arith.DivUIOp(part, threads)), unit))
                for part in [self.emit(arith.MuliOp(i, units)) for i in (thread, after)]
            )
            stop = self.emit(arith.MinUIOp(stop, count))
            addresses = [self.step([each, start], llvm.GEP_USE_SSA_VAL, i8) for each in addresses]
            count = self.emit(arith.SubiOp(stop, start))
        volatile = self.emit(
            llvm.ConstantOp(BoolAttr.from_bool(False), BoolAttr.from_bool(False).type)
        )
        args = [*addresses, count, volatile]
        self.block.add_op(llvm.CallIntrinsicOp("llvm.memcpy.p0.p0.i64", args, []))
