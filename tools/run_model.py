"""`xrelay run`: compile a model, run it, show or write the outputs."""

from __future__ import annotations

import argparse
import logging
import re
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from xrelay.cached import cache_place, load_or_compile
from xrelay.collector import collector_paused
from xrelay.options import CompileOptions, Progress
from xrelay.precision import FULL
from xrelay.runtime.arguments import few
from xrelay.runtime.code import ModelCode
from xrelay.runtime.dimensions.loading import load
from xrelay.runtime.dynamic import DynamicModel, DynamicSignature
from xrelay.runtime.files import whole_file
from xrelay.runtime.model import Array, Model, check_inputs
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.runtime.reading import open_regular
from xrelay.runtime.signature import (
    InputValue,
    OpenTensor,
    Shapes,
    Signature,
    TensorSpec,
    UnknownDimensions,
    taken_inputs,
)
from xrelay.runtime.staged import StagedModel
from xrelay.tools import arguments
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.progress import stage_progress

if TYPE_CHECKING:
    from xrelay.interpret_model import InterpretedModel


def run_model(args: argparse.Namespace) -> int:
    """Runs the command."""
    with log_shown() if args.verbose else nullcontext():
        return _run_model(args)


@contextmanager
def log_shown() -> Generator[None]:
    """Shows what xrelay logs, from `INFO` on, on standard error."""
    logger = logging.getLogger("xrelay")
    level = logger.level
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


def _run_model(args: argparse.Namespace) -> int:
    """Gets the model, runs it, and shows what is asked for. Returns the exit code."""
    if args.seed < 0:
        raise CommandFailed(f"--seed is {args.seed}, expected at least 0", BAD_INPUT)
    folder = None if args.output_dir is None else Path(args.output_dir)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise CommandFailed(f"cannot write into '{folder}': it is not a directory", BAD_INPUT)
    if args.trace is not None and not args.profile:
        raise CommandFailed("--trace goes with --profile", BAD_INPUT)
    if args.json is not None and args.compare is None:
        raise CommandFailed("--json goes with --compare", BAD_INPUT)
    arguments.require_writable(args.trace, args.json)
    paths = arguments.named_values(args.input, "--input", "NAME=FILE.npy")
    with failing_with(BAD_INPUT):
        given = {name: read_array(Path(path)) for name, path in paths.items()}
    model, shapes = _load(args, given)
    reference = None if args.compare is None else _reference(args, given)
    if reference is not None:
        from xrelay.tools.compare import require_same_interface

        assert isinstance(model.signature, Signature)
        require_same_interface(model.signature, reference.signature, args)
    with failing_with(BAD_INPUT):
        known = shapes if isinstance(model, DynamicModel) else None
        inputs = complete_inputs(model.signature, taken_inputs(given, shapes), args.seed, known)
        if isinstance(model.signature, Signature):  # The interpreter checks by itself.
            check_inputs(model.signature.inputs, inputs)
        start = time.perf_counter()
        outputs = model.run(inputs)
        seconds = time.perf_counter() - start
        if folder is not None:
            write_outputs(folder, outputs)
    if args.interpret:
        _print_outputs(outputs, f"interpreted: {1e3 * seconds:.1f} ms")
        return 0
    measures = can_profile(args) and isinstance(model, Model)
    hint = "; --profile measures them" if measures else ""
    # Memory is touched and threads start for the first time.
    _print_outputs(outputs, f"first run: {1e3 * seconds:.1f} ms (later ones are faster{hint})")
    if args.profile:
        assert isinstance(model, Model)
        from xrelay.tools.profile import show_profile

        with failing_with(BAD_INPUT):
            show_profile(model, inputs, args.trace)
    if reference is not None:
        from xrelay.tools.compare import compare

        with failing_with(BAD_INPUT):
            compare(reference, inputs, outputs, args)
    if args.verify:
        from xrelay.lowering.emit.target import named_target
        from xrelay.tools.verify import verify

        with failing_with(BAD_INPUT):
            limits, target = arguments.limits(args), named_target(args.target)
        return verify(Path(args.model), shapes, limits, args.precision, target, inputs, outputs)
    return 0


