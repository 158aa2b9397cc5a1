"""
Networks with open dimensions at lengths that change from call to call: one xrelay.DynamicModel for all of them, beside
programs compiled for each length alone, and beside other engines on the same file, which they load once as well.

    python -m benchmarks.lengths [--cases A,B] [--threads 1,2] [--engines A,B] [--seconds S] [--markdown FILE] [--rows FILE]

Prints a line for each case, number of threads and length: the least milliseconds of each, the time of the dynamic model as a
part of the static program's, and that of the fastest other engine divided by the dynamic model's; and for each case in
how many programs and seconds the lengths were compiled, and how long the program of one length alone took.

Engines take turns. In its turn an engine runs all lengths, one after the other, so that each meets what the one before left
in caches and in memory.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import xrelay
from benchmarks.__main__ import add_cache_option, names_of, positive, thread_counts
from benchmarks.engines import (
    ENGINES,
    FLOAT32,
    REFERENCE,
    TOLERANCE,
    XRELAY,
    Array,
    Runner,
    onnxruntime_runner,
    openvino_runner,
)
from benchmarks.kept import ROWS_HELP, KeptRows, WrongRows
from benchmarks.machine import MachineDescription, cpu_name, describe_machine
from benchmarks.measure import difference
from benchmarks.report import machine_lines
from benchmarks.suite import NETWORKS, Axes, Input, Network, export
from xrelay.placement.costs.timing import settle
from xrelay.runtime.dynamic import DynamicModel

STATIC = "static"
"""A program for one combination of lengths alone."""
Lengths = Mapping[str, int]


@dataclass(frozen=True)
class OpenNetwork(Network):
    """A network that is exported with open dimensions."""

    axes: Axes = field(default_factory=dict[str, Mapping[int, str]])
    calls: tuple[Lengths, ...] = ()
    """The lengths that it runs at."""

    def write(self, path: Path) -> None:
        """Exports the module."""
        export(self.build(), self.inputs, self.outputs, path, self.axes)

    def values_at(self, lengths: Lengths) -> dict[str, Array]:
        """Values for all inputs at some lengths."""
        values: dict[str, Array] = {}
        for each in self.inputs:
            shape = list(each.shape)
            for axis, name in self.axes.get(each.name, {}).items():
                shape[axis] = lengths[name]
            values[each.name] = Input(each.name, tuple(shape), each.integers).values()
        return values


def _opened(name: str, of: str, axes: Mapping[int, str], calls: Sequence[Lengths]) -> OpenNetwork:
    (network,) = (each for each in NETWORKS if each.name == of)
    return OpenNetwork(
        name,
        network.module,
        network.builder,
        network.inputs,
        network.outputs,
        {each.name: axes for each in network.inputs},
        tuple(calls),
    )


def _decoder(layers: int = 12) -> OpenNetwork:
    heads, width = 12, 64
    past = [
        Input(f"past_{i}_{kind}", (1, heads, 16, width)) for i in range(layers) for kind in KINDS
    ]
    present = [f"present_{i}_{kind}" for i in range(layers) for kind in KINDS]
    return OpenNetwork(
        "gpt2_decode",
        "transformers",
        "gpt2_decoder",
        (Input("input_ids", (1, 1), (0, 50257)), *past),
        ("logits", *present),
        {each.name: {2: "past"} for each in past},
        tuple({"past": n} for n in (0, 15, 63, 127, 255)),
    )


KINDS = ("key", "value")
"""What decoders keep of the past in each layer."""
IMAGES = {2: "height", 3: "width"}
_SIZES = [
    {"height": height, "width": width}
    for height, width in ((224, 224), (160, 160), (192, 256), (256, 256), (320, 240))
]
CASES: dict[str, OpenNetwork] = {
    case.name: case
    for case in (
        _opened(
            "bert_sequences",
            "bert_base",
            {1: "sequence"},
            [{"sequence": n} for n in (1, 32, 100, 256, 512)],
        ),
        _opened(
            "gpt2_sequences",
            "gpt2_small",
            {1: "sequence"},
            [{"sequence": n} for n in (8, 32, 64, 100, 256)],
        ),
        _decoder(),
        _opened(
            "resnet50_batches", "resnet50", {0: "batch"}, [{"batch": n} for n in (1, 2, 3, 5, 8)]
        ),
        _opened("resnet50_images", "resnet50", IMAGES, _SIZES),
        _opened("mobilenetv2_images", "mobilenetv2", IMAGES, _SIZES),
        _opened(
            "mlp_batches", "mlp_b64", {0: "batch"}, [{"batch": n} for n in (2, 7, 16, 64, 100)]
        ),
    )
}
"""By name, in the order of the table."""


def _openvino(path: Path, threads: int) -> Runner:
    return openvino_runner(path, threads, {"INFERENCE_PRECISION_HINT": FLOAT32})[0]


RIVALS: Mapping[str, Callable[[Path, int], Runner]] = {
    REFERENCE: onnxruntime_runner,
    "openvino": _openvino,
}
"""What loads a file with open dimensions in other engines, by their names; both compute in float32."""


@dataclass(frozen=True)
class Call:
    """The least milliseconds at some lengths, by engine."""

    lengths: Lengths
    least: Mapping[str, float]

    @property
    def as_static(self) -> float:
        """The dynamic model's time, as a part of the static program's."""
        return self.least[XRELAY] / self.least[STATIC]

    @property
    def faster(self) -> float:
        """How many times as fast as the fastest other engine the dynamic model is."""
        return min(self.least[each] for each in RIVALS if each in self.least) / self.least[XRELAY]


@dataclass(frozen=True)
class Result:
    """A case on a number of threads."""

    name: str
    threads: int
    programs: int
    compiled: float
    """Seconds for the program of some lengths, which serves others: the geometric mean over the calls."""
    compiled_alone: float
    """Seconds for a program of some lengths alone: the geometric mean over the calls."""
    calls: tuple[Call, ...]


class WrongResult(Exception):
    """A result is too far from onnxruntime's."""


