"""
`xrelay.compile`: what a user asks for, checked; then a load from the cache, the compiler, or the compiler with
other engines beside it, each of which is imported only when it is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack, cast, overload

from xrelay.cached import cache_place, load_or_compile
from xrelay.collector import collector_paused
from xrelay.deep import with_room
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.errors import OptionError
from xrelay.lowering.emit.target import NATIVE, named_target
from xrelay.lowering.emit.tuning import NO_RECORDS, TuningRecords, read_records
from xrelay.options import CompileOptions, Progress, Shapes, silent
from xrelay.precision import FULL, NO_RULES, GivenRules, PrecisionWarning, note
from xrelay.precision import precision_rules as read_rules
from xrelay.runtime.arguments import check_callable, flag_argument, kind_of, path_argument
from xrelay.runtime.model import Model

if TYPE_CHECKING:
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp

    from xrelay.backends.base import Backend
    from xrelay.runtime.code import ModelCode
    from xrelay.runtime.partitioned import PartitionedModel


class CompileArguments(TypedDict, total=False):
    """The arguments of `xrelay.compile` with and without backends, for its two signatures."""

    shapes: Shapes | None
    threads: int
    target: str
    cache: bool
    profile: bool
    winograd: bool
    tuning: str | Path | TuningRecords
    max_nodes: int
    max_bytes: int
    precision: str
    precision_rules: GivenRules
    progress: Progress


@overload
def compile_model(
    model: str | Path | ModelProto | ModuleOp, **arguments: Unpack[CompileArguments]
) -> Model: ...


@overload
def compile_model(
    model: str | Path | ModelProto | ModuleOp,
    *,
    backends: Sequence[str | Backend],
    fallback: bool = False,
    **arguments: Unpack[CompileArguments],
) -> Model | PartitionedModel: ...


def compile_model(
    model: str | Path | ModelProto | ModuleOp,
    *,
    backends: Sequence[str | Backend] = (),
    fallback: bool = False,
    shapes: Shapes | None = None,
    threads: int = 1,
    target: str = NATIVE,
    cache: bool = True,
    profile: bool = False,
    winograd: bool = True,
    tuning: str | Path | TuningRecords = NO_RECORDS,
    max_nodes: int = DEFAULT_LIMITS.max_nodes,
    max_bytes: int = DEFAULT_LIMITS.max_bytes,
    precision: str = FULL,
    precision_rules: GivenRules = NO_RULES,
    progress: Progress = silent,
) -> Model | PartitionedModel:
    """
    Compiles a model into machine code in this process.

    `model` is the path of an `.onnx`, `.mlir` or `.relay` file, an ONNX ModelProto, or an xDSL module (left
    unchanged). `shapes` fixes unknown dimensions of ONNX inputs by name. `threads` run the model
    together; the results are the same bits for any number. `target` names a CPU: "native", or one of
    `xrelay.lowering.emit.target.TARGETS` such as "x86-64-v4". `cache` looks for the machine code on disk, and leaves it
    there. `profile` makes code for `Model.profile`. `winograd` allows an algorithm for convolution
    that is fast and rounds more. `tuning` is what `xrelay tune` measured, or the file that it wrote.
    `max_nodes` and `max_bytes` bound what a model from elsewhere may become: see SECURITY.md.

    `precision` is the type that products of f32 are computed in: "f32", or "bf16" or "f16", which are faster or
    smaller, and round more; inputs and outputs keep their types. `precision_rules` names operators that
    are treated otherwise than docs/quantised.md says: a mapping of "always", "follow" and "never" to names, or the TOML or
    JSON file with one.

    `backends` names engines that run what they support of the model, the preferred one first;
    xrelay's own code runs the rest, and with `fallback` also what an engine fails at.

    Raises DiagnosticException (CompileError, BackendError, OnnxImportError, …) for what a user can
    mend.
    """
    if not isinstance(tuning, TuningRecords):
        tuning = read_records(path_argument("tuning", tuning, OptionError))
    limits = Limits(max_nodes, max_bytes)
    options = CompileOptions(
        threads,
        target,
        profile,
        winograd,
        tuning,
        limits,
        precision,
        read_rules(precision_rules),
    )
    remark = note(precision, named_target(target)) if precision != FULL else None
    if remark is not None:
        warnings.warn(remark, PrecisionWarning, stacklevel=2)
    flag_argument("cache", cache, OptionError)
    flag_argument("fallback", fallback, OptionError)
    check_callable("progress", progress, OptionError)
    given = cast(object, shapes)
    if given is not None and not isinstance(given, Mapping):
        raise OptionError(
            f"shapes is {kind_of(given)}, expected a mapping from inputs to their dimensions"
        )
    if not isinstance(cast(object, backends), Sequence) or backends:
        from xrelay.partitioned import compile_partitioned

        return with_room(
            lambda: compile_partitioned(
                model, shapes, options, backends, cache=cache, fallback=fallback, progress=progress
            )
        )
    # A module is printed for its digest.
    place = with_room(lambda: cache_place(model, shapes, options)) if cache else None

    @collector_paused()
    def compiled() -> ModelCode:
        from xrelay.compiler import compile_code, read_model

        progress("read the model")
        return compile_code(*read_model(model, shapes, options.limits), options, progress)

    return load_or_compile(place, lambda: with_room(compiled), progress)
