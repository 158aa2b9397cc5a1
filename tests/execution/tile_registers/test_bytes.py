"""
Bytes that become of the sums of tiles, four vectors of which are stored at once where they are neighbours: the
interpreter's, whatever the numbers are, and no more of them.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import TypeAlias

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from cases.dots import numbers
from cases.strategies.case import Case, image, layout
from cases.strategies.draws import others
from cases.strategies.windows import Window
from graphs import Graph
from strategy_checks import problems
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp
from xrelay.dialects.tensor.unary import CastOp, RoundOp
from xrelay.interpreters.arrays import Array, element_type_of

pytestmark = pytest.mark.parametrize("target", ["x86-64-v4-amx"], indirect=True)

LANES, LARGE = 16, 64
"""Channels in a block: those of a vector of sums, and of a row of a tile."""
SCALES = (1e-4, 3e-3, 0.02, 1.0, 1e30, -1e30, -1e-3, np.nan, np.inf, -np.inf, 0.0, 1e-30)
"""Of channels in turn: the products with sums of bytes are small, beyond 32 bits, infinite or NaN."""
WINDOWS = (
    # rows and columns of results: neighbours in fours, of which some belong to two tiles; a rest; none
    (Window((4, 20), (1, 1)), 64, 48),
    (Window((3, 8), (3, 3), pads=(1, 1, 1, 1)), 16, 40),
    (Window((5, 7), (1, 1)), 32, 16),
    (Window((6, 6), (3, 3)), 32, 33),
    (Window((9, 1), (1, 1)), 16, 16),
)
LARGE_WINDOWS = (
    # two vectors of a position are neighbours, and two of the next one; a rest; neighbours in rows
    (Window((4, 32), (1, 1)), 64, 192),
    (Window((3, 4), (1, 1)), 64, 64),
    (Window((3, 8), (3, 3), pads=(1, 1, 1, 1)), 64, 128),
)


def channels(sums: SSAValue, scales: tuple[float, ...]) -> Array:
    """A number of each channel in blocks."""
    _, blocks, _, _, lanes = shape_of(sums)
    return np.resize(np.array(scales, np.float32), (1, blocks, 1, 1, lanes))


def convolved(g: Graph, window: Window, depth: int, out: int, lanes: int) -> SSAValue:
    """Sums of products of bytes, in blocks of channels."""
    weights = numbers(g, "int8", out, depth, *window.taps)
    data = image(g, numbers(g, "uint8", 2, depth, *window.size), lanes, "parameter")
    layouts = {"data_layout": layout(lanes), "out_layout": layout(lanes)}
    return g.op(Conv2DOp(data, g.constant(weights), out_dtype=i32, **layouts, **window.options))


def as_bytes(g: Graph, real: SSAValue, zero_point: int, kind: str) -> SSAValue:
    """Rounded, moved, and saturated."""
    whole = g.op(RoundOp(real))
    if zero_point:
        whole = g.op(AddOp(whole, g.constant(np.array(zero_point, np.float32))))
    return g.op(CastOp(whole, element_type_of(np.dtype(kind))))


MakeCase: TypeAlias = Callable[[Window, int, int], Case]


def requantized(kind: str, zero_point: int, lanes: int = LANES) -> MakeCase:
    """Convolutions whose sums are scaled by a number of each channel."""

    def case(window: Window, depth: int, out: int) -> Case:
        def build(g: Graph) -> SSAValue:
            sums = convolved(g, window, depth, out, lanes)
            real = g.op(CastOp(sums, element_type_of(np.dtype("f4"))))
            scaled = g.op(MultiplyOp(real, g.constant(channels(sums, SCALES))))
            return as_bytes(g, scaled, zero_point, kind)

        return Case("", f"{window} {kind} {zero_point}", 0.0, build)

    return case


def added(kind: str, zero_point: int, lanes: int = LANES) -> MakeCase:
    """Convolutions whose results of 8 bits are added to others, of another scale."""

    def case(window: Window, depth: int, out: int) -> Case:
        def build(g: Graph) -> SSAValue:
            single = element_type_of(np.dtype("f4"))
            sums = convolved(g, window, depth, out, lanes)
            scales = g.constant(channels(sums, (3e-4, 1e-3, 0.1)))
            scaled = g.op(MultiplyOp(g.op(CastOp(sums, single)), scales))
            first = g.op(CastOp(as_bytes(g, scaled, 9, "uint8"), single))
            other = g.op(CastOp(g.input(numbers(g, "int8", *shape_of(sums))), single))
            terms = [
                g.op(MultiplyOp(each, g.constant(np.array(scale, np.float32))))
                for each, scale in ((first, 0.0527979), (other, 0.0322591))
            ]
            total = g.op(DivideOp(g.op(AddOp(*terms)), g.constant(np.array(0.0379, np.float32))))
            return as_bytes(g, total, zero_point, kind)

        return Case("", f"{window} {kind} {zero_point}", 0.0, build)

    return case


def places() -> Iterator[ParameterSet]:
    """Implementations and epilogues with types and zero points, of which every second is extensive."""
    types = (("uint8", 0), ("uint8", 130), ("int8", -3), ("int8", 300))
    names, epilogues = ("blocked-tiles", "gathered-tiles"), (requantized, added)
    for (i, name), (j, epilogue), (k, type_) in product(*map(enumerate, (names, epilogues, types))):
        mark = pytest.mark.extensive if (i + j + k) % 2 else ()
        label = "-".join((name, epilogue.__name__, *map(str, type_)))
        yield pytest.param(name, epilogue, *type_, id=label, marks=mark)


@pytest.mark.parametrize(("name", "epilogue", "kind", "zero_point"), list(places()))
def test_bytes(
    target: str,
    name: str,
    epilogue: Callable[[str, int, int], MakeCase],
    kind: str,
    zero_point: int,
) -> None:
    tables = ((WINDOWS, LANES), (LARGE_WINDOWS, LARGE))
    cases = [epilogue(kind, zero_point, lanes)(*each) for table, lanes in tables for each in table]
    named = [Case(name, each.label, each.bound, each.build) for each in cases]
    problem = problems(named, target, 2)
    assert not problem, problem


@pytest.mark.parametrize(
    ("zero_point", "is_joined"), [(0, True), (130, True), (255, True), (256, False)]
)
@pytest.mark.parametrize(
    ("lanes", "window"),
    [(LANES, WINDOWS[0]), (LARGE, LARGE_WINDOWS[0])],
    ids=["one", "two and two"],
)
def test_what_is_stored_at_once(
    target: str, zero_point: int, is_joined: bool, lanes: int, window: tuple[Window, int, int]
) -> None:
    """Where sums of 16 bits with what is added saturate as those of 8 bits do."""
    g = Graph()
    g.returns(requantized("uint8", zero_point, lanes)(*window).build(g))
    text = str(g.program(target, 1, others("gathered-tiles")).module)
    assert ("llvm.x86.avx512.packuswb.512" in text) == is_joined
    assert ("llvm.sadd.sat.v32i16" in text) == (is_joined and zero_point != 0)
    # Numbers that no 32 bits may hold are limited from above first.
    assert ("llvm.x86.avx512.min.ps.512" in text) == is_joined


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_sums_that_are_bounded(target: str, kind: str) -> None:
    """Nothing limits them before they are rounded."""
    g = Graph()
    g.returns(added(kind, 12)(*WINDOWS[0]).build(g))
    text = str(g.program(target, 1, others("gathered-tiles")).module)
    assert f"llvm.x86.avx512.pack{'us' if kind == 'uint8' else 'ss'}wb.512" in text
    assert "llvm.x86.avx512.min.ps.512" not in text
