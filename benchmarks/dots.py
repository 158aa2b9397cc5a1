"""
How fast matrix products and convolutions of each type are, on one thread.

    python -m benchmarks.dots [--target NAME] [--types TYPE …] [--only TEXT] [--seconds S]

For each product, the least CPU time of many runs, and operations per second: a product and a sum count as two.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

import xrelay
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp
from xrelay.dialects.tensor.layout import blocked_image
from xrelay.dialects.tensor.unary import CastOp
from xrelay.interpreters.arrays import Array, element_type_of, type_of
from xrelay.interpreters.constants import constant_op
from xrelay.lowering.emit.target import named_target

TYPES: dict[str, tuple[str, str, str]] = {
    "f32": ("float32", "float32", "float32"),
    "f16": ("float16", "float16", "float16"),
    "bf16": ("bfloat16", "bfloat16", "bfloat16"),
    "u8s8": ("uint8", "int8", "int32"),
    "s8s8": ("int8", "int8", "int32"),
    "s16": ("int16", "int16", "int32"),
}
"""Of image, weights and result."""

PRODUCTS = ((128, 768, 768), (128, 768, 3072), (128, 3072, 768), (512, 1024, 1024), (1, 1024, 4096))
"""Rows, depth and columns."""
BATCHED = ((12, 128, 64, 128, True), (12, 128, 128, 64, False))
"""Members, rows, depth and columns of products of two inputs, and whether the right one is transposed."""
CONVOLUTIONS = (
    # channels, output channels, size, taps, stride
    (64, 64, 56, 1, 1),
    (64, 64, 56, 3, 1),
    (256, 64, 56, 1, 1),
    (128, 128, 28, 3, 1),
    (512, 128, 28, 1, 1),
    (256, 256, 14, 3, 1),
    (1024, 256, 14, 1, 1),
    (256, 512, 14, 1, 2),
    (512, 512, 7, 3, 1),
    (512, 2048, 7, 1, 1),
    (3, 64, 224, 7, 2),
)


DEPTHWISE = (
    (32, 112, 3, 1),
    (96, 112, 3, 2),
    (144, 56, 3, 1),
    (192, 28, 3, 1),
    (384, 14, 3, 1),
    (960, 7, 3, 1),
)
"""Channels, size, taps and stride."""


@dataclass(frozen=True)
class Work:
    """One operator on inputs, and how much arithmetic it is."""

    label: str
    operations: float
    inputs: list[Array]
    build: Callable[..., list[Operation]]
    """The operations that compute it; the last one's result is its own."""


def numbers(dtype: str, *shape: int) -> Array:
    """Small integers, as any type."""
    if dtype == "bfloat16":
        import ml_dtypes

        return numbers("float32", *shape).astype(ml_dtypes.bfloat16)
    low = 0 if dtype == "uint8" else -3
    return np.random.default_rng(0).integers(low, 4, shape).astype(dtype)


def works(types: tuple[str, str, str], lanes: int) -> Iterator[Work]:
    """The products of one combination of types; images are in blocks of `lanes` channels, and of their own type."""
    x, w, result = types
    out_dtype = element_type_of(numbers(result, 1).dtype)
    for rows, depth, columns in PRODUCTS:
        weight = numbers(w, columns, depth)

        def dense(data: SSAValue, weight: Array = weight) -> list[Operation]:
            constant = constant_op(weight)
            return [constant, DenseOp(data, constant, out_dtype=out_dtype)]

        label = f"dense {rows} x {depth} x {columns}"
        yield Work(label, 2.0 * rows * depth * columns, [numbers(x, rows, depth)], dense)
    for batch, rows, depth, columns, transposed in BATCHED:
        shape = (batch, columns, depth) if transposed else (batch, depth, columns)
        right = numbers(w, *shape)

        def matmul(
            data: SSAValue, other: SSAValue, transposed: bool = transposed
        ) -> list[Operation]:
            return [BatchMatmulOp(data, other, transpose_b=transposed, out_dtype=out_dtype)]

        label = f"batch {batch} x {rows} x {depth} x {columns}"
        operations = 2.0 * batch * rows * depth * columns
        yield Work(label, operations, [numbers(x, batch, rows, depth), right], matmul)
    single = [(channels, channels, *others) for channels, *others in DEPTHWISE]
    for number, (channels, outputs, size, taps, stride) in enumerate((*CONVOLUTIONS, *single)):
        groups = 1 if number < len(CONVOLUTIONS) else channels
        weight = numbers(w, outputs, channels // groups, taps, taps)

        def conv(
            data: SSAValue,
            weight: Array = weight,
            taps: int = taps,
            stride: int = stride,
            groups: int = groups,
            layout: str = "NCHW" if channels < lanes else blocked_image(lanes),
        ) -> list[Operation]:
            constant = constant_op(weight)
            options: dict[str, Any] = {
                "strides": (stride, stride),
                "padding": (taps // 2, taps // 2),
            }
            options |= {"data_layout": layout, "out_layout": blocked_image(lanes)}
            options["groups"] = groups
            op = Conv2DOp(data, constant, out_dtype=out_dtype, **options)
            return [constant, op, CastOp(op, element_type_of(numbers(x, 1).dtype))]

        kind = "conv" if groups == 1 else "depthwise"
        label = f"{kind} {channels} -> {outputs}, {size} x {size}, {taps} x {taps} / {stride}"
        places = (-(-size // stride)) ** 2
        operations = 2.0 * channels // groups * outputs * taps * taps * places
        shape = (1, channels, size, size)
        if channels >= lanes:
            shape = (1, channels // lanes, size, size, lanes)
        yield Work(label, operations, [numbers(x, *shape)], conv)


def module_of(work: Work) -> ModuleOp:
    """A program of one operator."""
    types = list(map(type_of, work.inputs))
    block = Block(arg_types=types)
    block.add_ops(ops := work.build(*block.args))
    result = ops[-1].results[0]
    block.add_op(func.ReturnOp(result))
    function = FunctionType.from_lists(types, [result.type])
    return ModuleOp([func.FuncOp("main", function, Region(block))])


LEAST_SAMPLE = 0.002
"""Seconds of a sample: a clock of CPU time may go in steps that are longer than a run."""


def least_seconds(run: Callable[[], object], seconds: float) -> float:
    """The least CPU time of a run, of as many as fit into some seconds."""
    run()
    start = time.perf_counter()
    run()
    count = max(1, round(LEAST_SAMPLE / (time.perf_counter() - start)))
    best, end = float("inf"), time.process_time() + seconds
    while time.process_time() < end:
        start = time.thread_time()
        for _ in range(count):
            run()
        best = min(best, (time.thread_time() - start) / count)
    return best


def main() -> None:
    """Prints a line for each product."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", default="native")
    parser.add_argument("--only", default="", metavar="TEXT", help="products whose label has this")
    parser.add_argument("--types", nargs="+", default=list(TYPES), choices=TYPES)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each product")
    options = parser.parse_args()
    for name in options.types:
        for work in works(TYPES[name], named_target(options.target).lanes(4)):
            if options.only not in work.label:
                continue
            model = xrelay.compile(module_of(work), target=options.target, cache=False)
            names = [each.name for each in model.signature.inputs]
            inputs = dict(zip(names, work.inputs, strict=True))
            seconds = least_seconds(lambda: model.run(inputs), options.seconds)  # noqa: B023
            rate = work.operations / seconds / 1e9
            print(f"{name:5} {work.label:42} {seconds * 1e3:8.3f} ms {rate:7.0f} Gop/s", flush=True)


if __name__ == "__main__":
    main()
