"""
Products with weights of 4 and 8 bits and one or a few rows, as models decode: xrelay beside onnxruntime and OpenVINO, and how
near they come to the bandwidth of memory.

    python -m benchmarks.decode [--cases A,B] [--threads 1,2] [--seconds S] [--rounds N]

Prints a line for each case and number of threads: the least milliseconds of each engine, those of the fastest other one
divided by xrelay's, and the weights and scales that xrelay reads in a second, also as the share of what plain loads
read from memory. A case of one product stays in the third-level cache where that is large.

The files of cases whose names end in "data8" allow data of 8 bits (`accuracy_level` 4), which all engines use. Of the others
OpenVINO as it comes rounds the data all the same, and xrelay and onnxruntime do not.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper
from rich.table import Table

from benchmarks.engines import ENGINES, REFERENCE, XRELAY
from benchmarks.machine import Kernels, cache_sizes, memory_bytes
from benchmarks.operators import Found, run_cases
from benchmarks.suite import SEED, BenchmarkModel, Input

DECODERS = (XRELAY, REFERENCE, "openvino-default")
"""The engines, in the order of the table."""
DEEP = 12
"""Products one after the other, more than caches hold."""
WIDTH = 4096
BLOCK = 32


@dataclass(frozen=True)
class Decode(BenchmarkModel):
    """Products of some rows with square matrices in blocks, one after the other."""

    rows: int = 1
    products: int = DEEP
    bits: int = 4
    zero_points: bool = False
    accuracy_level: int = 0

    maker: ClassVar[str] = "onnx"

    @property
    def packed_bytes(self) -> int:
        """What the weights, scales and zero points take."""
        blocks = WIDTH * WIDTH // BLOCK
        each = BLOCK * self.bits / 8 + 4 + (self.bits / 8 if self.zero_points else 0)
        return int(self.products * blocks * each)

    def input_list(self) -> tuple[Input, ...]:
        """The rows."""
        return (Input("x", (self.rows, WIDTH)),)

    def source(self) -> Path:
        """This file."""
        return Path(__file__)

    def write(self, path: Path) -> None:
        """Builds the graph."""
        rng, value = np.random.default_rng(SEED), "x"
        nodes, constants = list[NodeProto](), list[TensorProto]()
        blocks = WIDTH // BLOCK
        for i in range(self.products):
            weight = rng.integers(0, 256, (WIDTH, blocks, BLOCK * self.bits // 8), np.uint8)
            # Sums of so many products stay about as large as what they are of.
            scales = rng.uniform(0.5, 1.5, (WIDTH, blocks)) * 3.3 / 2**self.bits / WIDTH**0.5
            arrays = [weight, scales.astype(np.float32)]
            if self.zero_points:
                arrays.append(rng.integers(0, 256, (WIDTH, blocks * self.bits // 8), np.uint8))
            names = [f"w{i}_{j}" for j in range(len(arrays))]
            constants += map(numpy_helper.from_array, arrays, names)
            sizes: dict[str, Any] = {"K": WIDTH, "N": WIDTH, "bits": self.bits, "block_size": BLOCK}
            if self.accuracy_level:
                sizes["accuracy_level"] = self.accuracy_level
            nodes.append(
                helper.make_node(
                    "MatMulNBits", [value, *names], [f"y{i}"], domain="com.microsoft", **sizes
                )
            )
            value = f"y{i}"
        shape = (self.rows, WIDTH)
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        outputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)]
        graph = helper.make_graph(nodes, self.name, inputs, outputs, constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, ir_version=10, opset_imports=opsets)
        path.write_bytes(model.SerializeToString())


CASES: dict[str, Decode] = {
    case.name: case
    for case in (
        Decode("one_4bit", products=1),
        Decode("deep_4bit"),
        Decode("deep_4bit_zero_points", zero_points=True),
        Decode("deep_8bit", bits=8),
        Decode("deep_4bit_2_rows", rows=2),
        Decode("deep_4bit_4_rows", rows=4),
        Decode("deep_4bit_8_rows", rows=8),
        Decode("deep_4bit_data8", accuracy_level=4),
        Decode("deep_4bit_zero_points_data8", zero_points=True, accuracy_level=4),
        Decode("deep_8bit_data8", bits=8, accuracy_level=4),
        *(
            Decode(f"deep_4bit_{rows}_rows_data8", rows=rows, accuracy_level=4)
            for rows in (2, 4, 8, 64)
        ),
    )
}
"""By name, in the order of the table."""


def memory_bandwidth(threads: int, rounds: int) -> float:
    """GB/s that some threads read together from memory, in the best of some rounds."""
    size, kernels = min(2 * cache_sizes().l3, memory_bytes() // 4), Kernels()
    return max(kernels.bandwidth(threads, size // threads) for _ in range(rounds))


def table_of(
    cases: Sequence[str],
    found: Mapping[int, Mapping[tuple[str, str], float]],
    bandwidths: Mapping[int, float],
) -> Table:
    """A line for each case and number of threads."""
    table = Table("case", "threads", title="least milliseconds")
    measured = {engine for least in found.values() for _, engine in least}
    engines = [engine for engine in DECODERS if engine in measured]
    titles = (ENGINES[engine].title for engine in engines)
    for column in (*titles, "ratio", "GB/s", "of memory"):
        table.add_column(column, justify="right")
    for name in cases:
        for threads, least in found.items():
            ours, *others = (least[name, engine] for engine in engines)
            rate = CASES[name].packed_bytes / ours / 1e6
            share = f"{rate / bandwidths[threads]:.0%}"
            times = (f"{each:.3f}" for each in (ours, *others))
            ratio = f"{min(others) / ours:.2f}" if others else "–"
            table.add_row(name, str(threads), *times, ratio, f"{rate:.1f}", share)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 1 when an engine cannot run a case."""

    def shown(args: argparse.Namespace, found: Found) -> Table:
        bandwidths = {threads: memory_bandwidth(threads, args.rounds) for threads in args.threads}
        return table_of(args.cases, found, bandwidths)

    there = [engine for engine in DECODERS if ENGINES[engine].installed]
    return run_cases("python -m benchmarks.decode", CASES, shown, arguments, there)


if __name__ == "__main__":
    sys.exit(main())