def can_profile(args: argparse.Namespace) -> bool:
    """Whether --profile is for such a model: one that xrelay's own code runs, and compiles here."""
    return not args.backend and Path(args.model).suffix != ".so"


def _load(
    args: argparse.Namespace, given: Mapping[str, Array]
) -> tuple[Model | PartitionedModel | StagedModel | InterpretedModel | DynamicModel, Shapes]:
    """
    The model, from a library, from the cache or from the compiler, and what it is compiled for: the shapes of
    --shape, and where these leave something open the shapes and elements of the given inputs.
    """
    if args.fallback and not args.backend:
        raise CommandFailed("--fallback goes with --backend", BAD_INPUT)
    if args.placement != "priority" and not args.backend:
        raise CommandFailed("--placement goes with --backend", BAD_INPUT)
    with failing_with(BAD_INPUT):
        shapes: dict[str, int | Sequence[int] | InputValue] = dict(arguments.shapes(args.shape))
    load = _interpreted if args.interpret else _partitioned if args.backend else _own
    while True:
        try:
            return load(args, shapes), shapes
        except CommandFailed as failure:
            unknown = failure.__cause__
            if not isinstance(unknown, UnknownDimensions):
                raise
            names = {*shapes, *(spec.name for spec in unknown.inputs)}
            others = [name for name in given if name not in names]
            if others:
                raise CommandFailed(
                    f"--input names {few(map(repr, others))}, expected inputs of {few(unknown.inputs)}",
                    BAD_INPUT,
                ) from None
            if unknown.many and not args.interpret:
                return _staged(args, shapes), shapes
            found = unknown.known_of(given)
            if _random_will_do(unknown) and found.items() <= shapes.items():
                signature = DynamicSignature("", unknown.inputs, unknown.outputs)
                found = unknown.known_of(complete_inputs(signature, given, args.seed, shapes))
            if found.items() <= shapes.items():
                raise
            shapes.update(found)


def _random_will_do(unknown: UnknownDimensions) -> bool:
    """Whether random elements are as good as others: of data that decide about sizes, in the interpreter, and of conditions."""
    dtypes = [spec.dtype for spec in unknown.inputs if spec.name in unknown.values]
    return unknown.many or bool(dtypes) and all(each == np.bool_ for each in dtypes)


def _staged(args: argparse.Namespace, shapes: Shapes) -> StagedModel:
    """The model in stages, as its sizes depend on data."""
    from xrelay.compile_model import compile_model

    for option, value in {"--profile": args.profile, "--compare": args.compare}.items():
        if value:
            raise CommandFailed(
                f"{option} is for models of one program; sizes in '{args.model}' depend on data, and it runs in stages",
                BAD_INPUT,
            )
    with failing_with(BAD_INPUT):
        options = arguments.compile_options(args)
    with stage_progress() as progress, failing_with(FAILED):
        model = compile_model(
            args.model,
            shapes=shapes,
            threads=options.threads,
            target=options.target,
            winograd=options.winograd,
            tuning=options.tuning,
            max_nodes=options.limits.max_nodes,
            max_bytes=options.limits.max_bytes,
            precision=options.precision,
            precision_rules=options.precision_rules,
            backends=arguments.backends(args.backend),
            fallback=args.fallback,
            placement=args.placement,
            cache=not args.no_cache,
            progress=progress,
        )
    assert isinstance(model, StagedModel)
    return model


def _interpreted(args: argparse.Namespace, shapes: Shapes) -> InterpretedModel:
    """The model in the interpreter."""
    machine_code = {
        "--backend": args.backend,
        "--compare": args.compare,
        "--profile": args.profile,
        "--verify": args.verify,
        "--tuning": args.tuning,
    }
    for option, value in machine_code.items():
        if value:
            raise CommandFailed(f"{option} is for machine code, not for --interpret", BAD_INPUT)
    if Path(args.model).suffix == ".so":
        raise CommandFailed(f"'{args.model}' is machine code, which is not interpreted", BAD_INPUT)
    from xrelay.interpret_model import interpreted

    with stage_progress() as progress, failing_with(BAD_INPUT):
        progress("read the model")
        return interpreted(Path(args.model), shapes, arguments.limits(args))


