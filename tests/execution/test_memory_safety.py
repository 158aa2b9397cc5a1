"""
Compiled code touches nothing but its buffers.

Small graphs of all kinds, cases of every implementation and the nine light models run between
pages that fault on access (tests/support/guard_pages.py), in a process of its own, so that a fault
fails the test and nothing else. `python tests/conformance/memory_safety.py` runs other models.
"""

import faulthandler
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

SUPPORT = Path(__file__).parent.parent / "support"
sys.path.insert(0, str(SUPPORT))  # The process of its own runs this file as a script.

from graphs import Graph
from guard_pages import guarded_run
from raw_calls import RawCode
from strategy_cases import draws, implementations, others
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
from xrelay.lowering.target import TARGETS
from xrelay.tools.light_models import LIGHT_MODELS

CASES: dict[str, Callable[[Graph], None]] = {}
DRAWN = 6
"""Cases of each implementation."""


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
    rows = [g.op(transform.TakeOp(x, indices, axis=0)) for indices in (far, g.input(np.arange(3)))]
    g.show(transform.PadOp(rows[0], g.constant(np.float32(1)), [(900, 900), (0, 0), (0, 0)]))
    g.show(transform.ConcatenateOp(g.op(core.TupleOp(rows))))
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


def run_guarded(
    name: str, graph: Graph, target: str, threads: int, excluded: frozenset[str]
) -> None:
    """A graph with both kinds of guarded memory; what has begun is printed."""
    expected = graph.expected()
    code = RawCode(graph.code(target, threads, excluded))
    for at_end in (True, False):
        print(name, "before the end of a page" if at_end else "from a page on", flush=True)
        problem = graph.problems(expected, guarded_run(code, graph.inputs, threads, at_end=at_end))
        assert not problem, problem


def run_all(target: str, threads: int) -> None:
    """Every case, and some of every implementation."""
    for name, build in CASES.items():
        graph = Graph()
        build(graph)
        run_guarded(name, graph, target, threads, frozenset())
    for name in implementations():
        graph = Graph()
        for drawn in islice(draws(name, 2, TARGETS[target].lanes(4)), DRAWN):
            # Whether results are right is what test_strategies.py is about.
            graph.returns(drawn.build(graph), 1e4)
        run_guarded(name, graph, target, threads, others(name))


@pytest.mark.parametrize("threads", [1, 2])
def test_code_stays_within_its_buffers(target: str, threads: int) -> None:
    command = [sys.executable, __file__, target, str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert done.stdout.count("\n") == 2 * (len(CASES) + len(implementations()))


@pytest.mark.parametrize("name", LIGHT_MODELS)
def test_models_stay_within_their_buffers(name: str) -> None:
    """One and two threads, with the same results as without guards."""
    script = Path(__file__).parent.parent / "conformance" / "memory_safety.py"
    command = [sys.executable, str(script), f"light_{name}", "--threads", "1", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert done.stdout.count("\n") == 4


def test_a_fault_is_noticed() -> None:
    code = (
        f"import ctypes, sys; sys.path.insert(0, {str(SUPPORT)!r}); "
        "from guard_pages import Guarded; "
        "memory = Guarded(5, 1, at_end={}); ctypes.string_at(memory.address + {}, 1)"
    )
    for at_end, offset, fault in ((True, 4, False), (True, 5, True), (False, -1, True)):
        command = [sys.executable, "-c", code.format(at_end, offset)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode != 0) == fault


if __name__ == "__main__":
    faulthandler.enable()
    run_all(sys.argv[1], int(sys.argv[2]))
