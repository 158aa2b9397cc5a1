"""
How much code the implementations of operators are: `implementations.txt`, which a change of their code changes.

Each is used in random cases, on vectors of several lengths; then those that take other types than f32, and attention.
`make pages` writes it anew: the difference shows which implementations a change makes longer or shorter, and on which
targets.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from cases import dots
from cases.attention import LAYOUTS, LONG, MASKS, SCALES, Attention
from cases.dots import BYTES, TypedConvolution, TypedProduct, Types
from cases.strategies.case import SOURCES, Case, turn
from cases.strategies.draws import draws, implementations, others
from cases.strategies.windows import Window
from graphs import Graph

from code_records.kernel_sizes import described
from xrelay.collector import collector_paused
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.lowering.emit.target import TARGETS

FILE = Path(__file__).parents[2] / "unit" / "lowering" / "implementations.txt"
SEED = 1
VECTORS = ("x86-64-v3", "x86-64-v4", "x86-64")
"""Targets that differ in their vectors, which the cases of an implementation take in turn."""
TYPES: tuple[tuple[str, Types], ...] = (
    ("x86-64-v3", ("uint8", "int8", "int32")),
    ("x86-64-v4", ("float16", "float16", "float32")),
    ("x86-64-v4-vnni", ("uint8", "int8", "int32")),
    ("x86-64-v4-vnni", ("int8", "uint8", "int32")),
    ("x86-64-v4-bf16", ("bfloat16", "bfloat16", "bfloat16")),
)
"""What targets sum products of, or convert."""
TILES = "x86-64-v4-amx"
TILED: tuple[Types, ...] = (*BYTES[:2], ("bfloat16", "bfloat16", "float32"))
TILED_WINDOWS = (
    # implementation, window, channels, output channels, groups, channels in a block of the image and of the result
    ("blocked-tiles", Window((5, 6), (1, 1)), 32, 33, 1, 16, 16),
    ("blocked-tiles", Window((7, 6), (3, 2), (2, 1), (1, 2), (0, 2, 1, 0)), 16, 80, 1, 16, 16),
    ("blocked-tiles", Window((9, 7), (3, 3), pads=(1, 1, 1, 1)), 128, 64, 1, 64, 64),
    ("gathered-tiles", Window((6, 40), (3, 3), (1, 1), (2, 1), (2, 1, 2, 1)), 32, 32, 2, 16, 16),
    ("gathered-tiles", Window((9, 8), (7, 7), (2, 2), (1, 1), (3, 3, 3, 3)), 3, 40, 1, None, 16),
)
TILED_PRODUCTS = (
    # operator, rows, depth, columns, whether the right operand is constant, and stored by columns
    (DenseOp, 37, 256, 80, True, True),
    (MatmulOp, 16, 131, 48, False, False),
    (BatchMatmulOp, 17, 37, 31, False, True),
)
ATTENTION = (
    Attention(1, 2, 9, 24, 16, 8),
    Attention(2, 3, 130, 33, 64, 64),
    Attention(1, 1, 7, LONG, 64, 17),
    Attention(1, 2, 65, 65, 31, 31),
)


@dataclass(frozen=True)
class Entry:
    """A case of an implementation, and what it is compiled for."""

    what: str
    case: Case
    target: str
    threads: int

    @property
    def name(self) -> str:
        """What it is on record as."""
        return f"{self.what}, {self.target}, {self.threads} threads"

    def text(self) -> str:
        """What is on record of it."""
        g = Graph()
        g.returns(self.case.build(g))
        program = g.program(self.target, self.threads, others(self.case.implementation))
        used = {each.implementation.name for step in program.steps for each in step.choices}
        assert self.case.implementation in used, f"{self.what} is computed by {used}"
        return described(program)


def drawn() -> Iterator[Entry]:
    """Random cases, mostly of f32."""
    for name in implementations():
        for number in range(2 * len(VECTORS)):
            target = turn(number, VECTORS)
            case = next(islice(draws(name, SEED, TARGETS[target].lanes(4)), number, None))
            yield Entry(f"{name}, {number}", case, target, 1 + number % 3)


def typed() -> Iterator[Entry]:
    """Convolutions and products of other types."""
    for target, types in TYPES:
        lanes = TARGETS[target].lanes(4)
        tables = dots.convolutions, dots.depthwise, dots.products
        for number, case in enumerate(chain.from_iterable(table(types, lanes) for table in tables)):
            name = f"{case.implementation} of {' by '.join(types[:2])}, {number}"
            yield Entry(name, case, target, 1 + number % 2)


def tiled() -> Iterator[Entry]:
    """Those in tile registers."""
    for types in TILED:
        layers: list[tuple[str, TypedConvolution | TypedProduct]] = []
        for number, (name, *sizes) in enumerate(TILED_WINDOWS):
            layers.append((name, TypedConvolution(types, *sizes, turn(number, SOURCES))))
        for sizes in TILED_PRODUCTS:
            layers.append(("tile-registers", TypedProduct(types, *sizes)))
        for number, (name, layer) in enumerate(layers):
            case = Case(name, str(layer), 0.0, layer.build)
            yield Entry(
                f"{name} of {' by '.join(types[:2])}, {number}", case, TILES, 1 + number % 2
            )


def attention() -> Iterator[Entry]:
    """Each mask with all else in turn, and the types of operands."""
    shorts = ("", "", "bfloat16", "float16")
    targets = ("x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", TILES)
    for number, mask in enumerate((*MASKS, *MASKS)):
        drawn = replace(
            turn(number, ATTENTION),
            mask=mask,
            scale=turn(number, SCALES),
            layout=turn(number // 2, LAYOUTS),
            short=turn(number // 3, shorts),
        )
        name = f"blocks of rows, {mask}, {number}"
        case = Case("blocks of rows", str(drawn), 0.0, drawn.build)
        yield Entry(name, case, turn(number // 3, targets), 1 + number % 3)


TABLES = (drawn, typed, tiled, attention)


def entries() -> Iterator[Entry]:
    """All of them."""
    for table in TABLES:
        yield from table()


@collector_paused()
def text() -> str:
    """All that is on record."""
    return "".join(f"{each.name}: {each.text()}\n" for each in entries())


if __name__ == "__main__":
    FILE.write_text(text())
