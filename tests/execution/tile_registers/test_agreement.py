"""
Products in tile registers agree with the interpreter, between pages that fault on access, and are the same bits for any
number of threads.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product as pairs
from math import prod
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from cases.dots import BYTES, TypedConvolution, TypedProduct, Types, bound, dtype_of
from cases.strategies.case import SOURCES, Case, turn
from cases.strategies.windows import Window
from graphs import Graph
from strategy_checks import Trial, problems
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.lowering.emit.target import TILE_ROW_BYTES

TARGET = "x86-64-v4-amx"
BFLOATS: tuple[Types, ...] = (
    ("bfloat16", "bfloat16", "bfloat16"),
    ("bfloat16", "bfloat16", "float32"),
)
SIZES = (
    # operator, rows, depth, columns, whether the right operand is stored by columns
    (DenseOp, 5, 64, 33, True),
    (DenseOp, 1, 300, 96, True),
    (DenseOp, 37, 256, 80, True),
    (MatmulOp, 16, 131, 48, False),
    (MatmulOp, 33, 64, 1, False),
    (BatchMatmulOp, 17, 37, 31, True),
    (BatchMatmulOp, 9, 128, 32, False),
    (BatchMatmulOp, 34, 30, 50, False),
)
pytestmark = pytest.mark.parametrize("target", [TARGET], indirect=True)


def products(types: Types) -> Iterator[Case]:
    """Matrix products of all sizes, by constants and by inputs."""
    for (op, *sizes, transposed), constant in pairs(SIZES, (True, False)):
        drawn = TypedProduct(types, op, *sizes, constant, transposed)
        yield Case("tile-registers", str(drawn), bound(types, sizes[1]), drawn.build)


CONVOLUTIONS = (
    # window, channels, output channels, groups
    (Window((5, 6), (1, 1)), 32, 33, 1),
    (Window((9, 7), (1, 1), (2, 2)), 16, 16, 1),
    (Window((4, 5), (3, 3), pads=(1, 1, 1, 1)), 48, 17, 1),
    (Window((7, 6), (3, 2), (2, 1), (1, 2), (0, 2, 1, 0)), 16, 80, 1),
    (Window((6, 40), (3, 3), (1, 1), (2, 1), (2, 1, 2, 1)), 32, 32, 2),
    (Window((3, 19), (1, 4), pads=(0, 2, 0, 1)), 160, 16, 1),
)


PARTS_OF_BLOCKS = (
    (Window((5, 6), (1, 1)), 24, 33, 1),
    (Window((9, 7), (1, 1), (2, 2)), 7, 16, 1),
    (Window((3, 5), (1, 1)), 33, 48, 1),
    (Window((4, 4), (1, 1), pads=(1, 0, 0, 1)), 72, 17, 1),
)
"""Of images whose last block is not full."""
FIRST_LAYERS = (
    (Window((9, 8), (7, 7), (2, 2), pads=(3, 3, 3, 3)), 3, 40, 1),
    (Window((6, 21), (3, 3), (1, 2), (2, 1), (1, 0, 1, 2)), 5, 16, 1),
    (Window((5, 18), (2, 4), pads=(0, 1, 1, 0)), 2, 33, 1),
    (Window((7, 4), (1, 1), (1, 2)), 1, 16, 1),
)
"""Of images that are not in blocks."""
LARGE_BLOCKS = (
    # window, blocks of channels, blocks of output channels, groups
    (Window((5, 6), (1, 1)), 1, 2, 1),
    (Window((3, 4), (1, 1)), 3, 3, 1),
    (Window((9, 7), (1, 1), (2, 2)), 2, 1, 1),
    (Window((4, 5), (3, 3), pads=(1, 1, 1, 1)), 2, 1, 1),
    (Window((7, 6), (3, 2), (2, 1), (1, 2), (0, 2, 1, 0)), 2, 4, 2),
)
"""Of images and results in blocks of a whole row of a tile: several vectors of sums."""


def drawn(
    name: str,
    table: Sequence[tuple[Window, int, int, int]],
    lanes: int | None,
    types: Types,
    out_lanes: int = 16,
) -> Iterator[Case]:
    """The convolutions of a table, of images and results with blocks of so many channels."""
    for number, (window, channels, out, groups) in enumerate(table):
        source = turn(number, SOURCES)
        conv = TypedConvolution(types, window, channels, out, groups, lanes, out_lanes, source)
        terms = channels // groups * prod(window.taps)
        yield Case(name, str(conv), bound(types, terms), conv.build)


def convolutions(types: Types) -> Iterator[Case]:
    """What windows read of images in blocks of channels is read where it lies."""
    yield from drawn("blocked-tiles", CONVOLUTIONS, 16, types)


def gathered(types: Types) -> Iterator[Case]:
    """It is gathered, from images in blocks of channels."""
    yield from drawn("gathered-tiles", CONVOLUTIONS, 16, types)
    for lanes in (4, 8, 32):
        yield from drawn("gathered-tiles", CONVOLUTIONS[5:], lanes, types)


def parts_of_blocks(types: Types) -> Iterator[Case]:
    """It is gathered, and the last block is not full."""
    yield from drawn("gathered-tiles", PARTS_OF_BLOCKS, 16, types)


def first_layers(types: Types) -> Iterator[Case]:
    """It is gathered, from images that are not in blocks."""
    yield from drawn("gathered-tiles", FIRST_LAYERS, None, types)


def in_large_blocks(name: str, types: Types) -> Iterator[Case]:
    """Results in blocks of several vectors, of images in such blocks and in others, and the other way around."""
    lanes = row_lanes(types)
    table = [(window, lanes * a, lanes * b, groups) for window, a, b, groups in LARGE_BLOCKS]
    yield from drawn(name, table, lanes, types, lanes)
    yield from drawn(name, table[3:], 16, types, lanes)
    yield from drawn(name, table[4:], lanes, types, 16)
    yield from drawn(name, table[:1], 16, types, 2 * lanes)


def row_lanes(types: Types) -> int:
    """Elements of an image in a row of a tile."""
    return TILE_ROW_BYTES // dtype_of(types[0]).itemsize


def large_blocks(types: Types) -> Iterator[Case]:
    """Blocks of several vectors, and images that are read where they lie."""
    yield from in_large_blocks("blocked-tiles", types)


def gathered_blocks(types: Types) -> Iterator[Case]:
    """Blocks of several vectors, and images that are gathered."""
    yield from in_large_blocks("gathered-tiles", types)
    lanes = row_lanes(types)
    first = [(window, channels, lanes, 1) for window, channels, _, _ in FIRST_LAYERS[:2]]
    yield from drawn("gathered-tiles", first, None, types, lanes)


GATHERED = (gathered, parts_of_blocks, first_layers, gathered_blocks)
"""Tables of what is the same for all bytes, and for all bf16."""
TABLES = (products, convolutions, large_blocks, *GATHERED)


def places() -> Iterator[ParameterSet]:
    """Tables with types, which take turns with some tables."""
    for alike in (BYTES, BFLOATS):
        for (i, types), table in pairs(enumerate(alike), TABLES):
            is_turn = table not in GATHERED or GATHERED.index(table) % len(alike) == i
            mark = () if is_turn else pytest.mark.extensive
            yield pytest.param(types, table, id="-".join((*types, table.__name__)), marks=mark)


def check(found: Sequence[Case], target: str, threads: int) -> None:
    """All of some cases are right."""
    problem = problems(found, target, threads)
    assert not problem, problem


@pytest.mark.parametrize(("types", "table"), list(places()))
def test_agrees_with_the_interpreter(
    target: str, types: Types, table: Callable[[Types], Iterator[Case]]
) -> None:
    check(list(table(types)), target, 2)


@pytest.mark.parametrize("types", (BYTES[0], BFLOATS[1]), ids="-".join)
def test_threads_share_the_panels_of_few_windows(target: str, types: Types) -> None:
    """More threads than images: each gathers the windows of its own panels."""
    table = [(Window((3, 4), (1, 1)), 40, out, 1) for out in (17, 80, 200)]
    check(list(drawn("gathered-tiles", table, 16, types)), target, 5)


def test_extreme_bytes(target: str) -> None:
    """All elements are the least ones of their types, or the largest ones."""
    check(
        [
            Case("tile-registers", str(drawn), 0.0, drawn.build)
            for types, depth in pairs(BYTES, (1, 7, 65))
            for drawn in [TypedProduct(types, DenseOp, 18, depth, 17, True, True, extreme=True)]
        ],
        target,
        1,
    )


@pytest.mark.parametrize("lanes", [1, 2, 6])
def test_images_in_blocks_that_are_no_groups(target: str, lanes: int) -> None:
    """Are not read where they lie: four bytes of a position are multiplied together."""
    for window in (Window((5, 6), (1, 1)), Window((4, 5), (3, 3), pads=(1, 1, 1, 1))):
        (case,) = drawn("blocked-tiles", [(window, 12, 16, 1)], lanes, BYTES[0])
        with pytest.raises(DiagnosticException, match="blocks of an image are no whole groups"):
            problems([case], target, 1)
        graph = Graph()
        graph.returns(case.build(graph))
        graph.check(target)


def test_large_blocks_that_are_not_full(target: str) -> None:
    """Have no panels of weights behind the last channel."""
    (case,) = drawn("blocked-tiles", [(Window((5, 6), (1, 1)), 16, 40, 1)], 16, BYTES[0], 32)
    with pytest.raises(DiagnosticException, match="large blocks are not full"):
        problems([case], target, 1)


STATED = """
func.func @main(%x: tensor<37x64xi8>, %w: tensor<80x64xi8>) -> tensor<37x80xi32> {
  %y = relay.fused %x, %w attributes {strategies = [
      #relay.strategy<anchor 0 "relay.nn.dense" by "tile-registers", rows = ROWS, vectors = VECTORS>]}
      : (tensor<37x64xi8>, tensor<80x64xi8>) -> tensor<37x80xi32> {
  ^bb0(%a: tensor<37x64xi8>, %b: tensor<80x64xi8>):
    %z = relay.nn.dense %a, %b {out_dtype = i32} : (tensor<37x64xi8>, tensor<80x64xi8>) -> tensor<37x80xi32>
    relay.yield %z : tensor<37x80xi32>
  }
  func.return %y : tensor<37x80xi32>
}
"""


def test_stated_tiles(target: str, tmp_path: Path) -> None:
    """Of every shape that there are registers for; others are refused."""
    rng, path = np.random.default_rng(0), tmp_path / "stated.mlir"
    x, w = (rng.integers(-128, 128, shape, np.int8) for shape in ((37, 64), (80, 64)))
    for rows, vectors in ((1, 3), (15, 1), (16, 2), (17, 2), (32, 2), (32, 1)):
        path.write_text(STATED.replace("ROWS", str(rows)).replace("VECTORS", str(vectors)))
        (found,) = xrelay.compile(path, target=target, cache=False).run({"x": x, "w": w}).values()
        np.testing.assert_array_equal(found, x.astype(np.int32) @ w.astype(np.int32).T)
    path.write_text(STATED.replace("ROWS", "17").replace("VECTORS", "3"))
    with pytest.raises(DiagnosticException, match="'vectors' is 3, expected 1 to 2"):
        xrelay.compile(path, target=target, cache=False)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_what_is_not_finite_spreads_no_further(
    target: str, table: Callable[[Types], Iterator[Case]]
) -> None:
    """What fills up a depth is zero in both operands."""
    problem = Trial(list(table(BFLOATS[1])), target, 1).leaks()
    assert not problem, problem
