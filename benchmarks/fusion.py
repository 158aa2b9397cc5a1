"""
The time and the memory of fusion, and of reading Relay text, against the size of the graph.

    python -m benchmarks.fusion [--sizes 100,1000,…] [--graphs "chain,long skips"] [--runs N]
                                [--limit SECONDS] [--chart FILE.png|FILE.svg] [--json FILE]

Prints microseconds of processor time per operator, medians of runs in processes of their own: of the pass `fuse-ops`,
of its plan alone, of reading the same graph as Relay text, and of Relax's FuseOps where the package
`apache-tvm` is installed; and bytes per operator: how far resident memory rises during the first run,
where Linux says it. A process that takes longer than the limit, or fails, shows why.
"""

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.fusion_graphs import GRAPHS, Steps
from benchmarks.relax import relax_fusion

SIDE = 8
"""Matrices are SIDE × SIDE."""

Prepared = Callable[[], object]


def xrelay_module(steps: Steps) -> Any:
    """The graph as a module of the relay dialect."""
    from xdsl.dialects import func
    from xdsl.dialects.builtin import ModuleOp, TensorType, f32
    from xdsl.ir import Block, Operation, Region, SSAValue

    from xrelay.dialects.core.values import TupleOp
    from xrelay.dialects.nn.dense import DenseOp
    from xrelay.dialects.nn.norm import LayerNormOp, SoftmaxOp
    from xrelay.dialects.tensor.binary import AddOp
    from xrelay.dialects.tensor.reduce import SumOp
    from xrelay.dialects.tensor.transform import ConcatenateOp
    from xrelay.dialects.tensor.unary import ExpOp, TanhOp

    matrix, vector = TensorType(f32, [SIDE, SIDE]), TensorType(f32, [SIDE])
    block = Block(arg_types=[matrix, matrix, vector])
    data, weight, scale = block.args
    values: list[SSAValue] = [data]

    def concatenate(*parts: SSAValue) -> Operation:
        fields = TupleOp(parts)
        joined = ConcatenateOp(fields)
        block.add_ops([fields, joined])
        # Its first rows would do; a sum gives a row that adds to a matrix of any size.
        return SumOp(joined, axis=[0])

    builders: dict[str, Callable[..., Operation]] = {
        "exp": ExpOp,
        "tanh": TanhOp,
        "add": AddOp,
        "softmax": SoftmaxOp,
        "dense": lambda value: DenseOp(value, weight),
        "product": DenseOp,
        "layer_norm": lambda value: LayerNormOp(value, scale, scale),
        "concatenate": concatenate,
    }
    for name, operands in steps:
        op = builders[name](*(values[number] for number in operands))
        block.add_op(op)
        values.append(op.results[0])
    block.add_op(func.ReturnOp(values[-1]))
    types = [arg.type for arg in block.args]
    return ModuleOp([func.FuncOp("main", (types, [values[-1].type]), Region(block))])


def xrelay_pass(steps: Steps) -> Prepared:
    """`fuse-ops` on the graph."""
    from xdsl.context import Context

    from xrelay.transforms.fuse_ops import FuseOpsPass

    module = xrelay_module(steps)
    return lambda: FuseOpsPass().apply(Context(), module)


def xrelay_plan(steps: Steps) -> Prepared:
    """The decisions of `fuse-ops` alone."""
    from xrelay.analysis.fusion.plan import FusionOptions, fusion_blocks, plan_fusion

    module = xrelay_module(steps)
    return lambda: [plan_fusion(block, FusionOptions()) for block in fusion_blocks(module)]


def relay_text(steps: Steps) -> Prepared:
    """Reading the graph as Relay text."""
    from xrelay.frontends.relay_text import print_relay_text, read_relay_text

    text = print_relay_text(xrelay_module(steps))
    return lambda: read_relay_text(text)


SUBJECTS: dict[str, Callable[[Steps], Prepared]] = {
    "fuse-ops": xrelay_pass,
    "plan": xrelay_plan,
    "read text": relay_text,
    "Relax FuseOps": relax_fusion,
}
"""What is measured: from a graph to the call of which the time counts."""


def resident_bytes(which: str) -> int | None:
    """`VmRSS`, what memory this process has now, or `VmHWM`, the most since the last reset."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{which}:"))


def reset_peak() -> None:
    """Makes the most memory that this process had what it has now (Linux's clear_refs)."""
    if (file := Path("/proc/self/clear_refs")).exists():
        file.write_text("5")


def measure(subject: str, graph: str, size: int, runs: int) -> dict[str, Any]:
    """
    The median of some runs in this process, in seconds, the number of operators, and the bytes of
    memory that the first run takes at most.
    """
    steps, samples, rises = GRAPHS[graph](size), list[float](), list[int | None]()
    for _ in range(runs):
        call = SUBJECTS[subject](steps)
        gc.collect()
        gc.disable()  # As the compiler does: its data live until it is done.
        reset_peak()
        before = resident_bytes("VmRSS")
        start = time.process_time()
        call()
        samples.append(time.process_time() - start)
        peak = resident_bytes("VmHWM")
        rises.append(None if peak is None or before is None else max(peak - before, 0))
        gc.enable()
    return {"seconds": statistics.median(samples), "operators": len(steps), "bytes": rises[0]}


def measured_apart(subject: str, graph: str, size: int, runs: int, limit: float) -> dict[str, Any]:
    """`measure` in a process of its own; with `problem` instead of a time when it fails."""
    request = json.dumps([subject, graph, size, runs])
    command = [sys.executable, "-m", "benchmarks.fusion", "--worker", request]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"problem": f"> {limit:g} s"}
    if done.returncode < 0:
        return {"problem": f"signal {-done.returncode}"}
    if done.returncode:
        return {"problem": (done.stderr.strip().splitlines() or ["failed"])[-1][:80]}
    return json.loads(done.stdout.splitlines()[-1])