def measure_case(
    case: OpenNetwork, path: Path, threads: int, seconds: float, rivals: Sequence[str]
) -> Result:
    """
    Compiles and times a case; each length for so many seconds.

    Raises WrongResult for results that are too far from onnxruntime's.
    """
    values = [case.values_at(lengths) for lengths in case.calls]
    _alone(path, threads, values[0])  # What is imported once is not part of the times.
    many: list[tuple[Any, float]] = []
    static: list[tuple[Any, float]] = []
    for each in values:
        many.append(_timed(partial(_compiled, path, threads, each)))
        static.append(_timed(partial(_alone, path, threads, each)))
    model = many[0][0]
    assert isinstance(model, DynamicModel)
    alone = [program for program, _ in static]
    others = {name: RIVALS[name](path, threads) for name in rivals}
    runs: dict[str, list[Callable[[], Any]]] = {
        XRELAY: [partial(model.run, each) for each in values],
        STATIC: [partial(a.run, each) for a, each in zip(alone, values, strict=True)],
        **{name: [partial(run, each) for each in values] for name, run in others.items()},
    }
    _check(case, runs)
    least = least_of_turns(runs, seconds * len(values))
    calls = [
        Call(lengths, {name: times[i] for name, times in least.items()})
        for i, lengths in enumerate(case.calls)
    ]
    programs = len(
        {each.conditions or tuple(each.shapes.items()) for each in model.specialisations}
    )
    compiled, compiled_alone = (mean([seconds for _, seconds in each]) for each in (many, static))
    return Result(case.name, threads, programs, compiled, compiled_alone, tuple(calls))


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def _compiled(path: Path, threads: int, values: Mapping[str, Array]) -> object:
    model = xrelay.compile(path, threads=threads, cache=False)
    model.run(values)
    return model


