"""What kernels are made of: elements beside gaps, shares of threads, constants, and what is refused."""

import struct
from collections.abc import Sequence
from math import inf

import numpy as np
import pytest
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    IntegerType,
    Signedness,
    TensorType,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    f80,
    i1,
    i8,
    i64,
)
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from xrelay.compiler import context
from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import hint, symbol
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.nn.upsampling import UpsamplingOp
from xrelay.dialects.tensor.indexing import StridedSetOp
from xrelay.dialects.tensor.layout import Layout, LayoutTransformOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.interpreters.constants import constant_op
from xrelay.lowering.emit.attributes import POINTER
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext, Team
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.evaluate import Buffer, Evaluator, Leaf
from xrelay.lowering.emit.format import Format, row_major
from xrelay.lowering.emit.index import Index, Sum, lanes_of
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Site
from xrelay.lowering.emit.target import AVX2
from xrelay.lowering.llvm.to_llvm import convert_module
from xrelay.lowering.llvm.to_text import float_text
from xrelay.lowering.loops.axis_order import AxisOrder
from xrelay.lowering.loops.tile_grid import NARROW, NARROW_IMAGES, Narrow, TileGrid
from xrelay.lowering.loops.tiling import Tiling
from xrelay.lowering.program.operations import constant_number
from xrelay.lowering.program.registry import RULES, explain_selection

GAPS = Format((2, 3), (4, 1), 0, 8)
"""Two rows of three elements, with a gap behind each."""


def builder() -> KernelBuilder:
    """A kernel of a pointer to memory and a number."""
    return KernelBuilder(Block(arg_types=[POINTER, POINTER, i64]), AVX2)


def args(b: KernelBuilder) -> tuple[SSAValue, SSAValue, SSAValue]:
    pointer, other, number = b.entry.args
    return pointer, other, number


def evaluated(value: Index, known: dict[SSAValue, int]) -> int:
    """What an index is when the kernel runs."""
    assert not isinstance(value, Sum)
    if isinstance(value, int):
        return value
    if value in known:
        return known[value]
    op = value.owner
    assert isinstance(op, Operation)
    if isinstance(op, arith.ConstantOp):
        number = constant_number(value)
        assert number is not None
        return number
    one, other = (evaluated(operand, known) for operand in op.operands)
    match op:
        case arith.MuliOp():
            return one * other
        case arith.AddiOp():
            return one + other
        case arith.DivUIOp():
            return one // other
        case _:
            raise AssertionError(op.name)


def offsets(b: KernelBuilder, pointer: SSAValue) -> list[int]:
    """How many elements behind a pointer is read and written, in order."""
    found: list[int] = []
    for op in b.entry.ops:
        if isinstance(op, llvm.LoadOp | llvm.StoreOp):
            address = op.ptr.owner
            if op.ptr is pointer:
                found.append(0)
            elif isinstance(address, llvm.GEPOp) and address.ptr is pointer:
                found.extend(address.rawConstantIndices.get_values())
    return found


@pytest.mark.parametrize(
    ("place", "found"),
    [
        (Position((2, 3), (), 1, 4), [1, 2, 4, 5]),
        (Position((2, 3), (), 2, 2), [2, 4]),
        (Position((2, 3), (), 0, 6), [0, 1, 2, 4, 5, 6]),
        (Position((2, 3), (1,), 0, 3), [4]),
        (Position((2, 3), (), 4), [5]),
    ],
)
def test_elements_beside_gaps(place: Position, found: list[int]) -> None:
    """Lanes that are no neighbours in memory are read and written one by one, others at once."""
    b = builder()
    source, target, number = args(b)
    (value,) = TestOp(result_types=[TensorType(f32, [2, 3])]).results
    ev = Evaluator(b, {}, {(value, 0): Buffer(source, GAPS, element(f32))})
    ctx = KernelContext(b, ev, source, Team(1, number, number, source), [], frozenset())
    ctx.store(Buffer(target, GAPS, element(f32)), place, ev.get((value, 0), place))
    assert (offsets(b, source), offsets(b, target)) == (found, found)


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 7, 12])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_shares_of_threads(rounds: int, count: int) -> None:
    """Those that run do all rounds, each once, and no thread more than one round more than another."""
    b = builder()
    pointer, other, number = args(b)
    threads = b.entry.insert_arg(i64, 3)
    team = Team(8, number, threads, pointer)
    ctx = KernelContext(b, Evaluator(b, {}), other, team, [], frozenset())
    start, stop = ctx.share(rounds)
    done: list[int] = []
    sizes: set[int] = set()
    for thread in range(count):
        known = {number: thread, threads: count}
        mine = range(evaluated(start, known), evaluated(stop, known))
        done.extend(mine)
        sizes.add(len(mine))
    assert done == list(range(rounds))
    assert max(sizes) - min(sizes) <= 1


