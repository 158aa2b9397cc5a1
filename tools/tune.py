"""
`xrelay tune`: measures the implementations of a model's operators, and writes tuning records.

    trials: every operator for which there is a choice × every implementation without a record
    rounds: as many trials at once as there are in different kernels
            compile the model with these implementations, profile it, note the times of their steps

A time is that of the whole kernel into which the operator is fused, the mean over the kernels and
steps where it stands: an implementation that is slow to hand over its result must not win. What is
tried is written into the program, as `select-strategies` writes it. After
each round the file is written; a run that is interrupted goes on where it was. The operators that a
round does not try use the best that is known so far. The order of the trials is always the same.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.names import short_name
from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import build, generate, kernel_options, read_model, relay_passes, run_passes
from xrelay.lowering.emit.strategy import Selection
from xrelay.lowering.emit.target import NATIVE, named_target
from xrelay.lowering.emit.tuning import read_records, records_text
from xrelay.lowering.program.program import Program
from xrelay.lowering.program.selection import NOTHING, choose_again
from xrelay.options import CompileOptions, Progress
from xrelay.program_weights import require_weights
from xrelay.runtime.files import write_files
from xrelay.runtime.model import Model
from xrelay.runtime.profile import profile_model
from xrelay.staged import require_known_sizes
from xrelay.tools import arguments
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.progress import stage_progress
from xrelay.tools.run_model import complete_inputs
from xrelay.tools.tables import table_console


@dataclass(frozen=True)
class Trial:
    """One implementation for all operators of one key."""

    key: str
    implementation: str


def tune_model(args: argparse.Namespace) -> int:
    """Runs the command."""
    output, limit = Path(args.output), args.seconds
    if limit is not None and not limit > 0:
        raise CommandFailed(f"--seconds is {limit}, expected more than 0", BAD_INPUT)
    arguments.require_writable(args.output)
    start = time.perf_counter()
    cpu = named_target(NATIVE).cpu
    with stage_progress() as progress:
        with failing_with(BAD_INPUT):
            options = arguments.compile_options(args, profile=True)
            if output.exists():
                options = replace(options, tuning=read_records(output, cpu))
            progress("read the model")
            module, name = read_model(args.model, arguments.shapes(args.shape), options.limits)
            require_weights(module, args.model)
        with failing_with(FAILED):
            require_known_sizes(module)
            run_passes(module, relay_passes(options), progress, options.limits)
            tuner = Tuner(module, name, options, progress)
            before = tuner.selections()
            pending = tuner.trials()
            count = len(pending)
            while pending and (limit is None or time.perf_counter() - start < limit):
                progress(f"measure {count - len(pending) + 1} of {count} implementations")
                tuner.run_round(next_round(pending, tuner.neighbours()))
                pending = tuner.trials()
                with failing_with(BAD_INPUT):
                    write_files({output: records_text(tuner.records, cpu).encode()})
    print_changes(before, tuner.selections())
    left = f"; {len(pending)} left for another run" if pending else ""
    console = table_console()
    console.print(f"{count - len(pending)} implementations measured{left}: {output}", markup=False)
    return 0


class Tuner:
    """The state of tuning one model, whose relay passes have run."""

    def __init__(self, module: ModuleOp, name: str, options: CompileOptions, progress: Progress):
        self.module = module
        self.name = name
        self.options = options
        self.progress = progress
        self.records = options.tuning
        self.program = self.lower()
        """With the best implementations that are known so far."""

    def lower(self, tried: Mapping[str, str] = NOTHING) -> Program:
        """
        The program with the best implementations by the records so far, and for operators of some
        keys with those that are tried.
        """
        options = replace(self.options, tuning=self.records)
        function = entry_function(self.module)
        choose_again(function, kernel_options(options), tried)
        return generate(self.module, options)

    def selections(self) -> dict[str, Selection]:
        """What is chosen by the records so far, for every operator, by key."""
        return {each.site.key: each for step in self.program.steps for each in step.selections}

    def trials(self) -> list[Trial]:
        """
        What is not measured yet: for each operator the best guess first, then for each the next.
        """
        ranked = [
            (rank, Trial(key, candidate.implementation.name))
            for key, selection in self.selections().items()
            for rank, candidate in enumerate(selection.candidates)
            if candidate.measured is None and len(selection.candidates) > 1
        ]
        ranked.sort(key=lambda each: each[0])
        return [trial for _, trial in ranked]

    def neighbours(self) -> dict[str, set[str]]:
        """For each key those that share a kernel with it, itself included."""
        result: dict[str, set[str]] = {}
        for step in self.program.steps:
            keys = {selection.site.key for selection in step.selections}
            for key in keys:
                result.setdefault(key, set()).update(keys)
        return result

    def run_round(self, trials: Sequence[Trial]) -> None:
        """Measures some trials, at most one in each kernel, and keeps the times."""
        chosen = {trial.key: trial.implementation for trial in trials}
        for key, seconds in self.measure(chosen).items():
            self.records = self.records.with_record(key, chosen[key], seconds)
        self.program = self.lower()

    def measure(self, chosen: Mapping[str, str]) -> dict[str, float]:
        """The mean time of the steps of each key, with the implementations chosen for them."""
        program = self.lower(chosen)
        steps = [[each.site.key for each in step.selections] for step in program.steps]
        model = Model.from_code(build(program, self.name, self.options))
        profile = profile_model(model, complete_inputs(model.signature, {}, 0))
        return {
            key: fmean(
                step.seconds for step, keys in zip(profile.steps, steps, strict=True) if key in keys
            )
            for key in chosen
        }


def next_round(pending: Sequence[Trial], neighbours: Mapping[str, set[str]]) -> list[Trial]:
    """The first trials that have no kernel in common."""
    chosen: list[Trial] = []
    taken: set[str] = set()
    for trial in pending:
        if trial.key not in taken:
            chosen.append(trial)
            taken |= neighbours[trial.key]
    return chosen


def print_changes(before: Mapping[str, Selection], after: Mapping[str, Selection]) -> None:
    """The operators that another implementation computes now."""
    changed = [key for key in before if before[key].chosen.name != after[key].chosen.name]
    if not changed:
        return
    table = Table("operator", "result", title="chosen differently")
    for heading in ("before", "now"):
        table.add_column(heading)
    table.add_column("µs", justify="right")
    for key in changed:
        op, times = before[key].site.op, after[key].site.records.measured[key]
        names = [each[key].chosen.name for each in (before, after)]
        shown = " → ".join(f"{1e6 * times[name]:.1f}" for name in names if name in times)
        table.add_row(short_name(op), str(op.results[0].type), *names, shown)
    table_console().print(table)
