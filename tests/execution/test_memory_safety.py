"""
Compiled code touches nothing but its buffers.

Every case of tests/execution whose graph is checked as a whole runs between pages that fault on access
(tests/support/guard_pages.py), and so do the cases of every implementation and the nine light models.
Here are graphs of several steps and of far indices, and the proof that a fault is one.
`python tests/conformance/memory_safety.py` runs other models.
"""

import ctypes
import faulthandler
import os
from collections.abc import Callable

import numpy as np
import pytest
from graphs import Graph
from guard_pages import Guarded
from xdsl.ir import SSAValue

from xrelay.dialects.conv import conv
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import dense, norm, space
from xrelay.dialects.pool import pool
from xrelay.dialects.tensor import binary, indexing, reshape, transform, unary


def moves(g: Graph) -> None:
    x = g.input(g.small("float32", 3, 5, 7))
    g.show(transform.TransposeOp(x))
    g.show(transform.StridedSliceOp(x, [-1, -1, -1], [-9, -9, -9], [-1, -2, -3]))
    g.show(transform.ConcatenateOp(g.op(core.TupleOp([x, x, x])), axis=2))
    g.show(space.PadOp(x, g.constant(np.float32(1)), [(1, 0), (0, 2), (3, 1)]))
    g.show(space.PadOp(x, g.constant(np.float32(1)), [(2, 2), (4, 4), (6, 6)], pad_mode="reflect"))
    far = g.input(np.array([-(2**63), 2**63 - 1, -1, 3, 7], np.int64))
    for axis in (None, 0, 1, 2):
        for mode in ("clip", "wrap"):
            g.show(indexing.TakeOp(x, far, axis=axis, mode=mode))
    g.show(indexing.GatherNDOp(x, g.op(reshape.ReshapeOp(far, [1, 5]))))
    rows = [g.op(indexing.TakeOp(x, indices, axis=0)) for indices in (far, g.input(np.arange(3)))]
    g.show(space.PadOp(rows[0], g.constant(np.float32(1)), [(900, 900), (0, 0), (0, 0)]))
    g.show(transform.ConcatenateOp(g.op(core.TupleOp(rows))))
    g.show(transform.TileOp(x, [2, 1, 3]))
    g.show(transform.SplitOp(x, [2, 3], axis=1))


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


CASES: tuple[Callable[[Graph], None], ...] = (moves, network)


@pytest.mark.in_turn
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("build", CASES)
def test_code_stays_within_its_buffers(
    target: str, threads: int, build: Callable[[Graph], None], graph: Graph
) -> None:
    build(graph)
    graph.check(target, threads)


def reading_ends_the_process(at_end: bool, offset: int) -> bool:
    """Whether a child of this process ends when it reads a byte beside or in a buffer of 5 bytes."""
    child = os.fork()
    if not child:
        faulthandler.disable()
        memory = Guarded(5, 1, at_end=at_end)
        ctypes.string_at(memory.address + offset, 1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_fault_is_noticed() -> None:
    for at_end, offset, fault in ((True, 4, False), (True, 5, True), (False, -1, True)):
        assert reading_ends_the_process(at_end, offset) == fault
