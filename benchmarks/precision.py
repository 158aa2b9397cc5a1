"""
What fewer bits cost in accuracy: outputs of xrelay and OpenVINO in bf16, and of xrelay in f16, beside those in float32.

    python -m benchmarks.precision [--models A,B] [--runs N] [--json FILE] [--markdown FILE]

For each model and engine: the least SQNR of an output, the largest difference relative to the largest value in
float32, and the least CPU time of some runs on one thread. OpenVINO computes in bf16 on CPUs that can, as it comes.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from platformdirs import user_cache_path
from rich.console import Console
from rich.table import Table

import xrelay
from benchmarks.__main__ import names_of, positive
from benchmarks.engines import FLOAT32, Job, Session, openvino_session
from benchmarks.suite import MODELS, Array
from xrelay.tools.compare import Comparison, compared
from xrelay.tools.progress import stage_progress

HINT = "INFERENCE_PRECISION_HINT"


@dataclass(frozen=True)
class Row:
    """A model on an engine, in some precision."""

    model: str
    engine: str
    sqnr: float
    """In decibels, of the output that has least."""
    relative_difference: float
    """The largest difference, of the output where it is largest, relative to the largest value there."""
    milliseconds: float


def _xrelay(precision: str) -> Callable[[Job], Session]:
    def load(job: Job) -> Session:
        model = xrelay.compile(job.path, threads=job.threads, precision=precision)

        def outputs(result: Mapping[str, Array]) -> list[Array]:
            return list(result.values())

        return Session(lambda: model.run(job.inputs), outputs, precision)

    return load


def _openvino(precision: str) -> Callable[[Job], Session]:
    return lambda job: openvino_session(job, {HINT: precision})


REFERENCES: dict[str, Callable[[Job], Session]] = {
    "xrelay": _xrelay("f32"),
    "OpenVINO": _openvino(FLOAT32),
}
ENGINES: dict[str, tuple[str, Callable[[Job], Session]]] = {
    "xrelay bf16": ("xrelay", _xrelay("bf16")),
    "xrelay f16": ("xrelay", _xrelay("f16")),
    "OpenVINO bf16": ("OpenVINO", _openvino("bf16")),
}
"""By name: whose float32 it is compared with, and how it is loaded."""


def measured(session: Session, runs: int) -> tuple[list[Array], float]:
    """The outputs, and the least CPU time of some runs in milliseconds."""
    result = session.outputs(session.run())
    times: list[float] = []
    for _ in range(runs):
        start = time.process_time()
        session.run()
        times.append(time.process_time() - start)
    return result, 1e3 * min(times)


def rows_of(name: str, job: Job, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """The rows of a model, those of float32 first."""
    exact: dict[str, list[Array]] = {}
    rows: list[Row] = []
    for engine, load in REFERENCES.items():
        progress(f"{name}: {engine} in float32")
        exact[engine], least = measured(load(job), runs)
        rows.append(Row(name, f"{engine} f32", float("inf"), 0.0, least))
    for engine, (reference, load) in ENGINES.items():
        progress(f"{name}: {engine}")
        outputs, least = measured(load(job), runs)
        found: list[Comparison] = [
            compared(str(i), *pair)
            for i, pair in enumerate(zip(outputs, exact[reference], strict=True))
        ]
        relative = max(each.largest_difference / (each.largest_value or 1.0) for each in found)
        rows.append(Row(name, engine, min(each.sqnr for each in found), relative, least))
    return rows


def markdown(rows: Sequence[Row]) -> str:
    """The table as a page has it."""
    lines = [
        "| model | engine | SQNR, dB | largest difference | CPU ms |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        numbers = f"{row.sqnr:.1f} | {row.relative_difference:.2g} | {row.milliseconds:.2f}"
        lines.append(f"| {row.model} | {row.engine} | {numbers} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command."""
    usual = ["resnet50", "mobilenetv2", "bert_base", "vit_s16", "gpt2_small", "mlp_b64"]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.precision", description=__doc__)
    parser.add_argument("--models", type=names_of(MODELS), default=usual)
    parser.add_argument("--runs", type=positive, default=10)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args(arguments)
    rows: list[Row] = []
    with stage_progress() as progress:
        for name in args.models:
            model = MODELS[name]
            path = model.onnx_file(user_cache_path("xrelay") / "benchmarks", progress)
            job = Job(name, path, 1, model.input_values())
            rows += rows_of(name, job, args.runs, progress)
    table = Table("model", "engine", "SQNR (dB)", "largest difference", "CPU ms")
    for row in rows:
        numbers = row.sqnr, row.relative_difference, row.milliseconds
        table.add_row(row.model, row.engine, *(f"{number:.3g}" for number in numbers))
    Console(soft_wrap=True).print(table)
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if args.markdown is not None:
        args.markdown.write_text(markdown(rows))


if __name__ == "__main__":
    main()
