"""
Networks with open dimensions at several lengths: one xrelay.DynamicModel for all of them, beside programs compiled for each
length alone, and beside onnxruntime on the same file.

    python -m benchmarks.lengths [--cases A,B] [--threads 1,2] [--seconds S] [--markdown FILE]

Prints a line for each case, number of threads and length: the least milliseconds of each, the time of the dynamic model as a
part of the static program's, and onnxruntime's divided by the dynamic model's; and for each case in how many programs
and seconds the lengths were compiled, and how long the program of one length alone took.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import xrelay
from benchmarks.__main__ import add_cache_option, names_of, positive, thread_counts
from benchmarks.engines import REFERENCE, TOLERANCE, XRELAY, Array, Job, load_onnxruntime
from benchmarks.machine import cpu_name
from benchmarks.measure import difference, interleave
from benchmarks.suite import NETWORKS, Axes, Input, Network, export
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
            for axis, name in self.axes[each.name].items():
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


IMAGES = {2: "height", 3: "width"}
CASES: dict[str, OpenNetwork] = {
    case.name: case
    for case in (
        _opened(
            "bert_sequences",
            "bert_base",
            {1: "sequence"},
            [{"sequence": n} for n in (16, 64, 128, 256, 512)],
        ),
        _opened(
            "gpt2_sequences",
            "gpt2_small",
            {1: "sequence"},
            [{"sequence": n} for n in (8, 32, 64, 100, 256)],
        ),
        _opened(
            "resnet50_batches", "resnet50", {0: "batch"}, [{"batch": n} for n in (2, 3, 4, 6, 8)]
        ),
        _opened(
            "resnet50_images",
            "resnet50",
            IMAGES,
            [
                {"height": height, "width": width}
                for height, width in ((224, 224), (160, 160), (192, 256), (256, 256), (320, 240))
            ],
        ),
        _opened(
            "mobilenetv2_images",
            "mobilenetv2",
            IMAGES,
            [
                {"height": height, "width": width}
                for height, width in ((224, 224), (160, 160), (192, 256), (256, 256), (320, 240))
            ],
        ),
        _opened(
            "mlp_batches", "mlp_b64", {0: "batch"}, [{"batch": n} for n in (2, 7, 16, 64, 100)]
        ),
    )
}
"""By name, in the order of the table."""


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
        """How many times as fast as onnxruntime the dynamic model is."""
        return self.least[REFERENCE] / self.least[XRELAY]


@dataclass(frozen=True)
class Result:
    """A case on a number of threads."""

    name: str
    threads: int
    programs: int
    compiled: float
    """Seconds for the program of the first lengths, which serves others."""
    compiled_alone: float
    """Seconds for a program of the first lengths alone."""
    calls: tuple[Call, ...]


class WrongResult(Exception):
    """A result is too far from onnxruntime's."""


def measure_case(case: OpenNetwork, path: Path, threads: int, seconds: float) -> Result:
    """
    Compiles and times a case.

    Raises WrongResult for results that are too far from onnxruntime's.
    """
    first = case.calls[0]
    model, compiled = _timed(lambda: _compiled(path, threads, case.values_at(first)))
    assert isinstance(model, DynamicModel)
    _, compiled_alone = _timed(lambda: _alone(case, path, threads, first))
    calls = [_call(case, path, model, threads, lengths, seconds) for lengths in case.calls]
    programs = len(
        {each.conditions or tuple(each.shapes.items()) for each in model.specialisations}
    )
    return Result(case.name, threads, programs, compiled, compiled_alone, tuple(calls))


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def _compiled(path: Path, threads: int, values: Mapping[str, Array]) -> object:
    model = xrelay.compile(path, threads=threads, cache=False)
    model.run(values)
    return model


def _alone(case: OpenNetwork, path: Path, threads: int, lengths: Lengths) -> Any:
    values = case.values_at(lengths)
    shapes = {name: array.shape for name, array in values.items()}
    model = xrelay.compile(path, threads=threads, cache=False, shapes=shapes)
    model.run(values)
    return model


