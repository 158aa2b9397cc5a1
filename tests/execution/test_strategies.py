"""
Every implementation of convolutions, matrix products and pooling agrees with the interpreter.

Each is forced in turn, on every target that this machine can run, for one thread, two and three,
whose results have to be the same bits. What is drawn, and the bounds, are in
tests/support/cases/strategies; `python tests/conformance/strategies.py` draws more.
"""

from collections.abc import Callable
from itertools import islice
from math import prod

import numpy as np
import pytest
from cases.kernel import in_turn
from cases.strategies.case import EPILOGUES, Case, direct_bound
from cases.strategies.draws import COVERED, WITH_TILES, draws, implementations, names
from cases.strategies.products import Product
from cases.strategies.windows import CONVOLUTIONS, Convolution, Window, draw_winograd
from graphs import Graph
from raw_calls import RawCode
from strategy_checks import Trial, listed, problems, winograd_leaks
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.image.resize import Resize2DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.norm import GroupNormOp, InstanceNormOp, LayerNormOp, RmsNormOp
from xrelay.dialects.tensor.binary import MultiplyOp
from xrelay.dialects.tensor.reduce import AllOp, MaxOp, MeanOp, SumOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.lowering.emit.target import TARGETS
from xrelay.lowering.program.registry import STRATEGIES
from xrelay.tools.verify import largest_difference

TOGETHER = 5
"""Cases in a model."""
FEW = 3
"""Cases in one that is compiled for several numbers of threads."""


DIRECT = tuple(
    name
    for name in implementations()
    if not name.startswith("winograd")
    and name not in (*names(TransposeOp), *names(TopkOp), *names(Resize2DOp))
)
"""Implementations whose results are not finite only where the operator's are."""


@pytest.mark.parametrize(
    ("implementation", "target"), in_turn(implementations(), others=True), indirect=["target"]
)
def test_agrees_with_the_interpreter(target: str, implementation: str) -> None:
    """Between guard pages, by teams of one thread, two and three; on the targets that do not have the turn below."""
    check(implementation, target, range(TOGETHER), 3)


@pytest.mark.parametrize(
    ("implementation", "target"), in_turn(implementations()), indirect=["target"]
)
def test_code_for_other_numbers_of_threads(target: str, implementation: str) -> None:
    """Gives the same bits."""
    check(implementation, target, range(TOGETHER, TOGETHER + FEW), 1, 2)


def check(implementation: str, target: str, numbers: range, *threads: int) -> None:
    """Checks the cases of some numbers; what is not finite spreads no further than it must."""
    cases = draws(implementation, 0, TARGETS[target].lanes(4))
    trial = Trial(list(islice(cases, numbers.start, numbers.stop)), target, *threads)
    problem = listed(trial.outcomes())
    assert not problem, problem
    if implementation in DIRECT:
        problem = trial.leaks()
        assert not problem, problem


def test_all_implementations_are_drawn() -> None:
    assert set(names(Conv2DOp)) - set(WITH_TILES) == set(CONVOLUTIONS)
    several = {op for op, strategy in STRATEGIES.items() if len(strategy) > 1}
    elsewhere = {op for op in several if op not in COVERED}
    # They move elements only: test_kernels.py and test_moved_elements.py have their cases.
    assert {op.name for op in elsewhere} == {"relay.layout_transform", "relay.concatenate"}


@pytest.mark.in_turn
@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_blocks_of_several_vectors(target: str, epilogue: str) -> None:
    """Channels of several blocks, of one, and of two groups; tiles with a part of a block and with more than one."""
    lanes = TARGETS[target].lanes(4)
    cases: list[Case] = []
    for vectors, blocks, groups in ((2, 3, 1), (3, 1, 1), (4, 2, 2), (6, 1, 1)):
        large = vectors * lanes
        for window in (Window((5, 7), (1, 1)), Window((6, 5), (3, 3), pads=(1, 1, 1, 1))):
            conv = Convolution(
                window, 2, groups * large, groups * blocks * large, groups, large, large, "parameter", epilogue
            )  # fmt: skip
            terms = large * prod(window.taps)
            cases.append(Case("blocked", str(conv), direct_bound(terms), conv.build))
    problem = problems(cases, target, 2)
    assert not problem, problem


