"""
`xrelay.compile`: what a user asks for, checked; then a load from the cache, the compiler, or the compiler with
other engines beside it, each of which is imported only when it is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack, cast, overload

from xrelay.analysis.facts.suggestions import did_you_mean
from xrelay.cached import cache_place, load_or_compile
from xrelay.collector import collector_paused
from xrelay.deep import with_room
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.errors import OptionError
from xrelay.lowering.emit.target import NATIVE, named_target
from xrelay.lowering.emit.tuning import NO_RECORDS, TuningRecords, read_records
from xrelay.options import CompileOptions, ModelSource, Progress, silent
from xrelay.precision import FULL, NO_RULES, GivenRules, PrecisionWarning, note
from xrelay.precision import precision_rules as read_rules
from xrelay.runtime.arguments import (
    check_callable,
    check_flag,
    kind_of,
    number_argument,
    path_argument,
)
from xrelay.runtime.layouts import ROW_MAJOR, Layouts
from xrelay.runtime.model import Model
from xrelay.runtime.signature import Known, Shapes, UnknownDimensions

if TYPE_CHECKING:
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp

    from xrelay.backends.base import Backend
    from xrelay.dialects.length_scope import Scope
    from xrelay.frontends.onnx.loaded import LoadedModel
    from xrelay.runtime.code import ModelCode
    from xrelay.runtime.dimensions.code import ManyCode
    from xrelay.runtime.dynamic import DynamicModel
    from xrelay.runtime.partitioned import PartitionedModel
    from xrelay.runtime.staged import AnyModel, StagedModel


MOST_CALLS = 1_000_000
"""Before lengths get a program of their own."""


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
    specialise_after: int


@overload
def compile_model(
    model: str | Path | ModelProto | ModuleOp, **arguments: Unpack[CompileArguments]
) -> Model | DynamicModel | StagedModel: ...


@overload
def compile_model(
    model: str | Path | ModelProto | ModuleOp,
    *,
    backends: Sequence[str | Backend],
    fallback: bool = False,
    placement: str | Path = "priority",
    **arguments: Unpack[CompileArguments],
) -> Model | PartitionedModel | DynamicModel | StagedModel: ...


def compile_model(
    model: str | Path | ModelProto | ModuleOp,
    *,
    backends: Sequence[str | Backend] = (),
    fallback: bool = False,
    placement: str | Path = "priority",
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
    specialise_after: int = 0,
) -> Model | PartitionedModel | DynamicModel | StagedModel:
    """
    Compiles a model into machine code in this process.

    `model` is the path of an `.onnx`, `.mlir` or `.relay` file, an ONNX ModelProto, or an xDSL module (left
    unchanged). `shapes` fixes unknown dimensions: the whole shape of an input, or the length of a dimension
    that the model names, or the least and the greatest one; an InputValue makes constants of the elements of an input. Where dimensions stay unknown, or
    elements that they depend on (the operand of a Reshape), the result is a DynamicModel, which compiles a program for
    each combination when it comes. `threads` run the model together; the results are the same bits for any number. `target` names a CPU: "native", or one of
    `xrelay.lowering.emit.target.TARGETS` such as "x86-64-v4". `cache` looks for the machine code on disk, and leaves it
    there. `profile` makes code for `Model.profile`. `winograd` allows an algorithm for convolution
    that is fast and rounds more. `tuning` is what `xrelay tune` measured, or the file that it wrote.
    `max_nodes` and `max_bytes` bound what a model from elsewhere may become: see SECURITY.md.

    After `specialise_after` calls of a DynamicModel with the same lengths, these get a program of their own, compiled in the
    background; 0 for never, as its results may be rounded otherwise than those of the calls before.

    `precision` is the type that products of f32 are computed in: "f32", or "bf16" or "f16", which are faster or
    smaller, and round more; inputs and outputs keep their types. With "int8" only products with weights of 2, 4 or 8 bits in
    blocks change: their data are rounded to 8 bits in each block. `precision_rules` names operators that
    bf16 and f16 treat otherwise than docs/quantised.md says: a mapping of "always", "follow" and "never" to names, or the TOML or
    JSON file with one.

    `backends` names engines that run what they support of the model, the preferred one first;
    xrelay's own code runs the rest, and with `fallback` also what an engine fails at. `placement` says which
    part goes where: "priority" gives an operator to the first engine that supports it, "measured" finds out what
    is fastest here, and anything else is the file of a plan that `xrelay place` wrote.

    Raises DiagnosticException (CompileError, BackendError, OnnxImportError, …) for what a user can
    mend.
    """
    if not isinstance(tuning, TuningRecords):
        tuning = read_records(path_argument("tuning", tuning, OptionError))
    rules = read_rules(precision_rules)
    limits = Limits(max_nodes, max_bytes)
    options = CompileOptions(threads, target, profile, winograd, tuning, limits, precision, rules)
    remark = note(precision, named_target(target)) if precision != FULL else None
    if remark is not None:
        warnings.warn(remark, PrecisionWarning, stacklevel=2)
    number_argument("specialise_after", specialise_after, 0, MOST_CALLS, OptionError)
    check_flag("cache", cache, OptionError)
    check_flag("fallback", fallback, OptionError)
    check_callable("progress", progress, OptionError)
    given = cast(object, shapes)
    if given is not None and not isinstance(given, Mapping):
        raise OptionError(
            f"shapes is {kind_of(given)}, expected a mapping from inputs to their dimensions"
        )
    regions = _compile_regions(backends, placement, cache=cache, fallback=fallback)
    compile_own = partial(_compile_own, cache=cache, progress=progress)

    def for_many(
        model: ModelSource,
        shapes: Shapes,
        layouts: Layouts,
        scope: Scope,
        loaded: LoadedModel | None,
    ) -> Model:
        own = replace(options, layouts=layouts)
        return compile_own(model, shapes, own, scope=scope, loaded=loaded, verified=True)

    def compiled(
        model: ModelSource,
        shapes: Shapes | None,
        layouts: Layouts = ROW_MAJOR,
        loaded: LoadedModel | None = None,
        *,
        verified: bool = True,
        is_stage: bool = False,
    ) -> Model | PartitionedModel:
        if regions is not None:
            return with_room(partial(regions, model, shapes, options, progress=progress))
        own = replace(options, layouts=layouts)
        return compile_own(model, shapes, own, loaded=loaded, verified=verified, is_stage=is_stage)

    def for_file(
        model: ModelSource, unknown: UnknownDimensions, known: Sequence[Mapping[str, Known]]
    ) -> ManyCode:
        from xrelay.saved_lengths import compile_many

        return compile_many(model, unknown, options, progress, known)

    def read(model: ModelSource, shapes: Shapes) -> ModuleOp:
        from xrelay.compiler import read_model

        return with_room(lambda: read_model(model, shapes, limits, verified=True)[0])

    def whole(
        model: ModelSource, shapes: Shapes | None = None, *, is_stage: bool = True
    ) -> AnyModel:
        """A model of whatever kind: a stage, which comes from what was verified before, or what the caller gave."""
        try:
            return compiled(model, shapes, verified=is_stage, is_stage=is_stage)
        except UnknownDimensions as unknown:
            if placement != "priority":
                raise
            from xrelay.compiler import is_onnx
            from xrelay.specialise import dynamic_model
            from xrelay.staged import (
                StagesOfElements,
                fixed_stages,
                loaded_model,
                model_name,
                open_stages,
            )

            name = model_name(model)
            if unknown.many:
                return fixed_stages(unknown, name, whole)
            of_elements = StagesOfElements(read, whole, is_stage)

            def program(
                model: ModelSource,
                shapes: Mapping[str, Known],
                layouts: Layouts,
                loaded: LoadedModel | None,
            ):
                try:
                    return compiled(model, shapes, layouts, loaded)
                except UnknownDimensions as unknown:
                    if not unknown.fixed:
                        raise
                    return of_elements.made(model, shapes, unknown)

            cut = partial(open_stages, compiled=whole)
            many = for_many if regions is None else None
            return dynamic_model(
                model,
                unknown,
                program,
                many,
                for_file,
                cut,
                specialise_after,
                loaded_model(unknown),
                stages_for=of_elements.of,
                stages_of_all=of_elements.of_all_shapes,
                is_imported=is_onnx(model),
            )

    return whole(model, shapes, is_stage=False)


PLACEMENTS = ("priority", "measured")
"""What `placement` may be beside the file of a plan."""


def _compile_regions(
    backends: Sequence[str | Backend], placement: str | Path, *, cache: bool, fallback: bool
) -> Callable[..., PartitionedModel] | None:
    """
    What compiles a model for some engines, as `placement` says; None when there are no engines.

    Raises OptionError for a placement that is none, or that has nothing to place on.
    """
    partly = not isinstance(cast(object, backends), Sequence) or bool(backends)
    if placement == "priority":
        if not partly:
            return None
        from xrelay.priority import compile_partitioned

        return partial(compile_partitioned, backends=backends, cache=cache, fallback=fallback)
    if placement != "measured":
        placement = path_argument("placement", placement, OptionError)
        hint = did_you_mean(str(placement), PLACEMENTS)
        if hint and not placement.exists():
            raise OptionError(
                f"placement is '{placement}', expected one of {', '.join(PLACEMENTS)}, or the file of a plan{hint}"
            )
    if not partly:
        raise OptionError(f"placement is '{placement}', which needs backends, found none")
    from xrelay.placing import compile_placed

    return partial(
        compile_placed, backends=backends, placement=placement, cache=cache, fallback=fallback
    )


def _compile_own(
    model: ModelSource,
    shapes: Shapes | None,
    options: CompileOptions,
    *,
    cache: bool,
    progress: Progress,
    scope: Scope | None = None,
    loaded: LoadedModel | None = None,
    verified: bool,
    is_stage: bool = False,
) -> Model:
    """
    The model in xrelay's own code, from the cache or from the compiler; `scope` has the lengths in `shapes`. `loaded` and
    `verified` are as in `read_model`, and `is_stage` as in `find_cut`.
    """
    # A module is printed for its digest.
    place = with_room(lambda: cache_place(model, shapes, options)) if cache else None

    @collector_paused()
    def code() -> ModelCode:
        from xrelay.compiler import compile_code, is_onnx, read_model
        from xrelay.program_weights import require_weights
        from xrelay.staged import require_known_sizes

        progress("read the model")
        module, name = read_model(model, shapes, options.limits, loaded=loaded, verified=verified)
        # A stage in ONNX has just been imported.
        require_known_sizes(module, is_stage=is_stage and not is_onnx(model))
        require_weights(module, model)
        return compile_code(module, name, options, progress, scope)

    return load_or_compile(place, lambda: with_room(code), progress)