def _call(
    case: OpenNetwork,
    path: Path,
    model: DynamicModel,
    threads: int,
    lengths: Lengths,
    seconds: float,
) -> Call:
    values = case.values_at(lengths)
    alone = _alone(case, path, threads, lengths)
    session = load_onnxruntime(Job(case.name, path, threads, values))
    gap = difference(
        list(model.run(values).values()),
        [np.array(each) for each in session.outputs(session.run())],
    )
    if gap > TOLERANCE:
        raise WrongResult(
            f"{case.name} at {_text(lengths)} is {gap:.1e} from onnxruntime's results"
        )
    timings = interleave(
        {
            XRELAY: lambda: model.run(values),
            STATIC: lambda: alone.run(values),
            REFERENCE: session.run,
        },
        seconds,
    )
    return Call(lengths, {name: timing.minimum for name, timing in timings.items()})


def _text(lengths: Lengths) -> str:
    return " x ".join(map(str, lengths.values()))


def mean(numbers: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, numbers)) / len(numbers))


def table_of(results: Sequence[Result]) -> Table:
    """A line for each length of each result, and one for the means of each result."""
    table = Table("case", "threads", "lengths", title="least milliseconds")
    for column in ("one program", STATIC, REFERENCE, "of static", "speed"):
        table.add_column(column, justify="right")
    for each in results:
        for call in each.calls:
            numbers = [f"{call.least[name]:.2f}" for name in (XRELAY, STATIC, REFERENCE)]
            ratios = f"{call.as_static:.2f}", f"{call.faster:.2f}"
            table.add_row(each.name, str(each.threads), _text(call.lengths), *numbers, *ratios)
        ratios = (
            f"{mean([call.as_static for call in each.calls]):.2f}",
            f"{mean([call.faster for call in each.calls]):.2f}",
        )
        compiled = f"{each.programs} programs, {each.compiled:.1f} s"
        table.add_row(
            each.name, str(each.threads), compiled, "", f"{each.compiled_alone:.1f} s", "", *ratios,
            end_section=True,
        )  # fmt: skip
    return table


def page(results: Sequence[Result]) -> str:
    """The table as Markdown, with the means over all cases."""
    lines = [
        "| network | threads | lengths | xrelay, one program | static program | onnxruntime | of static | onnxruntime / xrelay |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in results:
        for call in each.calls:
            numbers = [f"{call.least[name]:.2f}" for name in (XRELAY, STATIC, REFERENCE)]
            cells = (
                each.name, str(each.threads), _text(call.lengths), *numbers,
                f"{call.as_static:.2f}", f"{call.faster:.2f}",
            )  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| network | threads | programs | compiled, s | static, s |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {each.name} | {each.threads} | {each.programs} | {each.compiled:.1f} | {each.compiled_alone:.1f} |"
        for each in results
    ]
    for threads in sorted({each.threads for each in results}):
        calls = [call for each in results if each.threads == threads for call in each.calls]
        static = mean([call.as_static for call in calls])
        faster = mean([call.faster for call in calls])
        means = f"{static:.2f} times the time of static programs, {faster:.2f} times as fast as onnxruntime"
        lines += ["", f"Threads: {threads}. Geometric means: {means}."]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 1 for a wrong result."""
    parser = argparse.ArgumentParser("python -m benchmarks.lengths")
    parser.add_argument("--cases", type=names_of(CASES), default=list(CASES), help="default all")
    parser.add_argument("--threads", type=thread_counts, default=(1, 2), help="default 1,2")
    parser.add_argument("--seconds", type=positive, default=2, help="of each length, default 2")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables here, too")
    add_cache_option(parser)
    args = parser.parse_args(arguments)
    results: list[Result] = []
    for name in args.cases:
        path = CASES[name].onnx_file(args.cache, lambda text: print(text, file=sys.stderr))
        for threads in args.threads:
            print(f"{name}: measure on {threads} threads", file=sys.stderr)
            try:
                results.append(measure_case(CASES[name], path, threads, args.seconds))
            except WrongResult as error:
                print(f"error: {error}", file=sys.stderr)
                return 1
    console = Console() if sys.stdout.isatty() else Console(width=120)
    console.print(f"{cpu_name()}, f32")
    console.print(table_of(results))
    if args.markdown is not None:
        args.markdown.write_text(page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
