"""What computes each operation of a program, and how long that takes by a trace."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.analysis.facts.walking import walk
from xrelay.analysis.fusion.plan import FusionOptions
from xrelay.compiler import generate, generation, run_passes
from xrelay.lowering.program.steps import Step
from xrelay.options import CompileOptions, Progress
from xrelay.runtime.reading import read_source
from xrelay.tools.errors import BAD_INPUT, CommandFailed


@dataclass(frozen=True)
class Work:
    """A step of the compiled program."""

    number: int
    step: Step
    seconds: float | None
    """The measured time."""
    share: float | None
    """The part of the run."""


def steps_of(
    module: ModuleOp, fusion: FusionOptions, options: CompileOptions, progress: Progress
) -> Sequence[Step]:
    """
    The steps of the program that a module becomes, which is fused in place.

    Raises DiagnosticException for what has no code.
    """
    run_passes(module, generation(options, fusion), progress, options.limits)
    return generate(module, options, progress).steps


def work_by_operation(
    steps: Sequence[Step], times: Sequence[float] | None
) -> Mapping[Operation, Work]:
    """The step that computes each operation, also of those in a `relay.fused`."""
    result: dict[Operation, Work] = {}
    total = sum(times or ())
    for number, step in enumerate(steps):
        seconds = None if times is None else times[number]
        share = None if seconds is None else seconds / total if total else 0.0
        work = Work(number, step, seconds, share)
        if step.op is not None:
            result.update((op, work) for op in walk(step.op))
    return result


def read_times(path: Path, steps: Sequence[Step]) -> list[float]:
    """
    Seconds of each step, from a trace that `xrelay run --profile --trace` wrote.

    Raises CommandFailed when the file is none, or is one of another program.
    """

    def refuse(reason: str) -> CommandFailed:
        return CommandFailed(f"--profile is '{path}': {reason}", BAD_INPUT)

    try:
        data: object = json.loads(read_source(path))
    except (ValueError, RecursionError) as error:
        raise refuse("it is not a JSON file") from error
    events = cast(dict[str, object], data).get("traceEvents") if isinstance(data, dict) else None
    if not isinstance(events, list):
        raise refuse("expected a trace, as `xrelay run --profile --trace FILE` writes it")
    found: list[tuple[str, float]] = []
    for event in cast(list[object], events):
        fields = cast(dict[str, object], event) if isinstance(event, dict) else {}
        if fields.get("ph") == "X":
            name, duration = fields.get("name"), fields.get("dur")
            if not isinstance(name, str) or not isinstance(duration, int | float):
                raise refuse("it has an event without name or duration")
            found.append((name, duration / 1e6))
    expected = [step.name for step in steps]
    names = [name for name, _ in found]
    if names != expected:
        differs = [
            i for i, pair in enumerate(zip(names, expected, strict=False)) if len({*pair}) > 1
        ]
        where = (
            f"step {differs[0]} is '{names[differs[0]]}', here it is '{expected[differs[0]]}'"
            if differs
            else f"it has {len(names)} steps, here there are {len(expected)}"
        )
        raise refuse(f"{where}: give the model and the options of the run that was measured")
    return [seconds for _, seconds in found]
