"""
Runs of the entry function of a lowered program, step by step, on memory that is full of garbage, with NumPy for
the kernels: nothing that a step reads may have been written over.

The kernels themselves are left out: a step reads its operands, spoils its scratch memory, and writes its results.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest
from graphs import leaves
from xdsl.dialects import arith, func, llvm, scf
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from xrelay.analysis.facts.memory_plan import ALIGNMENT
from xrelay.analysis.facts.walking import walk
from xrelay.compiler import kernel_options
from xrelay.dialects.shapes import leaf_types
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.constants import constant_array
from xrelay.interpreters.relay import interpret
from xrelay.lowering.emit.context import BARRIER
from xrelay.lowering.emit.format import NO_HALO, Format
from xrelay.lowering.emit.group import Group, group_of
from xrelay.lowering.program import lower as lowering
from xrelay.lowering.program.kernel import Kernel
from xrelay.lowering.program.on_demand import Rest
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.program import Program, lower_function
from xrelay.lowering.program.selection import Choice
from xrelay.lowering.program.writer import POLL
from xrelay.options import CompileOptions
from xrelay.runtime.signature import FAILURE

GARBAGE = 0xA5


@dataclass(frozen=True)
class StubKernel(Kernel):
    """A kernel that is only called, with what its pointers point to."""

    inputs: tuple[Format, ...] = ()
    outputs: tuple[Format, ...] = ()


def stub_kernel(
    group: Group,
    name: str,
    options: KernelOptions,
    choices: Sequence[Choice],
    inputs: Sequence[Format],
    outputs: Sequence[Format],
    rests: Sequence[Rest | None],
) -> StubKernel:
    """In the place of `build_kernel`: a function without code, with any scratch memory; it computes whole results."""
    assert not any(rests)
    function = func.FuncOp(name, FunctionType.from_lists([], []), Region(), "private")
    rng = Random(name)
    scratch = rng.choice((0, 0, 1, 64, 100, 640))
    is_alone = options.has_small_steps and rng.random() < 0.6
    formats = {"inputs": tuple(inputs), "outputs": tuple(outputs)}
    return StubKernel(function, scratch, {}, is_alone=is_alone, **formats)


@dataclass
class Memory:
    """What the pointers of the entry function point into."""

    areas: dict[str, np.ndarray]
    read_only: frozenset[str]

    def piece(self, place: tuple[str, int], size: int, *, write: bool = False) -> np.ndarray:
        """Some bytes, which have to be within their area, and may have to be writable."""
        area, offset = place
        assert 0 <= offset and offset + size <= len(self.areas[area]), (place, size)
        assert not (write and area in self.read_only), f"{area} is written"
        return self.areas[area][offset : offset + size]

    def elements(self, place: tuple[str, int], format: Format, type_: Any, *, write: bool) -> Array:
        """A tensor in a format, from the element at the origin."""
        dtype = np.dtype(dtype_of(type_.element_type))
        before, size = format.before * dtype.itemsize, format.size * dtype.itemsize
        whole = self.piece((place[0], place[1] - before), size, write=write)
        strides = [stride * dtype.itemsize for stride in format.strides]
        own = np.frombuffer(whole.data, dtype) if size else np.zeros(0, dtype)
        if 0 in format.shape:
            return np.zeros(format.shape, dtype)
        return np.lib.stride_tricks.as_strided(own[format.before :], format.shape, strides)


@dataclass
class Run:
    """One run of the entry function of a program."""

    program: Program
    kernels: dict[str, StubKernel]
    memory: Memory
    threads: int

    @cached_property
    def functions(self) -> dict[str, func.FuncOp]:
        """The functions that are no kernels: the entry function, and those that are called."""
        functions = [op for op in self.program.module.ops if isinstance(op, func.FuncOp)]
        return {
            each.sym_name.data: each for each in functions if each.sym_name.data not in self.kernels
        }

    def run(self) -> None:
        """Each step on all threads before the next one; a barrier stands between them."""
        entry = self.functions[self.program.name]
        steps = [op for each in self.functions.values() for op in walk(each) if _is_step(op)]
        assert len(steps) == len(self.program.steps)
        known = dict(zip(steps, self.program.steps, strict=True))
        threads = [Thread(self, number).run(entry) for number in range(self.threads)]
        for events in zip(*threads, strict=True):
            assert len({op for op, _ in events}) == 1, "threads take different ways"
            step, op = known[events[0][0]], events[0][0]
            if isinstance(op, func.CallOp):
                assert all(each == events[0] for each in events)
                self.kernel(step.op, op.callee.string_value(), events[0][1])
                continue
            writes = [
                (target, self.memory.piece(source, size).copy() if size is not None else source)
                for _, (target, source, size) in events
            ]
            for target, content in writes:
                self.memory.piece(target, len(content), write=True)[:] = content

    def kernel(self, op: Operation | None, name: str, places: list[tuple[str, int]]) -> None:
        """Computes what a kernel computes."""
        assert op is not None
        kernel, group = self.kernels[name], group_of(op)
        *tensors, scratch = places
        reads, writes = tensors[: len(kernel.inputs)], tensors[len(kernel.inputs) :]
        params = [type_ for param in group.params for type_ in leaf_types(param.type)]
        types = [*params, *(constant.result.type for constant in group.constants)]
        results = leaf_types(group.result.type)
        self.spoil(scratch, kernel.scratch_bytes)
        operands = [
            self.memory.elements(place, format, type_, write=False).copy()
            for place, format, type_ in zip(reads, kernel.inputs, types, strict=True)
        ]
        for place, format, type_ in zip(reads, kernel.inputs, types, strict=True):
            self.check_halo(place, format, type_)
        found = computed(group, operands)
        self.check_overlap(
            group, reads, kernel.inputs, types, writes, kernel.outputs, results, operands
        )
        for place, format, type_, value in zip(writes, kernel.outputs, results, found, strict=True):
            if format.halo != NO_HALO:
                self.halo_bytes(place, format, type_, write=True)[:] = 0
            self.memory.elements(place, format, type_, write=True)[...] = value
        self.spoil(scratch, kernel.scratch_bytes)

    def spoil(self, place: tuple[str, int], size: int) -> None:
        if size:
            assert place[0] == "workspace" and place[1] % ALIGNMENT == 0
            self.memory.piece(place, size, write=True)[:] = GARBAGE

    def halo_bytes(
        self, place: tuple[str, int], format: Format, type_: Any, *, write: bool
    ) -> np.ndarray:
        """All of a tensor with a halo."""
        bytes_ = np.dtype(dtype_of(type_.element_type)).itemsize
        start = place[1] - format.before * bytes_
        return self.memory.piece((place[0], start), format.size * bytes_, write=write)

    def check_halo(self, place: tuple[str, int], format: Format, type_: Any) -> None:
        """Nothing but zeros is around the images."""
        if format.halo == NO_HALO:
            return
        whole = self.halo_bytes(place, format, type_, write=False)
        kept = whole.copy()
        self.memory.elements(place, format, type_, write=True)[...] = 0
        assert not whole.any()
        whole[:] = kept

    def check_overlap(
        self,
        group: Group,
        reads: Sequence[tuple[str, int]],
        inputs: Sequence[Format],
        types: Sequence[TensorType[Any]],
        writes: Sequence[tuple[str, int]],
        outputs: Sequence[Format],
        results: Sequence[TensorType[Any]],
        operands: list[Array],
    ) -> None:
        """A result lies over an operand only if it is in its place, element by element."""
        for place, format, type_ in zip(writes, outputs, results, strict=True):
            own = extent(place, format, type_)
            for number, (other, held, kind) in enumerate(zip(reads, inputs, types, strict=True)):
                start, end = extent(other, held, kind)
                if place[0] != other[0] or max(own[0], start) >= min(own[1], end):
                    continue
                assert (place, format, type_) == (other, held, kind)
                assert depends_at_same_place(group, operands, number)


def _is_step(op: Operation) -> bool:
    """Whether an operation of the entry function is a step, not what it does for loops."""
    if isinstance(op, llvm.StoreOp):
        return op.ptr.name_hint not in ("workspace", "words", "table")
    return isinstance(op, func.CallOp | llvm.CallIntrinsicOp)


def _is_for_first(op: scf.IfOp) -> bool:
    """Whether the first thread alone does steps, one or several."""
    asks = op.cond.owner
    return (
        isinstance(asks, arith.CmpiOp)
        and asks.lhs.name_hint == "thread"
        and any(map(_is_step, op.true_region.block.ops))
    )


@dataclass
class Thread:
    """One thread of a run. It waits at each step until all threads are there."""

    of: Run
    number: int
    values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    """Numbers, and pointers as the name of an area and an offset."""
    is_open: bool = False
    """Whether it was at a step since the last barrier."""
    by_first: bool = False
    """Whether all these are steps of the first thread alone."""
    is_alone: bool = False
    """Whether it is at what the first thread does alone."""
    has_read: bool = False
    """Whether it has read a number since then."""
    tables: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """The addresses that it passes on to functions, by where they are in its tables."""

    def run(self, entry: func.FuncOp) -> Iterator[tuple[Operation, Any]]:
        """The steps, which a barrier has to keep apart."""
        places = ("inputs", None), ("outputs", None), ("constants", 0), ("workspace", 0)
        given = (*places, self.number, self.of.threads, None)
        self.values.update(zip(entry.body.block.args, given, strict=True))
        yield from self.block(entry.body.block)

    def block(self, block: Block) -> Iterator[tuple[Operation, Any]]:
        """The steps of a block, in all rounds of its loops."""
        for op in block.ops:
            operands = [self.values[value] for value in op.operands]
            match op:
                case scf.IfOp():
                    # The first thread alone does a small step; all are at that.
                    self.is_alone = _is_for_first(op)
                    is_taken = operands[0] or self.is_alone
                    region = op.true_region if is_taken else op.false_region
                    yield from self.block(region.block)
                    self.is_alone = False
                    assert region.block.last_op is not None
                    self.give(op.results, region.block.last_op.operands)
                case scf.WhileOp():
                    yield from self.loop(op)
                case func.CallOp() if op.callee.string_value() in self.of.functions:
                    yield from self.call(op, operands)
                case func.CallOp():
                    self.arrive()
                    yield op, operands[:-3]
                case llvm.CallIntrinsicOp():
                    self.arrive()
                    yield op, tuple(operands[:3])
                case llvm.StoreOp() if _is_step(op):
                    self.arrive()
                    yield op, (operands[1], self.bytes(operands[0], op.value.type), None)
                case llvm.StoreOp() if op.ptr.name_hint == "table":
                    self.tables[operands[1]] = operands[0]
                case llvm.StoreOp():
                    assert operands[1] in (("workspace", 0), ("workspace", FAILURE))
                case llvm.CallOp():
                    self.meet(op)
                case _:
                    self.compute(op, operands)

    def call(self, op: func.CallOp, operands: list[Any]) -> Iterator[tuple[Operation, Any]]:
        """The steps of a function, which has the values of its own."""
        block = self.of.functions[op.callee.string_value()].body.block
        around, self.values = self.values, dict(zip(block.args, operands, strict=True))
        yield from self.block(block)
        self.values = around

    def loop(self, op: scf.WhileOp) -> Iterator[tuple[Operation, Any]]:
        test, body = op.before_region.block, op.after_region.block
        self.give(test.args, op.arguments)
        while True:
            yield from self.block(test)
            assert test.last_op is not None and body.last_op is not None
            condition, *passed = test.last_op.operands
            if not self.values[condition]:
                self.give(op.results, passed)
                return
            self.give(body.args, passed)
            yield from self.block(body)
            self.give(test.args, body.last_op.operands)

    def give(self, targets: Sequence[SSAValue], sources: Sequence[SSAValue]) -> None:
        found = [self.values[source] for source in sources]
        self.values.update(zip(targets, found, strict=True))

    def arrive(self) -> None:
        """A step; what others have not finished, or not read, may be in its way."""
        follows = self.is_alone and self.by_first
        assert self.of.threads == 1 or not (self.is_open and not follows or self.has_read)
        self.is_open, self.by_first = True, self.is_alone

    def meet(self, op: llvm.CallOp) -> None:
        assert op.callee is not None and op.callee.string_value() in (BARRIER, POLL)
        self.is_open = self.has_read = False
        if op.returned is not None:
            self.values[op.returned] = 0

    def bytes(self, number: int, type_: Any) -> np.ndarray:
        return np.array([number], dtype_of(type_)).view(np.uint8)

    def compute(self, op: Operation, operands: list[Any]) -> None:
        """What needs no others."""
        match op:
            case llvm.ConstantOp():
                assert isinstance(op.value, IntegerAttr)
                value = op.value.value.data
            case llvm.GEPOp():
                base, *indices = operands
                static = [i for i in op.rawConstantIndices.get_values() if i != -(2**31)]
                (index,) = [*indices, *static]
                value = (
                    (base[0], base[1] + index)
                    if base[1] is not None
                    else (f"{base[0][:-1]} {index}", 0)
                )
            case llvm.LoadOp() if isinstance(op.dereferenced_value.type, llvm.LLVMPointerType):
                (value,) = operands
                if value[0] == "workspace":
                    value = self.tables[value]
            case llvm.LoadOp():
                assert self.of.threads == 1 or not self.is_open
                self.has_read = True
                dtype = np.dtype(dtype_of(op.dereferenced_value.type))
                value = int(self.of.memory.piece(operands[0], dtype.itemsize).view(dtype)[0])
            case arith.CmpiOp():
                name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
                value = COMPARISONS[name](*operands)
            case llvm.SExtOp() | llvm.ZExtOp() | llvm.TruncOp():
                (value,) = operands
            case scf.YieldOp() | scf.ConditionOp() | func.ReturnOp():
                return
            case _:
                value = ARITHMETIC[type(op)](*operands)
        self.values[op.results[0]] = value


COMPARISONS = {
    "eq": operator.eq, "ne": operator.ne, "slt": operator.lt, "sle": operator.le,
    "sgt": operator.gt, "sge": operator.ge,
}  # fmt: skip
ARITHMETIC: dict[type[Operation], Callable[..., Any]] = {
    arith.AddiOp: operator.add,
    arith.AndIOp: operator.and_,
    arith.DivUIOp: operator.floordiv,
    arith.MinUIOp: min,
    arith.MuliOp: operator.mul,
    arith.OrIOp: operator.or_,
    arith.SelectOp: lambda condition, one, other: one if condition else other,
    arith.SubiOp: operator.sub,
    arith.XOrIOp: operator.xor,
}


def extent(place: tuple[str, int], format: Format, type_: Any) -> tuple[int, int]:
    """The first byte of a tensor, and the one behind it."""
    bytes_ = np.dtype(dtype_of(type_.element_type)).itemsize
    start = place[1] - format.before * bytes_
    return start, start + format.size * bytes_


def depends_at_same_place(group: Group, operands: list[Array], number: int) -> bool:
    """
    Whether changes of elements of an operand change no other elements of the result: of those whose
    number has some bit, and of those whose number has not. So of any two elements each changes without
    the other.
    """
    (before,) = computed(group, operands)
    numbers = np.arange(before.size).reshape(before.shape)
    for bit, value in product(range(before.size.bit_length()), (0, 1)):
        chosen = (numbers >> bit) % 2 == value
        changed = [array.copy() for array in operands]
        changed[number][chosen] = changed[number][chosen] + 1
        (after,) = computed(group, changed)
        differs = (after != before) & ~(np.isnan(after) & np.isnan(before))
        if differs[~chosen].any():
            return False
    return True


def computed(group: Group, operands: list[Array]) -> list[Array]:
    """What a group computes of its tensors in memory, by the interpreter."""
    block = Block(arg_types=[param.type for param in group.params])
    mapping: dict[SSAValue, SSAValue] = dict(zip(group.params, block.args, strict=True))
    for op in group.ops:
        block.add_op(op.clone(mapping))
    block.add_op(func.ReturnOp(mapping[group.result]))
    types = FunctionType.from_lists(block.arg_types, [group.result.type])
    module = ModuleOp([func.FuncOp("main", types, Region(block))])
    rest = iter(operands)
    arguments = [packed(param.type, rest) for param in group.params]
    return list(leaves(interpret(module, arguments)[0]))


def packed(type_: Any, arrays: Iterator[Array]) -> Any:
    """A value of a type from its tensors."""
    if isinstance(type_, TensorType):
        return next(arrays)
    return tuple(packed(each, arrays) for each in type_.types.data)


def simulated(
    function: func.FuncOp,
    inputs: Sequence[Array],
    threads: int,
    patch: pytest.MonkeyPatch,
    is_alone: Callable[[str], bool] | None = None,
) -> list[Array]:
    """
    What a lowered function computes, whose operators are fused. `is_alone` says which kernels the first thread runs
    alone, by their names; otherwise some do.
    """
    kernels: dict[str, StubKernel] = {}

    def build(group: Group, name: str, *rest: Any) -> StubKernel:
        made = stub_kernel(group, name, *rest)
        if is_alone is not None:
            made = replace(made, is_alone=is_alone(name))
        kernels[name] = made
        return made

    patch.setattr(lowering, "build_kernel", build)
    lowered = lower_function(function, kernel_options(CompileOptions(threads, "x86-64")))
    areas = {
        "workspace": np.full(lowered.workspace_bytes, GARBAGE, np.uint8),
        "constants": np.full(lowered.constant_bytes, GARBAGE, np.uint8),
    }
    for each in lowered.constants:
        content = np.ascontiguousarray(constant_array(each.op)).reshape(-1).view(np.uint8)
        assert each.offset % ALIGNMENT == 0
        areas["constants"][each.offset : each.offset + len(content)] = content
    for number, array in enumerate(inputs):
        areas[f"input {number}"] = array.copy().reshape(-1).view(np.uint8)
    for number, port in enumerate(lowered.outputs):
        dtype = np.dtype(dtype_of(port.type.element_type))
        areas[f"output {number}"] = np.full(
            prod(port.type.get_shape()) * dtype.itemsize, GARBAGE, np.uint8
        )
    given_ = frozenset(name for name in areas if name.startswith("input") or name == "constants")
    assert all(buffer.offset % ALIGNMENT == 0 for buffer in lowered.buffers)
    Run(lowered, kernels, Memory(areas, given_), threads).run()
    return [
        areas[f"output {number}"]
        .view(dtype_of(port.type.element_type))
        .reshape(port.type.get_shape())
        for number, port in enumerate(lowered.outputs)
    ]