def test_one_thread_does_all_rounds() -> None:
    b = builder()
    pointer, other, number = args(b)
    team = Team(1, number, number, pointer)
    ctx = KernelContext(b, Evaluator(b, {}), other, team, [], frozenset())
    assert ctx.share(7) == (0, 7)
    assert not list(b.entry.ops)


@pytest.mark.parametrize(("loops", "handed"), [(1, 1), (16, 16), (17, 16), (20, 16)])
def test_loops_between_barriers(loops: int, handed: int) -> None:
    """There are counters for sixteen loops; the rounds of others are shared beforehand."""
    b = builder()
    pointer, other, number = args(b)
    team = Team(8, number, number, pointer)
    ctx = KernelContext(b, Evaluator(b, {}), other, team, [], frozenset())
    for _ in range(loops):
        ctx.tasks((70,), lambda indices: None)
    # One is asked for before the loop, and one at the end of each round.
    kinds = [[op.name for op in each.walk()] for each in b.entry.ops]
    assert sum("scf.while" in kind for kind in kinds) == handed
    assert sum(kind[0] == "scf.for" for kind in kinds) == loops - handed


def test_loops_in_loops() -> None:
    """A counter serves one run: a loop that runs more than once is shared beforehand."""
    b = builder()
    pointer, other, number = args(b)
    team = Team(8, number, number, pointer)
    ctx = KernelContext(b, Evaluator(b, {}), other, team, [], frozenset())
    with b.loop(0, 3):
        ctx.tasks((70,), lambda indices: None)
    names = [op.name for each in b.entry.ops for op in each.walk()]
    assert names.count("scf.for") == 2
    assert "scf.while" not in names


@pytest.mark.parametrize(
    ("type_", "lanes", "found"),
    [
        (i64, 1, ["llvm.getelementptr", "llvm.load"]),
        (i64, 4, ["llvm.getelementptr", "llvm.load", "vector.broadcast"]),
        (i8, 1, ["llvm.getelementptr", "llvm.load", "llvm.trunc"]),
        (f32, 1, ["llvm.getelementptr", "llvm.load", "llvm.sitofp"]),
        (f64, 2, ["llvm.getelementptr", "llvm.load", "llvm.sitofp", "vector.broadcast"]),
    ],
)
def test_lengths_as_numbers(type_: Attribute, lanes: int, found: list[str]) -> None:
    """A length is read from the table, and becomes a number of a type in all lanes."""
    block = Block(arg_types=[POINTER])
    b = KernelBuilder(block, AVX2, block.args[0])
    value = b.constant(type_, symbol(Scope(), "n", 4), lanes)
    assert value.type == (VectorType(type_, [lanes]) if lanes > 1 else type_)
    assert [op.name for op in block.ops] == found


@pytest.mark.parametrize(
    ("dtype", "found"),
    [
        (IntegerType(8, Signedness.SIGNED), ("i8", "i8", 1, True)),
        (IntegerType(32, Signedness.SIGNED), ("i32", "i32", 4, True)),
        (IntegerType(8, Signedness.UNSIGNED), ("i8", "i8", 1, False)),
        (i8, ("i8", "i8", 1, True)),
        (i1, ("i1", "i8", 1, False)),
        (f16, ("f16", "f16", 2, True)),
        (bf16, ("bf16", "bf16", 2, True)),
    ],
)
def test_elements_of_tensors(dtype: Attribute, found: tuple[str, str, int, bool]) -> None:
    """What is computed in, what lies in memory, its bytes, and whether it has a sign."""
    kind = element(dtype)
    assert (str(kind.compute), str(kind.storage), kind.bytes, kind.signed) == found


def test_elements_without_kernels() -> None:
    with pytest.raises(
        DiagnosticException,
        match="^element type f80 has no kernels; supported are i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64, "
        "f16, bf16, f32, f64$",
    ):
        element(f80)


