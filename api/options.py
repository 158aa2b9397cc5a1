"""What `xrelay.compile` takes beside the model. Light: a load from the cache needs no compiler."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.lowering.target import NATIVE, TARGETS
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


def _require_whole_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise CompileError(f"{name} is {value!r}, expected a whole number")


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
    limits: Limits = DEFAULT_LIMITS
    """How large the program may become."""

    def __post_init__(self) -> None:
        _require_whole_number("threads", self.threads)
        for name, limit in vars(self.limits).items():
            _require_whole_number(name, limit)
            if limit < 1:
                raise CompileError(f"{name} is {limit}, expected at least 1")
        if not 1 <= self.threads <= MAX_THREADS:
            raise CompileError(f"threads is {self.threads}, expected 1 to {MAX_THREADS}")
        if self.target not in (NATIVE, *TARGETS):
            known = ", ".join((NATIVE, *TARGETS))
            raise CompileError(f"unknown target '{self.target}', known targets are {known}")
