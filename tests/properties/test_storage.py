"""
Where the tensors of random programs lie: the entry function is run step by step on memory that is full of
garbage, with NumPy for the kernels. So nothing that a step reads may have been written over, by whatever
shares memory with it.

The kernels themselves are left out: a step reads its operands, spoils its scratch memory, and writes its results.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest
from graphs import leaves
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from random_graphs import BLOCKED, IMAGES, RandomProgram, programs
from xdsl.dialects import arith, func, llvm
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from xrelay.analysis.facts.memory_plan import ALIGNMENT
from xrelay.compiler import context, kernel_options
from xrelay.dialects.shapes import leaf_types
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.constants import constant_array
from xrelay.interpreters.relay import interpret
from xrelay.lowering.emit.context import BARRIER
from xrelay.lowering.emit.format import NO_HALO, Format
from xrelay.lowering.emit.group import Group, group_of
from xrelay.lowering.program import program as lowering
from xrelay.lowering.program.kernel import Kernel
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.program import Program, lower_function
from xrelay.lowering.program.selection import Choice
from xrelay.options import CompileOptions
from xrelay.transforms.fuse_ops import FuseOpsPass

KINDS = (
    *("unary", "unary", "binary", "binary", "binary", "softmax", "concatenate", "concatenate"),
    *("concatenate", "flatten", "tuple", "field", "expand", "slice", "transpose", "reduce", "cast"),
)
CONVOLUTIONS = ("conv", "conv", "conv", "pool", "pool")
SHAPES = {
    "rows": (KINDS, ((1, 3), (1, 3), (2, 3))),
    "sizes 0, 1 and 40": (KINDS, ((40, 1), (0, 1), (1,), ())),
    "images": ((*KINDS, *CONVOLUTIONS, *CONVOLUTIONS), IMAGES),
    "blocks": ((*KINDS[:12], *CONVOLUTIONS, *CONVOLUTIONS), BLOCKED),
}
"""Small programs of operators that write over others, and of those that are written into others."""
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
) -> StubKernel:
    """In the place of `build_kernel`: a function without code, with any scratch memory."""
    function = func.FuncOp(name, FunctionType.from_lists([], []), Region(), "private")
    scratch = Random(name).choice((0, 0, 1, 64, 100, 640))
    return StubKernel(function, scratch, {}, tuple(inputs), tuple(outputs))


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
    calls: list[Any]
    kernels: dict[str, StubKernel]
    memory: Memory
    threads: int
    values: dict[SSAValue, Any] = field(default_factory=dict)
    """Numbers, and pointers as the name of an area and an offset."""

    def entry(self) -> func.FuncOp:
        functions = [op for op in self.program.module.ops if isinstance(op, func.FuncOp)]
        (entry,) = [op for op in functions if op.sym_name.data == self.program.name]
        return entry

    def run(self) -> None:
        """Each step on all threads before the next one; a barrier stands between them."""
        events = [list(self.events(thread)) for thread in range(self.threads)]
        assert len({len(each) for each in events}) == 1
        for step, of_threads in zip(self.program.steps, zip(*events, strict=True), strict=True):
            if step.is_kernel:
                assert all(each == of_threads[0] for each in of_threads)
                self.kernel(step.op, *of_threads[0])
                continue
            copied = [
                (target, self.memory.piece(source, size).copy())
                for _, (target, source, size) in of_threads
            ]
            for target, content in copied:
                self.memory.piece(target, len(content), write=True)[:] = content

    def events(self, thread: int) -> Iterator[tuple[str, Any]]:
        """The calls and copies of a thread, which a barrier has to keep apart."""
        entry = self.entry()
        inputs, outputs, constants, workspace, number, threads, team = entry.body.block.args
        values = self.values = {
            inputs: ("inputs", None),
            outputs: ("outputs", None),
            constants: ("constants", 0),
            workspace: ("workspace", 0),
            number: thread,
            threads: self.threads,
            team: None,
        }
        is_open = False
        for op in entry.body.block.ops:
            operands = [values[value] for value in op.operands]
            match op:
                case llvm.ConstantOp():
                    assert isinstance(op.value, IntegerAttr)
                    values[op.result] = op.value.value.data
                case llvm.GEPOp():
                    base, *indices = operands
                    static = [i for i in op.rawConstantIndices.get_values() if i != -(2**31)]
                    (index,) = [*indices, *static]
                    if base[0] in ("inputs", "outputs"):
                        values[op.result] = (f"{base[0][:-1]} {index}", 0)
                    else:
                        values[op.result] = (base[0], base[1] + index)
                case llvm.LoadOp():
                    (values[op.results[0]],) = operands
                case arith.AddiOp():
                    values[op.result] = operands[0] + operands[1]
                case arith.SubiOp():
                    values[op.result] = operands[0] - operands[1]
                case arith.MuliOp():
                    values[op.result] = operands[0] * operands[1]
                case arith.DivUIOp():
                    values[op.result] = operands[0] // operands[1]
                case arith.MinUIOp():
                    values[op.result] = min(operands)
                case llvm.CallOp():
                    assert op.callee is not None and op.callee.string_value() == BARRIER
                    is_open = False
                case llvm.CallIntrinsicOp():
                    assert self.threads == 1 or not is_open
                    is_open = True
                    yield "copy", tuple(operands[:3])
                case func.CallOp():
                    assert self.threads == 1 or not is_open
                    is_open = True
                    yield op.callee.string_value(), operands[:-3]
                case func.ReturnOp():
                    pass
                case _:
                    raise AssertionError(op.name)

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


def simulated(program: RandomProgram, threads: int, patch: pytest.MonkeyPatch) -> list[Array]:
    """What the lowered program computes."""
    kernels: dict[str, StubKernel] = {}

    def build(group: Group, name: str, *rest: Any) -> StubKernel:
        kernels[name] = stub_kernel(group, name, *rest)
        return kernels[name]

    patch.setattr(lowering, "build_kernel", build)
    lowered = lower_function(program.main, kernel_options(CompileOptions(threads, "x86-64")))
    areas = {
        "workspace": np.full(lowered.workspace_bytes, GARBAGE, np.uint8),
        "constants": np.full(lowered.constant_bytes, GARBAGE, np.uint8),
    }
    for each in lowered.constants:
        content = np.ascontiguousarray(constant_array(each.op)).reshape(-1).view(np.uint8)
        assert each.offset % ALIGNMENT == 0
        areas["constants"][each.offset : each.offset + len(content)] = content
    for number, array in enumerate(program.inputs):
        areas[f"input {number}"] = array.copy().reshape(-1).view(np.uint8)
    for number, port in enumerate(lowered.outputs):
        dtype = np.dtype(dtype_of(port.type.element_type))
        areas[f"output {number}"] = np.full(
            prod(port.type.get_shape()) * dtype.itemsize, GARBAGE, np.uint8
        )
    given_ = frozenset(name for name in areas if name.startswith("input") or name == "constants")
    assert all(buffer.offset % ALIGNMENT == 0 for buffer in lowered.buffers)
    Run(lowered, [], kernels, Memory(areas, given_), threads).run()
    return [
        areas[f"output {number}"]
        .view(dtype_of(port.type.element_type))
        .reshape(port.type.get_shape())
        for number, port in enumerate(lowered.outputs)
    ]


@pytest.mark.parametrize("shapes", SHAPES)
def test_nothing_that_is_read_was_written_over(
    shapes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds, types = SHAPES[shapes]

    @examples(25)
    @given(
        programs(kinds, size=12, reach=4, shapes=types),
        st.sampled_from(["relay", "cpu"]),
        st.sampled_from([0, 0, 2]),
        st.sampled_from([1, 1, 2, 3]),
    )
    def check(program: RandomProgram, rules: str, level: int, threads: int) -> None:
        expected = [np.asarray(x) for x in leaves(interpret(program.module, program.inputs))]
        FuseOpsPass(rules=rules, opt_level=level).apply(context(), program.module)
        found = simulated(program, threads, monkeypatch)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)

    check()
