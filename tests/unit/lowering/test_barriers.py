"""Where threads wait for each other within a kernel: between loops of which one reads what another wrote."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from graphs import Graph
from xdsl.dialects import func
from xdsl.ir import SSAValue

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import kernel_options, run_passes
from xrelay.dialects.pool.gradient import AvgPool2DGradOp, MaxPool2DGradOp
from xrelay.dialects.tensor.indexing import ScatterOp
from xrelay.dialects.tensor.reorder import InvertPermutationOp
from xrelay.dialects.tensor.sort import CumsumOp
from xrelay.dialects.tensor.stft import StftOp
from xrelay.lowering.program.program import lower_function
from xrelay.options import CompileOptions
from xrelay.transforms.fuse_ops import FuseOpsPass

TASKS, BARRIER = "@xrelay_next_task", "@xrelay_barrier"


def floats(g: Graph, *shape: int) -> SSAValue:
    return g.input(np.zeros(shape, np.float32))


def places(g: Graph, *shape: int) -> SSAValue:
    return g.input(np.zeros(shape, np.int32))


WINDOW = {"pool_size": [2, 2], "strides": [2, 2]}
KERNELS: dict[str, tuple[Callable[[Graph], SSAValue], str]] = {
    # One letter for each loop that threads share, and a bar where they wait.
    "cumsum": (lambda g: g.op(CumsumOp(floats(g, 64, 64), axis=1)), "L"),
    # Zeros, the places in the order of the input, the result.
    "invert_permutation": (lambda g: g.op(InvertPermutationOp(places(g, 50))), "L|L|L"),
    # The data, of which each thread has its rows, and the updates in their order.
    "scatter": (
        lambda g: g.op(ScatterOp(floats(g, 5, 6), places(g, 5, 6), floats(g, 5, 6), axis=1)),
        "|L",
    ),
    # The angles, the spectra.
    "stft": (lambda g: g.op(StftOp(floats(g, 1, 64), floats(g, 8), 8, 4, 8)), "L|L"),
    # The shares of windows, the sums of those that meet an element.
    "avg_pool2d_grad": (
        lambda g: g.op(AvgPool2DGradOp(floats(g, 1, 2, 2, 2), floats(g, 1, 2, 4, 4), **WINDOW)),
        "L|L",
    ),
    "max_pool2d_grad": (
        lambda g: g.op(MaxPool2DGradOp(floats(g, 1, 2, 2, 2), floats(g, 1, 2, 4, 4), **WINDOW)),
        "L|L",
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_threads_wait(name: str) -> None:
    build, expected = KERNELS[name]
    graph = Graph()
    graph.returns(build(graph))
    module, options = graph.module().clone(), CompileOptions(threads=2)
    run_passes(module, [FuseOpsPass()])
    program = lower_function(
        entry_function(module), replace(kernel_options(options), shares_all=True)
    )
    kernel = next(op for op in program.module.ops if isinstance(op, func.FuncOp) and op.body.blocks)
    found = ""
    for line in str(kernel).splitlines():
        found += "L" * (TASKS in line) + "|" * (BARRIER in line)
    # Each loop asks for its first task, and within it for the next one.
    assert found.replace("LL", "L") == expected
