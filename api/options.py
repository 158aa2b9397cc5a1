"""What `xrelay.compile` takes: the kinds of models, and the options. Light: a load from the cache needs no compiler."""

from collections.abc import Callable
from dataclasses import dataclass
from reprlib import repr as shown
from typing import TYPE_CHECKING, TypeAlias, cast

from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.errors import OptionError
from xrelay.lowering.emit.target import NATIVE, TARGETS, unknown_target
from xrelay.lowering.emit.tuning import NO_RECORDS, TuningRecords
from xrelay.precision import (
    FULL,
    INTEGERS,
    NO_RULES,
    PrecisionRules,
    checked_precision,
    precision_rules,
)
from xrelay.runtime.arguments import check_flag, number_argument
from xrelay.runtime.layouts import ROW_MAJOR, Layouts
from xrelay.runtime.support import MAX_THREADS

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp

ModelSource: TypeAlias = "str | Path | ModelProto | ModuleOp"
"""What a model is given as."""
Progress = Callable[[str], None]
"""Told the name of each stage as it begins."""


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
    limits: Limits = DEFAULT_LIMITS
    """How large the program may become."""
    precision: str = FULL
    """What products of f32 are computed in: "f32", "bf16", "f16" or "int8"."""
    precision_rules: PrecisionRules = NO_RULES
    """Which operators are treated otherwise than they are by default when that is another one."""
    layouts: Layouts = ROW_MAJOR
    """How arrays of the caller lie in memory: those of `DynamicModel.bind`."""

    def __post_init__(self) -> None:
        threads = number_argument("threads", self.threads, 1, MAX_THREADS, OptionError)
        object.__setattr__(self, "threads", threads)  # NumPy's numbers have no JSON.
        target = cast(object, self.target)
        known = (NATIVE, *TARGETS)
        if not isinstance(target, str):
            raise OptionError(f"target is {shown(target)}, expected one of {', '.join(known)}")
        if target not in known:
            raise OptionError(unknown_target(target))
        check_flag("profile", self.profile, OptionError)
        check_flag("winograd", self.winograd, OptionError)
        if not isinstance(cast(object, self.tuning), TuningRecords):
            raise OptionError(f"tuning is {shown(self.tuning)}, expected TuningRecords")
        checked_precision(self.precision)
        object.__setattr__(self, "precision_rules", precision_rules(self.precision_rules))
        if self.precision_rules != NO_RULES and self.precision in (FULL, INTEGERS):
            raise OptionError("precision_rules go with a precision of fewer bits, bf16 or f16")
        for name, limit in vars(self.limits).items():
            number_argument(name, limit, 1, None, OptionError)