def report(results: Sequence[dict[str, Any]]) -> None:
    """Prints two tables for each graph, of time and of memory."""
    from rich.table import Table

    from xrelay.tools.tables import table_console

    console = table_console()
    for graph in dict.fromkeys(each["graph"] for each in results):
        rows = [each for each in results if each["graph"] == graph]
        subjects = list(dict.fromkeys(each["subject"] for each in rows))
        for quantity in QUANTITIES:
            table = Table("operators", *subjects, title=f"{graph}: {quantity.key} per operator")
            for size in dict.fromkeys(each["size"] for each in rows):
                cells = {each["subject"]: each for each in rows if each["size"] == size}
                table.add_row(str(size), *(_cell(cells[name], quantity) for name in subjects))
            console.print(table)


class Quantity(NamedTuple):
    """What is measured of each subject."""

    key: str
    """Its key in the results."""
    unit: str
    """Its unit there."""
    symbol: str
    """The unit of the tables, which show it for each operator."""
    scale: float
    """What brings it into the unit of the tables."""


QUANTITIES = (
    Quantity("seconds", "seconds", "µs", 1e6),
    Quantity("bytes", "bytes", "B", 1.0),
)


def _cell(result: dict[str, Any], quantity: Quantity) -> str:
    if "problem" in result:
        return result["problem"]
    found = result[quantity.key]
    if found is None:
        return "not known"
    return f"{quantity.scale * found / result['operators']:.1f} {quantity.symbol}"


def draw(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Writes a PNG or SVG: time and memory against size, on scales of powers of ten."""
    import_module("matplotlib").rcParams["svg.hashsalt"] = "xrelay"
    graphs = list(dict.fromkeys(each["graph"] for each in results))
    figure: Any = import_module("matplotlib.figure").Figure(
        figsize=(3.2 * len(graphs), 3.4 * len(QUANTITIES)), layout="constrained"
    )
    rows: Any = figure.subplots(len(QUANTITIES), len(graphs), squeeze=False, sharey="row")
    for row, quantity in zip(rows, QUANTITIES, strict=True):
        for axes, graph in zip(row, graphs, strict=True):
            for subject in dict.fromkeys(each["subject"] for each in results):
                points = [
                    (each["operators"], each[quantity.key])
                    for each in results
                    if (each["graph"], each["subject"]) == (graph, subject)
                    and each.get(quantity.key)
                ]
                if points:
                    axes.loglog(*zip(*points, strict=True), marker="o", markersize=3, label=subject)
            axes.set_title(graph, loc="left", fontsize=10)
            axes.set_xlabel("operators")
            axes.grid(alpha=0.3)
        row[0].set_ylabel(quantity.unit)
    rows[0][0].legend(fontsize=7)
    figure.savefig(path)


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion")
    parser.add_argument("--sizes", default="100,1000,10000,100000")
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--runs", type=int, default=3, help="runs in each process (default 3)")
    parser.add_argument("--limit", type=float, default=300, help="seconds for a process")
    parser.add_argument("--chart", type=Path, help="draw time and memory against size (.png, .svg)")
    parser.add_argument("--json", type=Path, help="write the results")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        print(json.dumps(measure(*json.loads(args.worker))))
        return 0
    graphs = args.graphs.split(",")
    if unknown := [name for name in graphs if name not in GRAPHS]:
        parser.error(f"unknown graph '{unknown[0]}', expected some of {', '.join(GRAPHS)}")
    if not all(size.isdigit() for size in args.sizes.split(",")):
        parser.error(f"--sizes is '{args.sizes}', expected numbers")
    subjects = [name for name in SUBJECTS if name != "Relax FuseOps" or find_spec("tvm")]
    results: list[dict[str, Any]] = []
    for graph in graphs:
        for size in map(int, args.sizes.split(",")):
            for subject in subjects:
                found = measured_apart(subject, graph, size, args.runs, args.limit)
                results.append({"graph": graph, "size": size, "subject": subject, **found})
                cells = dict.fromkeys(_cell(results[-1], quantity) for quantity in QUANTITIES)
                print(f"{graph} {size} {subject}: {', '.join(cells)}", file=sys.stderr)
    report(results)
    if args.json is not None:
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    if args.chart is not None:
        draw(results, args.chart)
    return 0


if __name__ == "__main__":
    sys.exit(main())
