"""`xrelay compile`: write a model as relay, ONNX, kernel IR, LLVM IR or machine code."""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.suggestions import did_you_mean
from xrelay.compiler import compile_code, lower, read_model, relay_passes, run_passes
from xrelay.lowering.emit.target import named_target
from xrelay.lowering.llvm.to_llvm import convert_module
from xrelay.options import CompileOptions
from xrelay.precision import FULL
from xrelay.program_weights import require_weights
from xrelay.runtime.signature import UnknownDimensions
from xrelay.staged import require_known_sizes
from xrelay.tools import arguments
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.module_file import write_module
from xrelay.tools.progress import stage_progress

SUFFIXES = (".mlir", ".onnx", ".ll", ".o", ".so")
ROUNDING = {"bf16 or f16": "reduce-precision", "int8": "round-block-data"}
"""Passes that only some kinds of --precision run."""
RELAY_STAGES = (
    "import",
    *dict.fromkeys(
        name
        for each in relay_passes(CompileOptions(precision="bf16"))
        for name in (ROUNDING.values() if each.name in ROUNDING.values() else [each.name])
    ),
)
STAGES = (
    *RELAY_STAGES,
    "convert-relay-to-kernels",
    "convert-kernels-to-llvm",
)


def compile_file(args: argparse.Namespace) -> int:
    """Runs the command."""
    output = Path(args.output)
    if output.suffix not in SUFFIXES:
        raise CommandFailed(
            f"-o is '{output}', expected a name that ends with {', '.join(SUFFIXES)}", BAD_INPUT
        )
    if args.emit_after is not None and output.suffix not in (".mlir", ".onnx"):
        raise CommandFailed(
            "--emit-after goes with an output that ends with .mlir or .onnx", BAD_INPUT
        )
    if args.external_data and output.suffix != ".onnx":
        raise CommandFailed("--external-data goes with an output that ends with .onnx", BAD_INPUT)
    stages = RELAY_STAGES if output.suffix == ".onnx" else STAGES
    if args.emit_after not in (None, *stages):
        raise CommandFailed(
            f"--emit-after is '{args.emit_after}', expected {', '.join(stages)}"
            f"{did_you_mean(args.emit_after, stages)}",
            BAD_INPUT,
        )
    if output.suffix == ".onnx" and args.precision != FULL and args.emit_after in (None, "import"):
        raise CommandFailed(
            f"--precision {args.precision} changes an output that ends with .onnx only with --emit-after and a stage that "
            "rounds, or a later one",
            BAD_INPUT,
        )
    arguments.require_writable(args.output)
    try:
        _write(args, output)
    except CommandFailed as failure:
        unknown = failure.__cause__
        if output.suffix in (".onnx", ".mlir") or not isinstance(unknown, UnknownDimensions):
            raise
        _write_many(args, output, unknown)
    return 0


def _write(args: argparse.Namespace, output: Path) -> None:
    """Writes the output, of a model whose dimensions are known."""
    with stage_progress() as progress:
        with failing_with(BAD_INPUT):
            options = arguments.compile_options(args)
            progress("read the model")
            shapes, is_onnx = arguments.shapes(args.shape), output.suffix == ".onnx"
            module, name = read_model(args.model, shapes, options.limits, unrolled=is_onnx)
            if output.suffix != ".mlir":
                require_weights(module, args.model)
        if output.suffix == ".mlir":
            with failing_with(FAILED):
                module = module_after(module, args.emit_after or "fuse-ops", options)
            with failing_with(BAD_INPUT):
                write_module(module, output)
            return
        if output.suffix == ".onnx":
            with failing_with(FAILED):
                module = module_after(module, args.emit_after or "import", options)
                progress("write the output")
                write_onnx(module, name, output, external_data=args.external_data)
            return
        with failing_with(BAD_INPUT):
            require_known_sizes(module)
        with failing_with(FAILED):
            code = compile_code(module, name, options, progress)
        progress("write the output")
        with failing_with(BAD_INPUT):
            code.save(output)


def _write_many(args: argparse.Namespace, output: Path, unknown: UnknownDimensions) -> None:
    """Writes machine code that takes dimensions, and says which of them."""
    from xrelay.saved_lengths import compile_many

    with stage_progress() as progress:
        with failing_with(BAD_INPUT):
            options = arguments.compile_options(args)
        with failing_with(FAILED):
            code = compile_many(Path(args.model), unknown, options, progress)
        progress("write the output")
        with failing_with(BAD_INPUT):
            code.save(output)
    print(f"'{output}' serves")
    for each in code.interface.conditions():
        print(f"  {each}")


def module_after(module: ModuleOp, stage: str, options: CompileOptions) -> ModuleOp:
    """The program after a stage of the pipeline."""
    passes = relay_passes(options)
    # A pass that runs several times is meant the last time.
    ends = {"import": 0} | {each.name: number for number, each in enumerate(passes, 1)}
    if stage in ends:
        run_passes(module, passes[: ends[stage]], limits=options.limits)
        return module
    if stage in RELAY_STAGES:
        (kinds,) = (kinds for kinds, name in ROUNDING.items() if name == stage)
        raise CommandFailed(f"--emit-after {stage} goes with --precision {kinds}", BAD_INPUT)
    lowered = lower(module, options).module
    if stage == "convert-kernels-to-llvm":
        convert_module(lowered, named_target(options.target).triple)
    return lowered


def write_onnx(module: ModuleOp, name: str, path: Path, *, external_data: bool) -> None:
    """
    Writes a module as an ONNX model that ONNX's checker accepts; with `external_data` its weights
    go to a file beside it, `path` with `.data` after it.

    Raises OnnxExportError, and OSError when a file cannot be written; then none is.
    """
    from onnx import checker, shape_inference

    from xrelay.frontends.onnx import OnnxExportError, export_model
    from xrelay.frontends.onnx.exporter.model import ExternalWeights

    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise OnnxExportError(f"cannot write {str(path)!r}: ONNX's checker takes UTF-8") from error
    # The checker looks for the weights beside the model, under the name that this states.
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        written, weights = Path(folder, path.name), Path(folder, f"{path.name}.data")
        if external_data:
            with weights.open("wb") as file:
                model = export_model(module, name, external=ExternalWeights(weights.name, file))
        else:
            model = export_model(module, name)
        written.write_bytes(model.SerializeToString())
        try:
            cast(Any, checker).check_model(str(written))  # partly untyped
            shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        except (checker.ValidationError, shape_inference.InferenceError) as error:
            raise OnnxExportError(f"cannot export '{name}' to ONNX: {error}") from error
        if external_data:
            weights.replace(path.with_name(weights.name))
        written.replace(path)