def _own(args: argparse.Namespace, shapes: Shapes) -> Model | DynamicModel:
    """The model in xrelay's own code."""
    path = Path(args.model)
    with failing_with(BAD_INPUT):
        options = arguments.compile_options(args, profile=args.profile)
        if path.suffix == ".so":
            refusal = CommandFailed(
                "--verify, --profile, --shape, --target and --threads need the model; "
                f"'{path}' is machine code",
                BAD_INPUT,
            )
            if args.verify or args.profile or options != CompileOptions():
                raise refusal
            loaded = load(path)
            if shapes and not isinstance(loaded, DynamicModel):
                raise refusal
            return loaded
        place = None if args.no_cache else cache_place(path, shapes, options)
    with stage_progress() as progress, failing_with(FAILED):
        return load_or_compile(place, lambda: _compile(path, shapes, options, progress), progress)


def _reference(args: argparse.Namespace, given: Mapping[str, Array]) -> Model | PartitionedModel:
    """The model of --compare, on xrelay's own code, in the precision that it is stored in."""
    changes: dict[str, object] = {"model": args.compare, "precision": FULL, "precision_rules": None}
    changes.update(dict.fromkeys(("backend", "fallback", "profile", "verify"), False))
    model, _ = _load(argparse.Namespace(**{**vars(args), **changes}), given)
    assert isinstance(model, Model | PartitionedModel)
    return model


def _partitioned(args: argparse.Namespace, shapes: Shapes) -> PartitionedModel:
    """The model with parts that backends run."""
    from xrelay.partitioned import find_backends
    from xrelay.priority import priority_model, priority_source

    if args.profile:
        raise CommandFailed(
            "--profile is for xrelay's own code; `xrelay partition --run` has times of regions",
            BAD_INPUT,
        )
    if args.placement != "priority":
        return _placed(args, shapes)
    with stage_progress() as progress:
        with failing_with(BAD_INPUT):
            backends = find_backends(arguments.backends(args.backend))
            options = arguments.compile_options(args)
            progress("read the model")
            source = priority_source(Path(args.model), shapes, backends, options.limits)
        with failing_with(FAILED):
            return priority_model(
                source,
                backends,
                options,
                cache=not args.no_cache,
                fallback=args.fallback,
                progress=progress,
            )


def _placed(args: argparse.Namespace, shapes: Shapes) -> PartitionedModel:
    """The model with parts that backends run, as a plan has it."""
    from xrelay.engines import Engines
    from xrelay.placing import placed_model
    from xrelay.sources import Source

    with stage_progress() as progress:
        with failing_with(BAD_INPUT):
            engines = Engines.of(arguments.backends(args.backend))
            options = arguments.compile_options(args)
            progress("read the model")
            source = Source.read(Path(args.model), shapes, options.limits)
        with failing_with(FAILED):
            return placed_model(
                source,
                engines,
                options,
                args.placement,
                cache=not args.no_cache,
                fallback=args.fallback,
                progress=progress,
            )


@collector_paused()
def _compile(path: Path, shapes: Shapes, options: CompileOptions, progress: Progress) -> ModelCode:
    from xrelay.compiler import compile_code, read_model
    from xrelay.program_weights import require_weights
    from xrelay.staged import require_known_sizes

    with failing_with(BAD_INPUT):
        progress("read the model")
        module, name = read_model(path, shapes, options.limits)
        require_weights(module, path)
    with failing_with(FAILED):
        require_known_sizes(module)
        return compile_code(module, name, options, progress)


def read_array(path: Path) -> Array:
    """The array in a .npy file."""
    with open_regular(path) as file:
        try:
            return np.lib.format.read_array(file, allow_pickle=False)
        except (OSError, MemoryError):
            raise
        except Exception as error:
            # NumPy evaluates the header, and raises whatever that meets.
            reason = error if isinstance(error, ValueError) else "its header is damaged"
            raise CommandFailed(f"'{path}' is not a .npy file: {reason}", BAD_INPUT) from error


