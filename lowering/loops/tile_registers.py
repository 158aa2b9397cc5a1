"""
Products of matrices in the tile registers of AMX.

    sums [rows x 16 columns] += image [rows x 16 groups] * weights [16 groups x 16 columns]

A register holds a tile of up to 16 rows of 64 bytes. One instruction multiplies two of them, and adds the products to
a third, in which each number has 32 bits: these are 16 steps of a dot product for up to 16 positions and one vector of
output channels. Weights lie in the same panels as for other dot products, and so do images.

    registers    sums of each 16 positions and each vector, 16 positions of the image, weights of each vector

How many rows and bytes of each register count is loaded once for a task. It says exactly how many positions there
are: nothing is read beside what other code reads. Where it is not known how many there are, that is computed, and the
tiles of a row have equal numbers of columns. A depth that is no multiple of 16 groups is filled up with zeros,
in panels and in images. Sums go to memory, where the operators behind the product read them.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, "Programming with Intel AMX".
"""

from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType, i8, i64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open, larger, smaller
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.target import TILE_ROW_BYTES, Target
from xrelay.lowering.loops.dots import BfloatDot, ByteDot, Operands, dot_of
from xrelay.lowering.loops.micro_kernel import DepthLoop, Meanwhile, Prefetch
from xrelay.lowering.loops.tiling import MOST_ALONG, STORE_CYCLES, TILE_CYCLES, Tiling, panel_parts

NO_TILES = "no tile registers for elements of these types"
"""Why an implementation that needs them refuses a site."""
ROWS = 16
"""Of a tile."""
GROUP_BYTES = 4
"""Of the neighbours along the depth that one lane of the sums meets in a step."""
REGISTERS = 8
MOST_IMAGES = 3
"""Registers of the image, each of which needs one with sums, beside one with weights."""
BYTE = element(i8)
CONFIGURATION_BYTES, CONFIGURATION_WIDTHS, CONFIGURATION_ROWS = 64, 16, 48
"""Of what is loaded, and where in it the bytes of a row and the rows of each register begin."""

LEAST_CYCLES = 9
"""Products take a cycle for each row of the image, and not less than this."""
LOAD_CYCLES = 3.5
"""What a load of a tile costs although it runs beside products; this and the next are fitted to times of a Xeon of
the fifth generation."""
LOADED_CYCLES = 18
"""How often a tile is loaded where nothing else is to do."""
CONFIGURE_CYCLES = 200
"""To load and to give back a configuration."""
SUM_CYCLES = 1.5
"""To read a vector of sums again."""


@dataclass(frozen=True)
class TileDot(Operands):
    """The products of two tiles."""

    together: ClassVar[int] = ROWS

    @property
    @abstractmethod
    def instruction(self) -> str:
        """LLVM's name of what multiplies them."""


@dataclass(frozen=True)
class BfloatTileDot(TileDot):
    """Of bf16, summed in f32; subnormal numbers count as zero."""

    group: ClassVar[int] = 2

    @property
    def instruction(self) -> str:
        return "llvm.x86.tdpbf16ps"


@dataclass(frozen=True)
class ByteTileDot(TileDot):
    """Of bytes, each signed or not."""

    group: ClassVar[int] = 4

    @property
    def instruction(self) -> str:
        signs = ("s" if kind.signed else "u" for kind in (self.image, self.weight))
        return f"llvm.x86.tdpb{''.join(signs)}d"


def tile_dot_of(target: Target, image: Element, weight: Element, result: Element) -> TileDot | None:
    """How tiles of two types are multiplied for a result of a third; None where there are none that do."""
    dot = dot_of(target, image, weight, result)
    if isinstance(dot, BfloatDot) and target.bf16_tiles:
        return BfloatTileDot(image, weight, dot.total)
    if isinstance(dot, ByteDot) and target.byte_tiles:
        return ByteTileDot(image, weight, dot.total)
    return None


# -- sizes -----------------------------------------------------------------------------------------


def tile_heights(rows: int, columns: int, width: int) -> list[int]:
    """
    How many positions each register of the image has: neighbours in a row of a tile, which has `width` columns, and
    registers for `columns`. A register has one at least.
    """
    return [smaller(ROWS, larger(1, width - first)) for first in range(0, columns, ROWS)] * rows