@pytest.mark.parametrize(
    ("value", "type_", "number"),
    [
        (1.0, f32, 1.0),
        (0.1, f64, 0.1),
        (0.1, f32, float(np.float32(0.1))),
        (0.1, f16, float(np.float16(0.1))),
        (-0.0, f32, -0.0),
        (1e39, f32, inf),
        (-1e39, f32, -inf),
        (65520.0, f16, inf),
        (65519.0, f16, 65504.0),
    ],
)
def test_texts_of_numbers(value: float, type_: Attribute, number: float) -> None:
    """The bits of the number of the type that is nearest, as f64; what is too large is infinite."""
    assert float_text(value, type_) == f"0x{struct.pack('>d', number).hex()}"


@pytest.mark.parametrize(("value", "type_"), [(1, f32), (1.0, i8), (1.0, f80)])
def test_numbers_without_a_text(value: object, type_: Attribute) -> None:
    with pytest.raises(
        DiagnosticException, match=f"^a constant {value} : {type_} is not part of kernels$"
    ):
        float_text(value, type_)


def test_operators_without_rules() -> None:
    (value,) = TestOp(result_types=[TensorType(f32, [4])]).results
    op = ReluOp(value)
    with pytest.raises(DiagnosticException, match=r"^no kernel code for relay\.nn\.relu$"):
        Evaluator(builder(), {}).get((op.result, 0), Position((4,), (), 0))


def test_constants_of_several_numbers_are_in_memory() -> None:
    one, several = (
        constant_op(np.array([[3, 3]], np.float32)),
        constant_op(np.array([[3, 4]], np.float32)),
    )
    b = builder()
    place = Position((1, 2), (), 0, 2)
    assert str(Evaluator(b, RULES).get((one.result, 0), place).type) == "vector<2xf32>"
    with pytest.raises(
        DiagnosticException, match="^tensor<1x2xf32> constant in a kernel is not in memory$"
    ):
        Evaluator(b, RULES).get((several.result, 0), place)


def test_cubic_upsampling_has_no_rule() -> None:
    (value,) = TestOp(result_types=[TensorType(f32, [1, 1, 2, 2])]).results
    op = UpsamplingOp(value, scale_h=2.0, scale_w=2.0, method="bicubic")
    with pytest.raises(
        DiagnosticException,
        match="^relay.nn.upsampling: 'method' is \"bicubic\", which legalize replaces$",
    ):
        Evaluator(builder(), RULES).get((op.result, 0), Position((1, 1, 4, 4), (), 0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func.func @f(%i: i64) {\n  cf.br ^next\n^next:\n  func.return\n}",
            "function 'f' is not part of kernel IR: it has 2 blocks, expected one",
        ),
        (
            "func.func @f() {\n  %c = relay.constant dense<1.0> : tensor<f32>\n  func.return\n}",
            "relay.constant is not part of kernel IR",
        ),
    ],
)
def test_what_is_no_kernel(text: str, message: str) -> None:
    with pytest.raises(DiagnosticException, match=f"^{message}"):
        convert_module(Parser(context(), text).parse_module())


@pytest.mark.parametrize(
    ("shape", "source", "target", "found"),
    [
        ((1, 8, 6, 6), "NCHW", "NCHW8c", "transposed tiles"),
        ((1, 1, 6, 6, 8), "NCHW8c", "NCHW", "transposed tiles"),
        ((1, 16, 6, 6), "NCHW", "NCHW16c", "transposed tiles"),
        ((1, 12, 6, 6), "NCHW", "NCHW12c", "blocks are not whole vectors"),
        ((1, 8, 1, 8), "NCHW", "NCHW8c", "transposed tiles"),
        ((1, 8, 1, 7), "NCHW", "NCHW8c", "images smaller than a tile"),
        ((1, 6, 6, 8), "NHWC", "NCHW", "neither into nor out of blocks of channels"),
        ((1, 6, 6, 8), "NHWC", "NCHW8c", "neither into nor out of blocks of channels"),
        ((1, 1, 6, 6, 8), "NCHW8c", "NHWC", "neither into nor out of blocks of channels"),
    ],
)
def test_transforms_into_and_out_of_blocks(
    shape: Sequence[int], source: str, target: str, found: str
) -> None:
    """They are transposed tile by tile in registers, or there is a reason against that."""
    (value,) = TestOp(result_types=[TensorType(f32, shape)]).results
    selection = explain_selection(Site(LayoutTransformOp(value, source, target), AVX2))
    reasons = [each.reason for each in selection.refusals]
    assert [found] == (reasons or [selection.chosen.name])