def _alone(path: Path, threads: int, values: Mapping[str, Array]) -> Any:
    shapes = {name: array.shape for name, array in values.items()}
    model = xrelay.compile(path, threads=threads, cache=False, shapes=shapes)
    model.run(values)
    return model


def _check(case: OpenNetwork, runs: Mapping[str, Sequence[Callable[[], Any]]]) -> None:
    """Compares all results with onnxruntime's, where that is among the engines."""
    if REFERENCE not in runs:
        return
    for i, lengths in enumerate(case.calls):
        # Results may be the engine's own memory, hence the copies.
        right = [np.array(each) for each in runs[REFERENCE][i]()]
        for name in (XRELAY, STATIC):
            gap = difference(list(runs[name][i]().values()), right)
            if gap > TOLERANCE:
                raise WrongResult(
                    f"{case.name} at {_text(lengths)} is {gap:.1e} from onnxruntime's results ({name})"
                )


def least_of_turns(
    runs: Mapping[str, Sequence[Callable[[], object]]], seconds: float
) -> dict[str, list[float]]:
    """
    The least milliseconds of each run of each engine, which take turns for so many seconds, and for three turns at
    least. In its turn an engine makes all its runs, in an order that changes.
    """
    rng = np.random.default_rng(0)
    least = {name: [float("inf")] * len(each) for name, each in runs.items()}
    end, turns, names = time.perf_counter() + seconds, 0, list(runs)
    while turns < 3 or time.perf_counter() < end:
        turns += 1
        order = [int(i) for i in rng.permutation(len(least[XRELAY]))]
        for name in names:
            # Threads of the engine before may still spin, and memory that it used is in caches.
            settle()
            runs[name][order[-1]]()
            for i in order:
                start = time.perf_counter()
                runs[name][i]()
                taken = 1e3 * (time.perf_counter() - start)
                least[name][i] = min(least[name][i], taken)
        names.append(names.pop(0))  # Another engine is the first in the next turn.
    return least


def _text(lengths: Lengths) -> str:
    return " x ".join(map(str, lengths.values()))


def mean(numbers: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, numbers)) / len(numbers))


def engines_of(results: Sequence[Result]) -> list[str]:
    """The engines of all calls, in order."""
    return list(
        dict.fromkeys(name for each in results for call in each.calls for name in call.least)
    )


def _times(call: Call, engines: Sequence[str]) -> list[str]:
    """A cell for each engine, empty for those that were not measured."""
    return [f"{call.least[name]:.2f}" if name in call.least else "" for name in engines]


TITLES = {XRELAY: "one program"}
RATIOS = ("of static", "speed")


def table_of(results: Sequence[Result]) -> Table:
    """A line for each length of each result, and one for the means of each result."""
    table = Table("case", "threads", "lengths", title="least milliseconds")
    engines = engines_of(results)
    for column in (*(TITLES.get(name, name) for name in engines), *RATIOS):
        table.add_column(column, justify="right")
    for each in results:
        for call in each.calls:
            cells = _times(call, engines)
            cells += [f"{call.as_static:.2f}", f"{call.faster:.2f}"]
            table.add_row(each.name, str(each.threads), _text(call.lengths), *cells)
        compiled = {XRELAY: f"{each.compiled:.1f} s", STATIC: f"{each.compiled_alone:.1f} s"}
        cells = [compiled.get(name, "") for name in engines]
        cells += [f"{mean([call.as_static for call in each.calls]):.2f}"]
        cells += [f"{mean([call.faster for call in each.calls]):.2f}"]
        programs = f"programs: {each.programs}"
        table.add_row(each.name, str(each.threads), programs, *cells, end_section=True)
    return table


LEGEND = """
This page is written by `python -m benchmarks.lengths --markdown FILE`. How one program serves many lengths says
[running.md](running.md#unknown-dimensions). Milliseconds are the least of single runs, in float32 (OpenVINO is asked for that; as it comes it takes
bfloat16 where the CPU has it). The length changes from call to call; engines take turns, and load the file with open dimensions once. *static* are programs
of xrelay for one combination of lengths alone, *of static* is the time of the one program divided by theirs, and *speed* the time of the fastest
other engine divided by that of the one program.
The second table has the seconds in which the one program was compiled, and those of static programs: geometric means over the lengths, in turns.
"""