def most_vectors_of_tiles(rows: int, columns: int) -> int:
    """How many vectors of sums there are registers for, beside some rows of positions."""
    images = rows * blocks(columns, ROWS)
    return max(0, (REGISTERS - images) // (images + 1))


def tile_cycles(rows: int, columns: int, vectors: int, rounds: int) -> float:
    """To compute so many rows of positions of vectors, with a product of tiles in each of so many rounds."""
    heights = tile_heights(rows, columns, columns)
    loads = len(heights) + vectors
    products = vectors * sum(max(height, LEAST_CYCLES) for height in heights)
    each = max(products + LOAD_CYCLES * loads, LOADED_CYCLES * loads)
    return rounds * each + TILE_CYCLES + (STORE_CYCLES + SUM_CYCLES) * rows * columns * vectors


def joined_rows(rows: int, columns: int, joined: bool) -> tuple[int, int]:
    """The sides of a tile as registers see it: if rows are joined, the next begins where one ends."""
    return (1, rows * columns) if joined else (rows, columns)


def most_rows_of_tiles(columns: int, joined: bool) -> int:
    """How many rows of so many positions there are registers for, beside one vector of sums."""
    return MOST_IMAGES * ROWS // columns if joined else MOST_IMAGES // blocks(columns, ROWS)


@cache
def choose_tiles(
    height: int,
    width: int,
    vectors: int,
    rounds: int,
    joined: bool = False,
    in_block: int = 1,
    is_open: bool = False,
) -> Tiling:
    """
    The cheapest tiling of `height` x `width` positions and vectors of output channels, for so many products of tiles.
    Where blocks have several vectors, `in_block`, a tile has a whole part of one. `is_open` says that it is not known before
    the program runs how many positions there are: tiles have one row, and up to as many columns as their registers. Where
    there is nothing to compute, any tiling serves.
    """
    best = Tiling(1, 1, 1)
    for rows, columns in _open_shapes() if is_open else _shapes(height, width, joined):
        tiles = blocks(height, rows) * blocks(width, columns)
        registers = sides = joined_rows(rows, columns, joined)
        if is_open and width:
            sides = 1, blocks(width, blocks(width, columns))
        for wide in range(1, min(vectors, most_vectors_of_tiles(*registers)) + 1):
            if in_block > 1 and in_block % wide:
                continue
            cycles = tiles * sum(
                panels * tile_cycles(*sides, each, rounds)
                for _, panels, each in panel_parts(vectors, wide)
            )
            if not best.cycles or cycles < best.cycles:
                best = Tiling(rows, columns, wide, cycles)
    return best


def _shapes(height: int, width: int, joined: bool) -> Iterator[tuple[int, int]]:
    for columns in range(1, min(width, MOST_ALONG) + 1):
        for rows in range(1, min(height, most_rows_of_tiles(columns, joined)) + 1):
            yield rows, columns


def _open_shapes() -> Iterator[tuple[int, int]]:
    return ((1, columns) for columns in range(ROWS, MOST_ALONG + 1, ROWS))


def stated_tiles(
    parameters: Parameters,
    usual: Tiling,
    height: int,
    width: int,
    vectors: int,
    names: tuple[str, str, str] = ("", "rows", "vectors"),
    joined: bool = False,
) -> Tiling:
    """
    The tiling that parameters state, `usual` for what they do not, of sizes that there are registers for. A side
    without a name has one position.
    """
    vertical, horizontal, deep = names

    def number(name: str, usual: int, most: int) -> int:
        most = max(most, 1)
        return parameters.number(name, min(usual, most), range(1, most + 1))

    most = min(height, most_rows_of_tiles(1, joined))
    rows = number(vertical, usual.rows, most) if vertical else 1
    most = MOST_IMAGES * ROWS // rows if joined else MOST_IMAGES // rows * ROWS
    columns = number(horizontal, usual.columns, min(width, MOST_ALONG, most))
    sides = joined_rows(rows, columns, joined)
    wide = number(deep, usual.vectors, min(vectors, most_vectors_of_tiles(*sides)))
    chosen = (rows, columns, wide)
    return usual if chosen == (usual.rows, usual.columns, usual.vectors) else Tiling(*chosen)


# -- code ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TileOperands:
    """What is multiplied for the sums of a tile, and where it lies: distances are elements."""

    dot: TileDot
    image: SSAValue
    """The address for the first position and step."""
    weights: SSAValue
    """The address for the first step."""
    loops: Sequence[DepthLoop]
    """Over the depth; each round of the innermost computes as many steps as a tile has."""
    position_steps: tuple[int, int]
    """From one row of positions to the next, and from one column to the next."""
    weight_step: int
    """From one step of the weights to the next."""


@dataclass(frozen=True)
class TileRegisters:
    """The registers of tiles of so many rows of positions and at most so many vectors, for some steps at once."""

    rows: int
    columns: int
    width: int
    """How many columns tiles have: as many as there are registers for, or, where that is not known, fewer."""
    vectors: int
    steps: int = ROWS

    @staticmethod
    def of(tiling: Tiling, width: int, steps: int = ROWS, joined: bool = False) -> "TileRegisters":
        """
        Those of a tiling whose tiles have so many columns. Each register has neighbours in a row, or if rows are joined, in
        a tile.
        """
        sides = joined_rows(tiling.rows, tiling.columns, joined)
        width = width if is_open(width) else sides[1]
        return TileRegisters(*sides, width, tiling.vectors, steps)

    @property
    def heights(self) -> list[int]:
        """How many positions each register of the image has."""
        return tile_heights(self.rows, self.columns, self.width)

    @property
    def firsts(self) -> list[tuple[int, int]]:
        """The row and the column of the first position of each, if there are so many columns."""
        columns = range(0, self.columns, ROWS)
        return [(row, column) for row in range(self.rows) for column in columns]

    def sums(self, i: int, v: int) -> int:
        """The number of the register with sums."""
        return i * self.vectors + v

    def image(self, i: int) -> int:
        """That of one with elements of the image."""
        return len(self.heights) * self.vectors + i

    def weights(self, v: int) -> int:
        """That of one with weights."""
        return len(self.heights) * (self.vectors + 1) + v

    @property
    def register_rows(self) -> list[int]:
        """The rows of each register."""
        rows = [0] * REGISTERS
        for i, height in enumerate(self.heights):
            for number in (self.image(i), *(self.sums(i, v) for v in range(self.vectors))):
                rows[number] = height
        for v in range(self.vectors):
            rows[self.weights(v)] = self.steps
        return rows

    @property
    def configuration(self) -> bytes:
        """What is loaded: the number of the format, and the bytes of a row and the rows of each register, 0 for open ones."""
        lengths = [TILE_ROW_BYTES if rows else 0 for rows in self.register_rows]
        for i in range(len(self.heights)):
            lengths[self.image(i)] = self.steps * GROUP_BYTES
        widths = b"".join(length.to_bytes(2, "little") for length in lengths)
        start = bytes([1]).ljust(CONFIGURATION_WIDTHS, b"\0") + widths
        rows = bytes(0 if is_open(rows) else rows for rows in self.register_rows)
        return (start.ljust(CONFIGURATION_ROWS, b"\0") + rows).ljust(CONFIGURATION_BYTES, b"\0")

    @contextmanager
    def configured(self, ctx: KernelContext) -> Generator[None]:
        """The registers have these sizes meanwhile, and are given back."""
        b = ctx.b
        place = ctx.private_scratch(BYTE, row_major((CONFIGURATION_BYTES,)))
        numbers = [number - 256 * (number > 127) for number in self.configuration]
        type_ = VectorType(i8, [CONFIGURATION_BYTES])
        b.store(
            place.pointer, 0, BYTE, b.attribute(DenseIntOrFPElementsAttr.from_list(type_, numbers))
        )
        # A byte for each register.
        together = sum(rows * 256**number for number, rows in enumerate(self.register_rows))
        if is_open(together):
            where = b.address(place.pointer, CONFIGURATION_ROWS, BYTE.storage)
            b.store(where, 0, element(i64), b.index(together))
        b.command("llvm.x86.ldtilecfg", [place.pointer])
        yield
        b.command("llvm.x86.tilerelease", [])

    def multiply(
        self,
        b: KernelBuilder,
        operands: TileOperands,
        vectors: int,
        sums: SSAValue,
        prefetch: Prefetch | None,
        meanwhile: Meanwhile,
    ) -> None:
        """
        Writes the sums of `vectors` vectors to memory, position by position, after what is done beside each round of
        products.
        """
        dot, loops = operands.dot, operands.loops
        lanes = TILE_ROW_BYTES // dot.total.bytes
        vertical, horizontal = operands.position_steps
        strides = (
            b.index(b.mul(horizontal, dot.image.bytes)),
            b.index(b.mul(operands.weight_step, dot.weight.bytes)),
            b.index(vectors * TILE_ROW_BYTES),
        )

        def register(number: int) -> SSAValue:
            return b.constant(i8, number)

        def load(number: int, pointer: SSAValue, stride: SSAValue) -> None:
            b.command("llvm.x86.tileloadd64", [register(number), pointer, stride])

        def round_at(level: int, number: Index, x: SSAValue, w: SSAValue) -> None:
            if level < len(loops):
                loop = loops[level]
                with b.loop(0, loop.rounds) as i:
                    near = b.address(x, b.mul(i, loop.image_step), dot.image.storage)
                    wide = b.address(w, b.mul(i, loop.weight_step), dot.weight.storage)
                    round_at(level + 1, b.add(b.mul(number, loop.rounds), i), near, wide)
                return
            if prefetch is not None:
                prefetch.emit(b, w)
            for v in range(vectors):
                column = b.address(w, v * lanes * dot.group, dot.weight.storage)
                load(self.weights(v), column, strides[1])
                for i, (row, start) in enumerate(self.firsts):
                    if v == 0:
                        # A register without positions of its own has the last one once more.
                        column = smaller(start, self.width - 1)
                        offset = b.add(b.mul(row, vertical), b.mul(column, horizontal))
                        first = b.address(x, offset, dot.image.storage)
                        load(self.image(i), first, strides[0])
                    numbers = (self.sums(i, v), self.image(i), self.weights(v))
                    b.command(dot.instruction, [register(each) for each in numbers])
            meanwhile(number, prod(loop.rounds for loop in loops))

        used = [(i, v) for i in range(len(self.heights)) for v in range(vectors)]
        for i, v in used:
            b.command("llvm.x86.tilezero", [register(self.sums(i, v))])
        round_at(0, 0, operands.image, operands.weights)
        for i, v in used:
            row, start = self.firsts[i]
            position = row * self.columns + start
            place = b.address(sums, (position * vectors + v) * lanes, dot.total.storage)
            b.command("llvm.x86.tilestored64", [register(self.sums(i, v)), place, strides[2]])