@pytest.mark.parametrize(
    ("layout", "shape", "lengths", "stated"),
    [
        (None, (2, 8, 3), (2, 8, 3), (1, 5, 2)),
        ("NWC", (2, 3, 8), (2, 8, 3), (1, 2, 5)),
        ("NCW4c", (2, 2, 3, 4), (2, 8, 3), (1, 1, 2, 1)),
    ],
)
def test_axes_in_other_orders(
    layout: str | None, shape: Sequence[int], lengths: Sequence[int], stated: Sequence[int]
) -> None:
    """Coordinates of element (1, 5, 2) along the axes N, C and W, there and back."""
    b = builder()
    order = AxisOrder("NCW", None if layout is None else Layout.parse(layout, "'layout'"))
    assert order.canonical(shape) == lengths
    assert order.stated(b, (1, 5, 2)) == list(stated)
    assert order.named(b, stated) == [1, 5, 2]


@pytest.mark.parametrize(
    ("place", "found"),
    [(Position((2, 3), (), 1, 2), [1, 2]), (Position((2, 3), (1,), 2), [5])],
)
def test_nothing_is_set_in_a_slice(place: Position, found: list[int]) -> None:
    """Where no element is set, the data are read at the same place, and neither bounds nor steps are."""
    b = builder()
    source, target, _ = args(b)
    types = [TensorType(f32, [2, 3]), TensorType(f32, [0, 3]), *[TensorType(i64, [2])] * 3]
    operands = TestOp(result_types=types).results
    op = StridedSetOp(*operands)
    ev = Evaluator(b, RULES, {(operands[0], 0): Buffer(source, row_major((2, 3)), element(f32))})
    ev.get((op.result, 0), place)
    assert offsets(b, source) == found
    assert not target.uses


def test_bounds_of_indices() -> None:
    """What is known of the numbers that a loop counts, in sums and products of them, is not asked when a kernel runs."""
    b = builder()
    _, _, number = args(b)
    assert b.known_within(number, 0, 9) is None
    assert b.known_within(number, 5, 5) is False
    with b.loop(0, 50, 8) as i:
        assert b.bounds(i) == (0, 48)
        assert b.bounds(b.add(b.mul(i, 3), 5)) == (5, 149)
        assert b.within(b.sub(i, 3), -3, 46) is True
        assert b.within(i, 0, 49) is True
        assert b.within(b.add(i, 3), None, 3) is False
        assert isinstance(b.within(i, 0, 48), SSAValue)
        assert b.mod(i, 49) is i
        tile = b.mul(number, 49)
        assert b.mod(b.add(tile, i), 49) is i
        assert b.mod(b.add(i, tile), 49) is i
        assert b.mod(b.add(tile, i), 48) is not i
    with b.loop(number, 50) as i:
        assert b.bounds(i) is None
    before = len(list(b.entry.ops))
    assert b.all_of([True, True]) is True
    assert b.all_of([True, number, False]) is False
    assert b.all_of([True, number]) is number
    assert len(list(b.entry.ops)) == before


@pytest.mark.parametrize(
    ("length", "lanes", "loaded"),
    [(2, 8, [1] * 8), (7, 8, [1] * 8), (8, 8, [8, *[1] * 8]), (9, 4, [4, *[1] * 4])],
)
def test_rows_with_borders(length: int, lanes: int, loaded: list[int]) -> None:
    """Elements come at once where all are those of the data, which may be fewer than a vector; else one by one."""
    b = builder()
    source, border, _ = args(b)
    data, filling = TestOp(result_types=[TensorType(f32, [2, length]), TensorType(f32, [])]).results
    op = PadOp(data, filling, ((0, 0), (3, 3)))
    buffers: dict[Leaf, Buffer] = {
        (data, 0): Buffer(source, row_major((2, length)), element(f32)),
        (filling, 0): Buffer(border, row_major(()), element(f32)),
    }
    ev = Evaluator(b, RULES, buffers)
    value = ev.get((op.result, 0), Position((2, length + 6), (1,), b.add(args(b)[2], 0), lanes))
    assert value.type == VectorType(f32, [lanes])
    found = [
        lanes_of(each.dereferenced_value)
        for op in b.entry.ops
        for each in op.walk()
        if isinstance(each, llvm.LoadOp) and _starts_at(each.ptr, source)
    ]
    assert found == loaded