@pytest.mark.parametrize(
    ("kind", "target"), in_turn([("blocked", 1), ("depthwise", 5)]), indirect=["target"]
)
def test_every_stride_with_padding(target: str, kind: tuple[str, int]) -> None:
    lanes, (implementation, groups) = TARGETS[target].lanes(4), kind
    cases = [
        convolution(implementation, window, 5, 5, groups, lanes)
        for pads in ((1, 0, 0, 0), (0, 2, 1, 0), (2, 1, 0, 3))
        for strides in ((1, 2), (2, 1), (3, 3))
        for window in [Window((9, 11), (3, 3), strides, (1, 1), pads)]
    ]
    problem = problems(cases, target, 2)
    assert not problem, problem


def convolution(
    implementation: str,
    window: Window,
    channels: int,
    out_channels: int,
    groups: int,
    lanes: int,
    epilogue: str = "nothing",
) -> Case:
    """A case on images in blocks."""
    conv = Convolution(
        window, 1, channels, out_channels, groups, lanes, lanes, "transformed", epilogue
    )
    return Case(implementation, str(conv), 2e-6, conv.build)


@pytest.mark.in_turn
def test_a_deep_convolution_in_parts(target: str) -> None:
    """Sums wait in memory between the parts of the depth, also before long epilogues."""
    lanes = TARGETS[target].lanes(4)
    window = Window((5, 7), (3, 3), pads=(1, 1, 1, 1))
    cases = [
        convolution("blocked", window, 304, out, 1, lanes, epilogue)
        for out, epilogue in ((33, "nothing"), (80, "bias+silu"), (17, "residual"))
    ]
    problem = problems(cases, target, 3)
    assert not problem, problem


@pytest.mark.in_turn
def test_images_without_elements(target: str) -> None:
    """No input channels give zeros; no images and no output channels give nothing."""
    lanes = TARGETS[target].lanes(4)
    window = Window((5, 6), (3, 3), pads=(1, 1, 1, 1))
    for images, channels, out, first in ((1, 0, 7, lanes), (0, 3, 7, lanes), (1, 0, 7, None)):
        conv = Convolution(window, images, channels, out, 1, first, lanes, "parameter", "bias")
        for name in ("blocked", "winograd-2", "winograd-4") if first and images else ("blocked",):
            problem = problems([Case(name, str(conv), 0.0, conv.build)], target, 2)
            assert not problem, problem
    empty = Product(DenseOp, (1, 1), 0, 5, 7, (False, True), "parameter", True, "bias")
    no_depth = Product(DenseOp, (1, 1), 3, 0, 7, (False, True), "parameter", True, "bias")
    for product in (empty, no_depth):
        problem = problems([Case("panels", str(product), 0.0, product.build)], target, 2)
        assert not problem, problem


@pytest.mark.parametrize(
    ("operand", "target"),
    in_turn([(False, 1), (True, 1), (False, 3), (True, 3)]),
    indirect=["target"],
)
def test_products_in_panels(target: str, operand: tuple[bool, int]) -> None:
    """Known and unknown right operands, in parts, with gaps between rows, one row, few columns."""
    shapes = (
        (DenseOp, 1, 4100, 33, True, "bias+silu", "parameter"),
        (DenseOp, 14, 2048, 48, True, "residual", "computed"),
        (DenseOp, 5, 7, 1, True, "nothing", "parameter"),
        (MatmulOp, 13, 66, 100, False, "bias", "parameter"),
        (MatmulOp, 1, 5, 17, False, "nothing", "computed"),
        (BatchMatmulOp, 31, 64, 31, False, "residual+gelu", "parameter"),
        (BatchMatmulOp, 7, 9, 64, False, "bias+relu", "computed"),
        (BatchMatmulOp, 7, 9, 64, True, "bias", "parameter"),
    )
    transposed, matrices = operand
    cases = [
        Case("panels", str(product), 2e-6, product.build)
        for op, rows, depth, columns, constant, epilogue, source in shapes
        for product in [
            Product(
                op,
                (3, matrices),
                rows,
                depth,
                columns,
                (False, transposed or op is DenseOp),
                source,
                constant,
                epilogue,
            )
        ]
    ]
    problem = problems(cases, target, 2)
    assert not problem, problem


