"""What `xrelay.compile` takes beside the model. Light: a load from the cache needs no compiler."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.utils.exceptions import DiagnosticException

from xrelay.lowering.target import NATIVE, TARGETS, unknown_target
from xrelay.lowering.tuning import NO_RECORDS, TuningRecords
from xrelay.runtime.support import MAX_THREADS

Shapes = Mapping[str, Sequence[int]]
Progress = Callable[[str], None]
"""Told the name of each stage as it begins."""


class CompileError(DiagnosticException):
    """A model cannot be read or compiled."""


def silent(stage: str) -> None:
    """Progress that nobody sees."""
    del stage


@dataclass(frozen=True)
class CompileOptions:
    """What the machine code of a model depends on, beside the model and its shapes."""

    threads: int = 1
    """How many threads run the model together. More than there are cores works, but is slow."""
    target: str = NATIVE
    """The name of the CPU."""
    profile: bool = False
    """Whether the code notes when each of its steps ends."""
    winograd: bool = True
    """Whether convolutions may use Winograd's algorithm: fewer operations, more rounding errors."""
    tuning: TuningRecords = NO_RECORDS
    """What was measured; decides between implementations before priorities and estimates do."""

    def __post_init__(self) -> None:
        threads = cast(object, self.threads)
        if isinstance(threads, bool) or not isinstance(threads, int):
            raise CompileError(f"threads is {threads!r}, expected a whole number")
        if not 1 <= self.threads <= MAX_THREADS:
            raise CompileError(f"threads is {self.threads}, expected 1 to {MAX_THREADS}")
        if self.target not in (NATIVE, *TARGETS):
            raise CompileError(unknown_target(self.target))