def _starts_at(pointer: SSAValue, start: SSAValue) -> bool:
    """Whether a pointer is one behind another."""
    while isinstance(pointer.owner, llvm.GEPOp):
        pointer = pointer.owner.ptr
    return pointer is start


def test_numbers_between_others_come_one_by_one() -> None:
    b = builder()
    source, _, number = args(b)
    (data,) = TestOp(result_types=[TensorType(f32, [1, 1, 2, 2])]).results
    op = UpsamplingOp(data, scale_h=2.0, scale_w=2.0, method="bilinear")
    ev = Evaluator(b, RULES, {(data, 0): Buffer(source, row_major((1, 1, 2, 2)), element(f32))})
    value = ev.get((op.result, 0), Position((1, 1, 4, 4), (0, 0, number), 0, 4))
    assert value.type == VectorType(f32, [4])
    loads = [op for op in b.entry.ops if isinstance(op, llvm.LoadOp)]
    assert {lanes_of(load.dereferenced_value) for load in loads} == {1}
    inserted = [op for op in b.entry.ops if isinstance(op, llvm.InsertElementOp)]
    assert len(inserted) == 4


@pytest.mark.parametrize("elements", [16, 192, 250, 256])
def test_weights_that_come_next_are_asked_for_once(elements: int) -> None:
    """However many tiles a block has: each line is in the share of one, and shares are as small as they can be."""
    grid = TileGrid((), 1, 64, Tiling(1, 4, 1), 1, 0, 0, round_elements=elements)
    lines = -(-elements // 16)
    b = KernelBuilder(Block(), AVX2)
    for tiles in range(1, 40):
        share = grid.lines_ahead(b, 16, tiles)
        assert isinstance(share, int)
        assert lines <= share * tiles < lines + tiles


@pytest.mark.parametrize("columns", [1, 4, 16, 32])
def test_tiles_with_any_number_of_columns(columns: int) -> None:
    """They are equal shares of a row, and have all of it and nothing beside it."""
    for width in (*range(1, 70), 1000):
        n = symbol(Scope(), "n", width)
        grid = TileGrid((), 1, n, Tiling(1, columns, 1), 1, 0, 0, narrow=None)
        count = -(-width // columns)
        assert hint(grid.columns_of_tiles) == count
        assert hint(grid.tile_width) == hint(grid.different_columns) == -(-width // count)
        b = KernelBuilder(Block(), AVX2)
        found: set[int] = set()
        for number in range(count):
            first = grid.column(b, number)
            assert isinstance(first, int)
            found |= {hint(first) + hint(column) for column in grid.tile_columns}
        assert found == set(range(width))


@pytest.mark.parametrize(
    ("columns", "narrow"),
    [
        (14, NARROW), (8, NARROW), (14, NARROW_IMAGES), (6, NARROW_IMAGES), (6, Narrow(4, 1)), (6, Narrow(3, 1)),
        (4, Narrow(4, 1)), (4, NARROW), (4, NARROW_IMAGES), (3, NARROW), (2, NARROW), (1, NARROW),
    ],
)  # fmt: skip
def test_narrow_tiles_at_the_end_of_a_row(columns: int, narrow: Narrow) -> None:
    """They read and write what whole tiles leave of a row, and nothing beside it."""
    for width in range(1, 20):
        n = symbol(Scope(), "n", width)
        grid = TileGrid((), 1, n, Tiling(1, columns, 1), 1, 0, 0, narrow=narrow)
        narrower = grid.narrow_grid
        assert (narrower is None) == (columns == 1)
        read: set[int] = set()
        written: set[int] = set()
        for number in range(hint(grid.columns_of_tiles)):
            b = KernelBuilder(Block(), AVX2)
            first = grid.column(b, number)
            assert isinstance(first, int)
            is_narrow = narrower is not None and number >= hint(grid.whole_tiles)
            kind = narrower if narrower is not None and is_narrow else grid
            read |= {hint(first) + hint(column) for column in kind.tile_columns}
            written |= {hint(first) + column for column in range(hint(kind.different_columns))}
        assert read == written == set(range(width))
        if narrower is not None and width >= columns:
            rest = width % columns > narrow.columns(columns)
            assert hint(grid.columns_of_tiles) == -(-width // columns)
            assert hint(grid.whole_tiles) == width // columns + rest
