"""
What computes layers of well-known networks, for each target: `choices.txt`, which a change of estimates changes.

`make pages` writes it anew: the difference shows what else a change decides.
"""

from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path
from typing import TypeAlias

from cases.dots import TypedConvolution, TypedProduct, Types
from cases.strategies.windows import Window
from graphs import Graph
from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import run_passes
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp, MatrixProductOp
from xrelay.lowering.emit.target import TARGETS
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.selection import Choice, select_strategies
from xrelay.transforms.fuse_ops import FuseOpsPass

FILE = Path(__file__).parents[2] / "unit" / "lowering" / "choices.txt"
THREADS = (1, 4)
TARGETS_SHOWN = (
    "x86-64",
    "x86-64-v3",
    "x86-64-v4",
    "x86-64-v4-vnni",
    "x86-64-v4-bf16",
    "x86-64-v4-amx",
)
"""Targets that differ in vectors or in dot products."""

FLOATS: Types = ("float32", "float32", "float32")
BFLOATS: Types = ("bfloat16", "bfloat16", "float32")
BYTES: Types = ("uint8", "int8", "int32")

SAME = (1, 1, 1, 1)
WINDOWS = (
    # name, window, input and output channels, groups, whether the image is in blocks
    ("first", Window((112, 112), (7, 7), (2, 2), pads=(3, 3, 3, 3)), 3, 64, 1, False),
    ("3x3", Window((56, 56), (3, 3), pads=SAME), 64, 64, 1, True),
    ("3x3 small", Window((7, 7), (3, 3), pads=SAME), 256, 256, 1, True),
    ("3x3 strided", Window((28, 28), (3, 3), (2, 2), pads=SAME), 128, 128, 1, True),
    ("3x3 dilated", Window((28, 28), (3, 3), (1, 1), (2, 2), (2, 2, 2, 2)), 64, 96, 1, True),
    ("1x1", Window((56, 56), (1, 1)), 64, 256, 1, True),
    ("1x1 deep", Window((7, 7), (1, 1)), 1024, 128, 1, True),
    ("1x1 strided", Window((28, 28), (1, 1), (2, 2)), 256, 512, 1, True),
    ("grouped", Window((14, 14), (3, 3), pads=SAME), 128, 128, 4, True),
    ("depthwise", Window((56, 56), (3, 3), pads=SAME), 96, 96, 96, True),
    ("depthwise strided", Window((28, 28), (5, 5), (2, 2), pads=(2, 2, 2, 2)), 240, 240, 240, True),
)
PRODUCTS = (
    # operator, rows, depth, columns, whether the right operand is constant
    (DenseOp, 1, 768, 512, True),
    (DenseOp, 4, 256, 1000, True),
    (DenseOp, 128, 768, 512, True),
    (MatmulOp, 37, 100, 300, True),
    (MatmulOp, 1, 640, 770, False),
    (BatchMatmulOp, 128, 64, 128, False),
    (BatchMatmulOp, 1, 64, 40, False),
)

Layer: TypeAlias = TypedConvolution | TypedProduct


def layers(types: Types, lanes: int) -> Iterator[tuple[str, Layer]]:
    """All of some types, with images in blocks of so many channels."""
    for name, window, channels, out, groups, in_blocks in WINDOWS:
        blocks = lanes if in_blocks else None
        yield (
            f"{name}, {'x'.join(map(str, window.size))}, {channels} to {out} channels",
            TypedConvolution(types, window, channels, out, groups, blocks, lanes, "parameter"),
        )
    for op, rows, depth, columns, constant in PRODUCTS:
        yield (
            f"{op.name.removeprefix('relay.nn.')}, {rows}x{depth}x{columns}",
            TypedProduct(types, op, rows, depth, columns, constant, op is not MatmulOp),
        )


def chosen(module: ModuleOp, target: str, threads: int) -> str:
    """What computes the layer that a module is."""
    main = entry_function(module.clone())
    selected = select_strategies(main, KernelOptions.of(target, threads)).values()
    kinds = Conv2DOp | DenseOp | MatrixProductOp
    (choice,) = (each for each in chain.from_iterable(selected) if isinstance(each.op, kinds))
    return shown(choice)


def shown(choice: Choice) -> str:
    """An implementation with its parameters, and the estimates of all that can be used, in microseconds."""
    numbers = ", ".join(f"{name} = {number}" for name, number in choice.numbers.items())
    costs = [
        f"{each.implementation.name} {1e6 * each.cost:.3g}"
        for each in choice.selection.candidates
        if each.cost is not None
    ]
    return f"{choice.implementation.name}({numbers}), of {', '.join(costs) or 'no estimates'}"


def text() -> str:
    """All layers, each on all targets, by one thread and by several."""
    found: dict[str, list[str]] = {}
    for target, types in product(TARGETS_SHOWN, (FLOATS, BFLOATS, BYTES)):
        for name, layer in layers(types, TARGETS[target].lanes(4)):
            g = Graph()
            g.returns(layer.build(g))
            module = g.module()
            run_passes(module, [FuseOpsPass()])
            lines = found.setdefault(f"{name}, {types[0]} by {types[1]}", [])
            first, *others = (chosen(module, target, threads) for threads in THREADS)
            lines.append(f"  {target}: {first}")
            lines.extend(
                f"  {target}, {threads} threads: {other}"
                for threads, other in zip(THREADS[1:], others, strict=True)
                if other != first
            )
    return "".join("\n".join([title, *lines, ""]) for title, lines in found.items())


if __name__ == "__main__":
    FILE.write_text(text())