def page(kept: KeptRows[Result], machine: MachineDescription) -> str:
    """The tables as Markdown, with the means over all cases."""
    title = "# One program for many lengths, measured"
    heading = [title, LEGEND, *machine_lines(machine), kept.when(), "", ""]
    return "\n".join(heading) + tables(kept.ordered(list(CASES)))


def result_of(fields: Mapping[str, Any]) -> Result:
    """A result from the fields of its object in JSON."""
    return Result(**{**fields, "calls": tuple(Call(**each) for each in fields["calls"])})


def tables(results: Sequence[Result]) -> str:
    """The tables as Markdown."""
    engines = engines_of(results)
    titles = ["network", "threads", "lengths", *(TITLES.get(name, name) for name in engines)]
    lines = [
        _line([*titles, *RATIOS]),
        _line(["---", "---:", "---", *["---:"] * (len(engines) + 2)]),
    ]
    for each in results:
        for call in each.calls:
            numbers = _times(call, engines)
            ratios = [f"{call.as_static:.2f}", f"{call.faster:.2f}"]
            lines.append(
                _line([each.name, str(each.threads), _text(call.lengths), *numbers, *ratios])
            )
    lines += [
        "",
        _line(["network", "threads", "programs", "compiled, s", "static, s", "ratio"]),
        _line(["---", *["---:"] * 5]),
    ]
    for each in results:
        seconds = [each.compiled, each.compiled_alone, each.compiled / each.compiled_alone]
        counts = [str(each.threads), str(each.programs)]
        lines.append(_line([each.name, *counts, *(f"{number:.2f}" for number in seconds)]))
    for threads in sorted({each.threads for each in results}):
        calls = [call for each in results if each.threads == threads for call in each.calls]
        static = mean([call.as_static for call in calls])
        faster = mean([call.faster for call in calls])
        means = f"{static:.2f} times the time of static programs, {faster:.2f} times as fast as the fastest other engine"
        lines += ["", f"Threads: {threads}. Geometric means: {means}."]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 1 for a wrong result."""
    parser = argparse.ArgumentParser("python -m benchmarks.lengths")
    parser.add_argument("--cases", type=names_of(CASES), default=list(CASES), help="default all")
    parser.add_argument("--threads", type=thread_counts, default=(1, 2), help="default 1,2")
    installed = [name for name in RIVALS if ENGINES[name].installed]
    parser.add_argument(
        "--engines",
        type=names_of(RIVALS),
        default=installed,
        help=f"beside xrelay; default those that are installed of {', '.join(RIVALS)}",
    )
    parser.add_argument("--seconds", type=positive, default=4, help="of each length, default 4")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables here, too")
    parser.add_argument("--rows", type=Path, metavar="FILE", help=ROWS_HELP)
    add_cache_option(parser)
    args = parser.parse_args(arguments)
    try:
        kept = KeptRows[Result].of(args.rows, lambda each: (each.name, each.threads), result_of)
    except WrongRows as error:
        parser.error(str(error))
    machine = describe_machine((), lambda text: None)
    for name in args.cases:
        path = CASES[name].onnx_file(args.cache, lambda text: print(text, file=sys.stderr))
        for threads in args.threads:
            print(f"{name}: measure on {threads} threads", file=sys.stderr)
            try:
                kept.add(measure_case(CASES[name], path, threads, args.seconds, args.engines))
            except WrongResult as error:
                print(f"error: {error}", file=sys.stderr)
                return 1
    console = Console() if sys.stdout.isatty() else Console(width=140)
    console.print(f"{cpu_name()}, f32")
    console.print(table_of(kept.ordered(list(CASES))))
    if args.markdown is not None:
        args.markdown.write_text(page(kept, machine))
    return 0


if __name__ == "__main__":
    sys.exit(main())