def long_rows(g: Graph, build: Callable[[Graph, SSAValue], Operation], *shape: int) -> SSAValue:
    """An operator on numbers whose sum is not small, as a parameter or computed by its kernel."""
    value = g.input((g.rng.standard_normal(shape) + 1).astype("float32"))
    return g.op(build(g, value))


def vectors(g: Graph, channels: int, count: int = 2) -> list[SSAValue]:
    """Scales and shifts."""
    return [g.input(g.rng.standard_normal(channels).astype("float32")) for _ in range(count)]


LONG_ROWS: tuple[tuple[Callable[[Graph, SSAValue], Operation], tuple[int, ...]], ...] = (
    (lambda g, x: SumOp(x), (40009,)),
    (lambda g, x: MaxOp(x, [1]), (3, 50021)),
    (lambda g, x: MeanOp(x, [0, 2, 3], keepdims=True), (5, 2, 150, 151)),
    (lambda g, x: SumOp(g.op(MultiplyOp(x, x)), [1, 2]), (2, 70, 801)),
    (lambda g, x: AllOp(g.op(CastOp(x, i1))), (64, 1031)),
    (lambda g, x: LayerNormOp(x, *vectors(g, 66000)), (2, 66000)),
    (lambda g, x: RmsNormOp(x, *vectors(g, 40007, 1)), (3, 40007)),
    (lambda g, x: InstanceNormOp(x, *vectors(g, 3)), (1, 3, 211, 212)),
    (lambda g, x: GroupNormOp(x, *vectors(g, 30), num_groups=2), (1, 30, 61, 67)),
    (lambda g, x: GroupNormOp(x, *vectors(g, 8), num_groups=2, axis=-1), (1, 7, 9, 8)),
)


@pytest.mark.in_turn
def test_long_rows_are_shared(target: str) -> None:
    """Threads reduce parts of rows, and the bits do not depend on how many there are."""
    graph = Graph(0)
    for build, shape in LONG_ROWS:
        graph.returns(long_rows(graph, build, *shape))
    expected = [array for _, array in graph.expected()]
    alone = RawCode(graph.code(target, 1)).run(graph.inputs, 1)
    for found, wanted in zip(alone, expected, strict=True):
        assert largest_difference(found, wanted) <= 1e-5
    team = RawCode(graph.code(target, 3))
    for size in (1, 2, 3):
        for found, wanted in zip(team.run(graph.inputs, size), alone, strict=True):
            assert found.tobytes() == wanted.tobytes()


def test_only_long_rows_are_cut() -> None:
    """Where parts are combined, the threads wait for each other once more."""

    def waits(length: int) -> int:
        graph = Graph(0)
        graph.returns(long_rows(graph, lambda g, x: SumOp(x), length))
        return graph.code("x86-64", 2).llvm_ir.count("call void @xrelay_barrier")

    assert waits(400000) == waits(4000) + 1


@pytest.mark.in_turn
def test_a_right_operand_that_is_not_finite_does_not_spread(target: str) -> None:
    cases = [
        Case("panels", str(product), 2e-6, product.build)
        for columns in (7, 17, 33)
        for product in [
            Product(
                *(BatchMatmulOp, (2, 2), 5, 9, columns),
                *((False, columns == 17), "parameter", False, "nothing"),
            )
        ]
    ]
    problem = Trial(cases, target, 1).leaks(1)
    assert not problem, problem


@pytest.mark.in_turn
@pytest.mark.parametrize("tile", [2, 4])
def test_an_element_that_is_not_finite_stays_in_its_tiles(target: str, tile: int) -> None:
    rng, lanes = np.random.default_rng(tile), TARGETS[target].lanes(4)
    problem = winograd_leaks([draw_winograd(i, rng, lanes) for i in range(4)], tile, target)
    assert not problem, problem
