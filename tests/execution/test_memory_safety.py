"""
Compiled code touches nothing but its buffers.

Inputs, outputs, constants and workspace lie between pages that fault on access: once flush with
the page after them (as far as the alignment allows that the code may count on), once flush with
the page before. What remains between buffer and page holds sentinels that must stay as they are.
The code runs in a process of its own, so that a fault fails the test and nothing else.
"""

import ctypes
import faulthandler
import mmap
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.ir import SSAValue

from xrelay.dialects import (
    binary,
    conv,
    core,
    dense,
    norm,
    pool,
    reduction,
    reshape,
    transform,
    unary,
)
from xrelay.interpreters.arrays import Array
from xrelay.runtime.executor import ALIGNMENT, RUN
from xrelay.runtime.machine_code import LoadedCode
from xrelay.runtime.model import Model

Graph: TypeAlias = Any  # tests/execution/conftest.py

PAGE = mmap.PAGESIZE
SENTINEL = 0xA5
LOADED: list[LoadedCode] = []
"""The teams of the process that `_run` starts live as long as the process, and so must their code."""
CASES: dict[str, Callable[[Graph], None]] = {}


def case(build: Callable[[Graph], None]) -> Callable[[Graph], None]:
    CASES[build.__name__] = build
    return build


@case
def elementwise(g: Graph) -> None:
    for dtype in ("float32", "float64", "float16", "int8", "bool"):
        for size in (1, 7, 15, 17, 31, 33, 65):
            x = g.input(g.small(dtype, size))
            g.show(transform.WhereOp(g.input(g.numbers("bool", size)), x, g.op(unary.AbsOp(x))))
        g.show(binary.AddOp(g.input(g.small(dtype, 3, 1, 5)), g.input(g.small(dtype, 7, 1))))


@case
def moves(g: Graph) -> None:
    x = g.input(g.small("float32", 3, 5, 7))
    g.show(transform.TransposeOp(x))
    g.show(transform.StridedSliceOp(x, [-1, -1, -1], [-9, -9, -9], [-1, -2, -3]))
    g.show(transform.ConcatenateOp(g.op(core.TupleOp([x, x, x])), axis=2))
    g.show(transform.PadOp(x, g.constant(np.float32(1)), [(1, 0), (0, 2), (3, 1)]))
    g.show(
        transform.PadOp(x, g.constant(np.float32(1)), [(2, 2), (4, 4), (6, 6)], pad_mode="reflect")
    )
    far = g.input(np.array([-(2**63), 2**63 - 1, -1, 3, 7], np.int64))
    for axis in (None, 0, 1, 2):
        for mode in ("clip", "wrap"):
            g.show(transform.TakeOp(x, far, axis=axis, mode=mode))
    g.show(transform.GatherNDOp(x, g.op(reshape.ReshapeOp(far, [1, 5]))))
    g.show(transform.TileOp(x, [2, 1, 3]))
    g.show(transform.SplitOp(x, [2, 3], axis=1))


@case
def reductions(g: Graph) -> None:
    for dtype in ("float32", "int8"):
        x = g.input(g.small(dtype, 3, 5, 19))
        for axes in ([0], [1], [2], [0, 2], None):
            g.show(reduction.SumOp(x, axes))
            g.show(reduction.ArgmaxOp(x, axes))
    x = g.input(g.small("float32", 3, 5, 19))
    for axis in range(3):
        g.show(norm.SoftmaxOp(x, axis=axis), 8)
        g.show(norm.LrnOp(x, axis=axis), 16)


@case
def products(g: Graph) -> None:
    for dtype in ("float32", "float64", "int8"):
        g.show(dense.DenseOp(g.input(g.small(dtype, 3, 17)), g.input(g.small(dtype, 9, 17))))
        for a in (False, True):
            for b in (False, True):
                left = g.input(g.small(dtype, 2, *((17, 5) if a else (5, 17))))
                right = g.input(g.small(dtype, 1, *((33, 17) if b else (17, 33))))
                g.show(dense.BatchMatmulOp(left, right, transpose_a=a, transpose_b=b))


@case
def windows(g: Graph) -> None:
    for image, window, strides, padding in (
        ((5, 7), (1, 1), (1, 1), (0, 0)),
        ((5, 7), (1, 1), (2, 2), (0, 0)),
        ((9, 17), (3, 3), (1, 1), (1, 1)),
        ((9, 17), (3, 3), (1, 1), (0, 0)),
        ((8, 33), (3, 3), (2, 2), (1, 1)),
        ((15, 31), (7, 7), (2, 2), (3, 3)),
        ((6, 40), (1, 3), (1, 3), (0, 2)),
    ):
        for dtype in ("float32", "int8"):
            x = g.input(g.small(dtype, 2, 3, *image))
            options = {"strides": strides, "padding": padding}
            g.show(conv.Conv2DOp(x, g.input(g.small(dtype, 5, 3, *window)), **options))
            if dtype == "float32":
                g.show(pool.MaxPool2DOp(x, window, **options))
                g.show(pool.AvgPool2DOp(x, window, **options, ceil_mode=True), 1)
    x, w = g.input(g.small("float32", 1, 6, 5, 7)), g.input(g.small("float32", 6, 1, 3, 3))
    g.show(conv.Conv2DOp(x, w, groups=6, dilation=(2, 2), padding=(2, 1)))