def random_array(spec: TensorSpec | OpenTensor, seed: int) -> Array:
    """
    Seeded random values of a tensor: normal floats, small integers; of 32 and 64 bits 0 and 1, as they may be flags, or
    indices into any table of two rows or more.

    Raises CommandFailed where dimensions are unknown.
    """
    if isinstance(spec, OpenTensor):
        shape, dtype = [dim for dim in spec.dims or () if isinstance(dim, int)], spec.dtype
        if spec.is_open or dtype is None:
            raise CommandFailed(
                f"input {spec} has unknown dimensions: use --input or --shape", BAD_INPUT
            )
    else:
        shape, dtype = list(spec.shape), spec.dtype
    generator = np.random.default_rng([seed, *spec.name.encode()])
    match dtype.kind:
        case "b":
            values = generator.integers(0, 2, shape)
        case "i" | "u":
            values = generator.integers(0, 8 if dtype.itemsize < 4 else 2, shape)
        case _:  # Floats; bf16 is of a kind of its own.
            values = generator.standard_normal(shape)
    return np.asarray(values).astype(dtype)


def complete_inputs(
    signature: Signature | DynamicSignature,
    given: Mapping[str, Array],
    seed: int,
    shapes: Shapes | None = None,
) -> dict[str, Array]:
    """
    The given inputs, and random ones for those that are missing. `shapes` says what open dimensions are.

    Raises CommandFailed where it names no input and no dimension, and where dimensions stay unknown.
    """
    inputs = dict(given)
    names = {
        dim for spec in signature.inputs if isinstance(spec, OpenTensor) for dim in spec.dims or ()
    }
    # Where elements are constants by now, their inputs are not among these, and the model has seen all names.
    are_all = not any(isinstance(each, InputValue) for each in (shapes or {}).values())
    for name in shapes or {} if are_all else ():
        if name not in names and all(name != spec.name for spec in signature.inputs):
            raise CommandFailed(
                f"--shape names '{name}', which is neither an input nor an open dimension of {few(signature.inputs)}",
                BAD_INPUT,
            )
    for spec in signature.inputs:
        if spec.name not in inputs:
            known = at_lengths(spec, shapes) if shapes and isinstance(spec, OpenTensor) else spec
            inputs[spec.name] = random_array(known, seed)
    return inputs


def at_lengths(spec: OpenTensor, shapes: Shapes) -> OpenTensor:
    """An input with the lengths that are known of its dimensions; whether they can be is up to the model."""
    whole = shapes.get(spec.name)
    if isinstance(whole, Sequence):
        return replace(spec, dims=tuple(whole))
    lengths: dict[str, int] = {}
    for name, each in shapes.items():
        # On the command line, one length is a shape of rank 1 as well.
        if isinstance(each, Sequence) and len(each) == 1:
            lengths[name] = each[0]
    dims = [lengths.get(dim, dim) if isinstance(dim, str) else dim for dim in spec.dims or ()]
    return replace(spec, dims=tuple(dims))


def write_outputs(folder: Path, outputs: Mapping[str, Array]) -> None:
    """One .npy file for each output; characters unfit for file names become `_`."""
    names: dict[str, str] = {}
    for output in outputs:
        name = re.sub(r"[^\w.-]", "_", output)
        if name in names:
            raise CommandFailed(
                f"outputs '{names[name]}' and '{output}' would both be written as {name}.npy",
                BAD_INPUT,
            )
        names[name] = output
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        for name, output in names.items():
            place = files.enter_context(whole_file(folder / f"{name}.npy"))
            with place.open("wb") as file:
                np.save(file, outputs[output], allow_pickle=False)


def _print_outputs(outputs: Mapping[str, Array], time_taken: str) -> None:
    table = Table("output", "dtype", "shape", "min", "mean", "max")
    for name, array in outputs.items():
        numbers = ["", "", ""]
        if array.size:
            values = array.astype(np.float64)
            numbers = [f"{number:.6g}" for number in (values.min(), values.mean(), values.max())]
        table.add_row(name, str(array.dtype), str(list(array.shape)), *numbers)
    console = Console(soft_wrap=True)
    console.print(table)
    console.print(time_taken)
