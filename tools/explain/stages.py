"""
Programs of a model, for `xrelay explain` and `xrelay view`: one, or several stages where sizes depend on data.

    x ──► stage 1 of 2: relu, argwhere ──► stage 2 of 2: gather_nd, … ──► y

Each is read, and prepared, as `xrelay.compile` does, with open lengths where it has any.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from xrelay.compiler import is_onnx, read_model
from xrelay.options import CompileOptions, ModelSource, Progress
from xrelay.runtime.signature import Shapes, UnknownDimensions
from xrelay.runtime.staged import Rounds
from xrelay.saved_lengths import SizesOfData
from xrelay.staged import open_or_fixed_stages, require_known_sizes
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.explain.lengths import OpenReading, read_open


@dataclass(frozen=True)
class Stage:
    """A program of a model."""

    module: ModuleOp
    notes: list[str]
    """What the preparation has to say of it."""
    reading: OpenReading | None
    """What it leaves open."""
    is_round: bool
    """Whether it is a round of a loop."""


@dataclass(frozen=True)
class Reader:
    """How programs are read."""

    options: CompileOptions
    prepare: Callable[[ModuleOp], list[str]]
    """Simplifies a module, and gives notes."""
    progress: Progress
    needs_sizes: bool
    """Whether code is made of the programs, for which all dimensions have to be known, or open lengths."""

    def programs(self, model: ModelSource, shapes: Shapes) -> list[Stage]:
        """
        The program of a model, or its stages in the order in which they run.

        Raises DiagnosticException as the compiler does, and OptionError for what it leaves open and no program can have open.
        """
        return list(self._programs(model, shapes, is_stage=False, is_round=False))

    def _programs(
        self, model: ModelSource, shapes: Shapes, *, is_stage: bool, is_round: bool
    ) -> Iterator[Stage]:
        self.progress("read the model")
        try:
            module, _ = read_model(model, shapes, self.options.limits)
            if self.needs_sizes:
                # A stage in ONNX has just been imported.
                require_known_sizes(module, is_stage=is_stage and not is_onnx(model))
        except UnknownDimensions as unknown:
            try:
                read = read_open(model, unknown, self.options, self.prepare, self.progress)
            except SizesOfData as error:
                both = open_or_fixed_stages(error.unknown)
                if both is None:
                    raise
            else:
                yield Stage(*read, is_round)
                return
        else:
            with failing_with(FAILED):
                notes = self.prepare(module)
            yield Stage(module, notes, None, is_round)
            return
        for side in (both.first, both.second):
            if isinstance(side, Rounds):
                yield from self._programs(side.body, {}, is_stage=True, is_round=True)
            elif side is not None:
                yield from self._programs(side, {}, is_stage=True, is_round=is_round)


def titles(stages: list[Stage]) -> list[str]:
    """What stages are called; nothing for a program that is the whole model."""
    if len(stages) == 1 and not stages[0].is_round:
        return [""]
    return [
        f"stage {number} of {len(stages)}" + ", a round of a loop" * stage.is_round
        for number, stage in enumerate(stages, 1)
    ]


def require_one(stages: list[Stage], option: str) -> None:
    """Raises CommandFailed for an option of models that are one program."""
    if titles(stages) != [""]:
        raise CommandFailed(
            f"{option} is for models that are one program; this one runs in {len(stages)} stages, as its sizes depend on data",
            BAD_INPUT,
        )