@case
def network(g: Graph) -> None:
    def weights(*shape: int) -> SSAValue:
        return g.constant((g.rng.standard_normal(shape) / 4).astype(np.float32))

    def block(x: SSAValue, inputs: int, outputs: int, stride: int) -> SSAValue:
        y = g.op(
            conv.Conv2DOp(
                x, weights(outputs, inputs, 3, 3), strides=(stride, stride), padding=(1, 1)
            )
        )
        y = g.op(norm.BiasAddOp(y, weights(outputs)))
        return g.op(unary.ReluOp(y))

    x = g.input(g.rng.standard_normal((1, 3, 33, 35)).astype(np.float32))
    x = g.op(pool.MaxPool2DOp(block(x, 3, 9, 2), (3, 3), strides=(2, 2), padding=(1, 1)))
    x = g.op(binary.AddOp(block(x, 9, 9, 1), x))
    left, right = block(x, 9, 5, 1), g.op(conv.Conv2DOp(x, weights(7, 9, 1, 1)))
    x = g.op(transform.ConcatenateOp(g.op(core.TupleOp([left, right])), axis=1))
    x = g.op(reshape.BatchFlattenOp(g.op(pool.GlobalAvgPool2DOp(x))))
    x = g.op(dense.DenseOp(x, weights(11, 12)))
    g.returns(x, 256)
    g.show(norm.SoftmaxOp(x), 256)


class Guarded:
    """Memory for `size` bytes between pages that may not be touched."""

    def __init__(self, size: int, alignment: int, *, at_end: bool):
        self.libc = ctypes.CDLL(None, use_errno=True)
        inside = max(1, -(-size // PAGE)) * PAGE
        self.map = mmap.mmap(-1, inside + 2 * PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.inside = np.frombuffer(self.map, np.uint8)[PAGE : PAGE + inside]
        self.inside[:] = SENTINEL
        for page in (base, base + PAGE + inside):
            assert not self.libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0)
        start = (inside - size) // alignment * alignment if at_end else 0
        self.bytes = self.inside[start : start + size]
        self.address = base + PAGE + start

    def check(self) -> None:
        """What lies around the buffer is as it was."""
        start = self.address - self.inside.ctypes.data
        end = start + self.bytes.size
        assert (self.inside[:start] == SENTINEL).all(), "written before the buffer"
        assert (self.inside[end:] == SENTINEL).all(), "written after the buffer"


def guarded_run(g: Graph, model: Model, *, at_end: bool) -> list[Array]:
    """The results of a compiled graph with guarded memory."""
    signature, code = model.signature, model._code
    assert code is not None

    def copy(data: Array, alignment: int) -> Guarded:
        memory = Guarded(data.nbytes, alignment, at_end=at_end)
        memory.bytes[:] = np.frombuffer(data.tobytes(), np.uint8)
        return memory

    inputs = [copy(array, array.itemsize) for array in g.inputs]
    outputs = [Guarded(s.size, s.dtype.itemsize, at_end=at_end) for s in signature.outputs]
    constants = copy(code.constants, ALIGNMENT)
    workspace = Guarded(signature.workspace_bytes, ALIGNMENT, at_end=at_end)

    def table(buffers: list[Guarded]) -> Any:
        return (ctypes.c_void_p * max(1, len(buffers)))(*[buffer.address for buffer in buffers])

    loaded = LoadedCode(code.object, code.machine)
    LOADED.append(loaded)
    RUN(loaded.address(f"{signature.name}_run"))(
        ctypes.addressof(tables := table(inputs)),
        ctypes.addressof(results := table(outputs)),
        constants.address,
        workspace.address,
    )
    del tables, results
    for memory in (*inputs, *outputs, constants, workspace):
        memory.check()
    for memory, array in zip(inputs, g.inputs, strict=True):
        assert memory.bytes.tobytes() == array.tobytes(), "an input was written to"
    return [
        memory.bytes.view(spec.dtype).reshape(spec.shape)
        for memory, spec in zip(outputs, signature.outputs, strict=True)
    ]


def run_all(graphs: type[Any], target: str, threads: int) -> None:
    """Every case, with both kinds of guarded memory; the names of what has begun are printed."""
    for name, build in CASES.items():
        graph = graphs()
        build(graph)
        expected = graph.expected()
        model = graph.compile(target, threads)
        for at_end in (True, False):
            print(name, "before the end of a page" if at_end else "from a page on", flush=True)
            found = guarded_run(graph, model, at_end=at_end)
            problem = graph.problems(expected, found)
            assert not problem, problem


@pytest.mark.parametrize("threads", [1, 2])
def test_code_stays_within_its_buffers(target: str, threads: int):
    command = [sys.executable, __file__, target, str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert done.stdout.count("\n") == 2 * len(CASES)


def test_a_fault_is_noticed():
    code = (
        "import runpy, ctypes; memory = runpy.run_path({!r})['Guarded'](5, 1, at_end={}); "
        "ctypes.string_at(memory.address + {}, 1)"
    )
    for at_end, offset, fault in ((True, 4, False), (True, 5, True), (False, -1, True)):
        command = [sys.executable, "-c", code.format(__file__, at_end, offset)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode != 0) == fault


if __name__ == "__main__":
    faulthandler.enable()
    run_all(
        runpy.run_path(str(Path(__file__).with_name("conftest.py")))["Graph"],
        sys.argv[1],
        int(sys.argv[2]),
    )
