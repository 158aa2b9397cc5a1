"""
Operators alone, xrelay beside onnxruntime: where networks spend little, and single ones much.

    python -m benchmarks.operators [--cases A,B] [--threads 1,2] [--seconds S] [--rounds N]

Prints a line for each case: the least milliseconds of each engine on each number of threads, and
onnxruntime's divided by xrelay's. Every engine has a process of its own, as threads of others
that still spin would slow it down; the engines take turns, `--rounds` times.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import add_cache_option, names_of, positive, thread_counts
from benchmarks.engines import REFERENCE, XRELAY, Job
from benchmarks.suite import Array, BenchmarkModel, Input
from benchmarks.worker import WorkerFailed, Workers

OPSET = 18
"""The first ONNX operator set in which Resize keeps to the axes that it is given."""


def _random(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@dataclass(frozen=True)
class Node:
    """An ONNX operator on the results of the one before, and on constants."""

    operator: str
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constants: tuple[Array | None, ...] = ()
    """The operands after the first; None is left out."""
    outputs: int = 1


@dataclass(frozen=True)
class Chain(BenchmarkModel):
    """One operator, or a few that follow each other."""

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]

    maker: ClassVar[str] = "onnx"

    def input_list(self) -> tuple[Input, ...]:
        """Those that were given."""
        return self.inputs

    def source(self) -> Path:
        """This file."""
        return Path(__file__)

    def write(self, path: Path) -> None:
        """Builds the graph; each node reads the inputs, or the node before."""
        inputs = [
            helper.make_tensor_value_info(
                each.name, TensorProto.INT64 if each.integers else TensorProto.FLOAT, each.shape
            )
            for each in self.inputs
        ]
        names = [each.name for each in self.inputs]
        constants, nodes = list[TensorProto](), list[NodeProto]()
        for i, node in enumerate(self.nodes):
            operands = list(names)
            for j, value in enumerate(node.constants):
                operands.append("" if value is None else f"c{i}_{j}")
                if value is not None:
                    constants.append(numpy_helper.from_array(value, operands[-1]))
            if node.operator == "Gather" and node.constants:
                operands.reverse()  # The table is the constant.
            names = [f"y{i}_{j}" for j in range(node.outputs)]
            nodes.append(helper.make_node(node.operator, operands, names, **node.attributes))
        outputs = [helper.make_empty_tensor_value_info(name) for name in names]
        graph = helper.make_graph(nodes, self.name, inputs, outputs, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        path.write_bytes(model.SerializeToString())


def _topk(name: str, shape: tuple[int, ...], k: int) -> Chain:
    node = Node("TopK", {"axis": -1}, (np.array([k], np.int64),), outputs=2)
    return Chain(name, (Input("x", shape),), (node,))


def _resize(name: str, shape: tuple[int, ...], height: int, width: int, coordinates: str) -> Chain:
    sizes = np.array([*shape[:2], height, width], np.int64)
    attributes = {"mode": "linear", "coordinate_transformation_mode": coordinates}
    node = Node("Resize", attributes, (None, None, sizes))
    return Chain(name, (Input("x", shape),), (node,))


def _max_pool(name: str, shape: tuple[int, ...], window: int, pad: int) -> Chain:
    attributes = {"kernel_shape": [window] * 2, "strides": [2, 2], "pads": [pad] * 4}
    return Chain(name, (Input("x", shape),), (Node("MaxPool", attributes),))


def _softmax(name: str, shape: tuple[int, ...]) -> Chain:
    return Chain(name, (Input("x", shape),), (Node("Softmax", {"axis": -1}),))


def _gather(name: str, table: tuple[int, int], count: int, axis: int) -> Chain:
    indices = Input("indices", (count,), (0, table[axis]))
    node = Node("Gather", {"axis": axis}, (_random(1, *table),))
    return Chain(name, (indices,), (node,))


def _mlp(name: str, rows: int, *widths: int) -> Chain:
    nodes: list[Node] = []
    for i, (before, after) in enumerate(pairwise(widths)):
        weight = _random(i, before, after) / np.float32(before**0.5)
        nodes += [Node("Gemm", {}, (weight, _random(i + 100, after))), Node("Relu")]
    return Chain(name, (Input("x", (rows, widths[0])),), tuple(nodes[:-1]))


def _of_cube(name: str, operator: str, *constants: Array, **attributes: Any) -> Chain:
    """An operator on 64×128×128 elements."""
    return Chain(name, (Input("x", (64, 128, 128)),), (Node(operator, attributes, constants),))


def _pad(name: str, mode: str) -> Chain:
    node = Node("Pad", {"mode": mode}, (np.array([0, 0, 3, 3, 0, 0, 3, 3]),))
    return Chain(name, (Input("x", (1, 3, 224, 224)),), (node,))


def _boxes(name: str, count: int, classes: int, most: int) -> Chain:
    limits = np.array([most]), np.array([0.5], np.float32), np.array([0.1], np.float32)
    inputs = Input("boxes", (1, count, 4)), Input("scores", (1, classes, count))
    return Chain(name, inputs, (Node("NonMaxSuppression", {}, limits),))


def _regions(name: str, count: int, ratio: int) -> Chain:
    inputs = (
        Input("x", (1, 256, 50, 50)),
        Input("rois", (count, 4)),
        Input("images", (count,), (0, 1)),
    )
    attributes = {"output_height": 7, "output_width": 7, "sampling_ratio": ratio}
    return Chain(name, inputs, (Node("RoiAlign", {**attributes, "spatial_scale": 10.0}),))


def _einsum(name: str, equation: str, *shapes: tuple[int, ...]) -> Chain:
    inputs = tuple(Input(f"x{i}", shape) for i, shape in enumerate(shapes))
    return Chain(name, inputs, (Node("Einsum", {"equation": equation}),))


def _tile(name: str, shape: tuple[int, int], *repeats: int) -> Chain:
    return Chain(name, (Input("x", shape),), (Node("Tile", {}, (np.array(repeats),)),))


def _non_zero(name: str, *shape: int) -> Chain:
    """Of a tensor of which half is 0."""
    return Chain(name, (Input("x", shape),), (Node("Relu"), Node("NonZero")))


def _new_rows(name: str, table: tuple[int, int], count: int) -> Chain:
    """Updates of rows of a table."""
    inputs = (
        Input("x", table),
        Input("indices", (count, 1), (0, table[0])),
        Input("updates", (count, table[1])),
    )
    return Chain(name, inputs, (Node("ScatterND"),))


def _reversed_sequences(name: str, *shape: int) -> Chain:
    inputs = Input("x", shape), Input("lengths", shape[1:2], (1, shape[0]))
    return Chain(name, inputs, (Node("ReverseSequence"),))


HALF, CORNERS = "half_pixel", "align_corners"

CASES: dict[str, Chain] = {
    case.name: case
    for case in (
        _topk("topk_1000_5", (1, 1000), 5),
        _topk("topk_64x50257_50", (64, 50257), 50),
        _topk("topk_8400_300", (1, 8400), 300),
        _resize("resize_32_64", (1, 256, 32, 32), 64, 64, HALF),
        _resize("resize_32_64_corners", (1, 256, 32, 32), 64, 64, CORNERS),
        _resize("resize_224_448", (1, 3, 224, 224), 448, 448, HALF),
        _resize("resize_224_448_corners", (1, 3, 224, 224), 448, 448, CORNERS),
        _max_pool("max_pool_3x3", (1, 64, 112, 112), 3, 1),
        _max_pool("max_pool_2x2", (1, 64, 112, 112), 2, 0),
        _softmax("softmax_1536x128", (1536, 128)),
        _softmax("softmax_12x512x512", (12, 512, 512)),
        _softmax("softmax_64x1000", (64, 1000)),
        _softmax("softmax_1x50257", (1, 50257)),
        _gather("gather_rows", (30522, 768), 128, 0),
        _gather("gather_columns", (768, 3072), 128, 1),
        _mlp("mlp_b1", 1, 784, 1024, 1024, 10),
        _of_cube("argmax_rows", "ArgMax", axis=-1),
        _of_cube("argmax_columns", "ArgMax", axis=0),
        _of_cube("hardmax", "Hardmax", axis=-1),
        _of_cube("cumsum_columns", "CumSum", np.array(0)),
        _of_cube("trilu", "Trilu", upper=0),
        _of_cube("cast_int64", "Cast", to=TensorProto.INT64),
        _of_cube("reverse", "Slice", *map(np.array, ([-1], [-1000], [2], [-1]))),
        _tile("tile", (64, 100), 8, 8),
        _non_zero("non_zero", 8, 128, 128),
        _new_rows("scatter_nd", (1000, 64), 500),
        _reversed_sequences("reverse_sequence", 64, 32, 128),
        _pad("pad_reflect", "reflect"),
        _pad("pad_edge", "edge"),
        _einsum("einsum_scores", "bihd,bjhd->bhij", (1, 128, 12, 64), (1, 128, 12, 64)),
        _einsum("einsum_chain", "ij,jk,kl->il", (64, 64), (64, 64), (64, 64)),
        _boxes("nms_500x10", 500, 10, 50),
        _boxes("nms_8400", 8400, 1, 300),
        _regions("roi_align_100", 100, 2),
    )
}
"""By name, in the order of the table."""


def measure_cases(
    cases: Mapping[str, BenchmarkModel],
    engines: Sequence[str],
    args: argparse.Namespace,
    threads: int,
) -> dict[tuple[str, str], float]:
    """
    The least milliseconds by case and engine, of those cases that were asked for.

    Raises WorkerFailed for an engine that cannot run a case.
    """
    least: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory(prefix="xrelay-bench-") as folder:
        os.environ["XRELAY_CACHE_DIR"] = str(Path(folder, "compiled"))
        workers = Workers(Path(folder))
        for name in args.cases:
            case = cases[name]
            path, values = case.onnx_file(args.cache, lambda _: None), case.input_values()
            job = Job(name, path, threads, values)
            for _ in range(args.rounds):
                for engine in engines:
                    timing = workers.race([engine], job, args.seconds, None)[engine].timing
                    assert timing is not None
                    known = least.get((name, engine), timing.minimum)
                    least[name, engine] = min(known, timing.minimum)
    return least


def table_of(cases: Sequence[str], found: Mapping[int, Mapping[tuple[str, str], float]]) -> Table:
    """A line for each case, with columns for each number of threads."""
    table = Table("operator", title="least milliseconds")
    for threads in found:
        for column in (XRELAY, REFERENCE, "ratio"):
            table.add_column(f"{column}, {threads}", justify="right")
    for name in cases:
        cells = [name]
        for least in found.values():
            ours, theirs = least[name, XRELAY], least[name, REFERENCE]
            cells += [f"{ours:.4f}", f"{theirs:.4f}", f"{theirs / ours:.2f}"]
        table.add_row(*cells)
    return table


Found = Mapping[int, Mapping[tuple[str, str], float]]
"""By the number of threads: the least milliseconds by case and engine."""


def run_cases(
    command: str,
    cases: Mapping[str, BenchmarkModel],
    shown: Callable[[argparse.Namespace, Found], Table],
    arguments: Sequence[str] | None,
    engines: Sequence[str] = (XRELAY, REFERENCE),
) -> int:
    """A command that measures some cases on some engines and shows a table. Returns 1 when an engine cannot run a case."""
    parser = argparse.ArgumentParser(command)
    parser.add_argument("--cases", type=names_of(cases), default=list(cases), help="default all")
    parser.add_argument("--threads", type=thread_counts, default=(1, 2), help="default 1,2")
    parser.add_argument("--seconds", type=positive, default=1, help="of each turn, default 1")
    parser.add_argument("--rounds", type=positive, default=3, help="turns, default 3")
    add_cache_option(parser)
    args = parser.parse_args(arguments)
    try:
        found = {threads: measure_cases(cases, engines, args, threads) for threads in args.threads}
    except WorkerFailed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    console = Console() if sys.stdout.isatty() else Console(width=120)
    console.print(shown(args, found))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 1 when an engine cannot run a case."""
    return run_cases(
        "python -m benchmarks.operators",
        CASES,
        lambda args, found: table_of(args.cases, found),
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
