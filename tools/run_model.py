"""`xrelay run`: compile a model, run it, show or write the outputs."""

import argparse
import re
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from xrelay.compiler import CompileOptions, build, lower, read_model, require_weights
from xrelay.interpreters.relay import interpret
from xrelay.lowering.target import NATIVE, named_target
from xrelay.runtime.files import whole_file
from xrelay.runtime.model import Array, Model, check_inputs, load
from xrelay.runtime.signature import Signature, TensorSpec
from xrelay.tools import arguments
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.progress import stage_progress

TOLERANCE = 1e-3
"""How far an output may be from the interpreter's, relative to the largest value there."""


def run_model(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.seed < 0:
        raise CommandFailed(f"--seed is {args.seed}, expected at least 0", BAD_INPUT)
    folder = None if args.output_dir is None else Path(args.output_dir)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise CommandFailed(f"cannot write into '{folder}': it is not a directory", BAD_INPUT)
    paths = arguments.named_values(args.input, "--input", "NAME=FILE.npy")
    with failing_with(BAD_INPUT):
        given = {name: read_array(Path(path)) for name, path in paths.items()}
    model, module = _compile(args)
    with failing_with(BAD_INPUT):
        inputs = complete_inputs(model.signature, given, args.seed)
        check_inputs(model.signature.inputs, inputs)
        start = time.perf_counter()
        outputs = model.run(inputs)
        seconds = time.perf_counter() - start
        if folder is not None:
            write_outputs(folder, outputs)
    _print_outputs(outputs, seconds)
    return 0 if module is None else _verify(module, model.signature, inputs, outputs)


def _compile(args: argparse.Namespace) -> tuple[Model, ModuleOp | None]:
    """The model, and for --verify its relay module."""
    path = Path(args.model)
    with failing_with(BAD_INPUT):
        options = CompileOptions(args.threads, args.target)
        target = named_target(options.target)
        shapes = arguments.shapes(args.shape)
        if path.suffix == ".so":
            if args.verify or shapes or options.target != NATIVE:
                raise CommandFailed(
                    f"--verify, --shape and --target need the model; '{path}' is machine code",
                    BAD_INPUT,
                )
            return load(path), None
    with stage_progress() as progress:
        with failing_with(BAD_INPUT):
            progress("read the model")
            module, name = read_model(path, shapes)
            require_weights(module)
        with failing_with(FAILED):
            original = module.clone() if args.verify else None
            code, signature = build(lower(module, target, progress), name, target, progress)
            progress("generate machine code")
            return code.load(signature), original


def read_array(path: Path) -> Array:
    """The array in a .npy file."""
    with path.open("rb") as file:
        try:
            return np.lib.format.read_array(file, allow_pickle=False)
        except (OSError, MemoryError):
            raise
        except Exception as error:
            # NumPy evaluates the header, and raises whatever that meets.
            reason = error if isinstance(error, ValueError) else "its header is damaged"
            raise CommandFailed(f"'{path}' is not a .npy file: {reason}", BAD_INPUT) from error


def random_array(spec: TensorSpec, seed: int) -> Array:
    """Seeded random values of a tensor: normal floats, small integers."""
    generator = np.random.default_rng([seed, *spec.name.encode()])
    if spec.dtype.kind == "f":
        return np.asarray(generator.standard_normal(spec.shape)).astype(spec.dtype)
    if spec.dtype.kind == "b":
        return np.asarray(generator.integers(0, 2, spec.shape)).astype(spec.dtype)
    return np.asarray(generator.integers(0, 8, spec.shape)).astype(spec.dtype)


def complete_inputs(
    signature: Signature, given: Mapping[str, Array], seed: int
) -> dict[str, Array]:
    """The given inputs, and random ones for those that are missing."""
    inputs = dict(given)
    for spec in signature.inputs:
        if spec.name not in inputs:
            inputs[spec.name] = random_array(spec, seed)
    return inputs


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


def _print_outputs(outputs: Mapping[str, Array], seconds: float) -> None:
    table = Table("output", "dtype", "shape", "min", "mean", "max")
    for name, array in outputs.items():
        numbers = ["", "", ""]
        if array.size:
            values = array.astype(np.float64)
            numbers = [f"{number:.6g}" for number in (values.min(), values.mean(), values.max())]
        table.add_row(name, str(array.dtype), str(list(array.shape)), *numbers)
    console = Console(soft_wrap=True)
    console.print(table)
    console.print(f"ran in {1e3 * seconds:.1f} ms")


def largest_difference(found: Array, expected: Array) -> float:
    """The largest difference, relative to the largest finite expected value (inf for NaNs)."""
    if found.dtype.kind != "f":
        return float(np.count_nonzero(found != expected))
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    if same.all():
        return 0.0
    finite = np.abs(expected[np.isfinite(expected)].astype(np.float64))
    scale = max(float(finite.max(initial=0.0)), float(np.finfo(np.float64).tiny))
    with np.errstate(invalid="ignore"):
        gap = np.abs(found.astype(np.float64) - expected.astype(np.float64))[~same]
    return float(np.nan_to_num(gap.max(), nan=np.inf)) / scale


def _verify(
    module: ModuleOp,
    signature: Signature,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
) -> int:
    with stage_progress() as progress, failing_with(FAILED):
        progress("run the interpreter")
        expected = interpret(module, [inputs[spec.name] for spec in signature.inputs])
    worst = 0
    for (name, found), wanted in zip(outputs.items(), expected, strict=True):
        difference = largest_difference(found, wanted)
        verdict = "agrees with" if difference <= TOLERANCE else "DIFFERS from"
        print(f"{name} {verdict} the interpreter: largest relative difference {difference:.3g}")
        worst = max(worst, FAILED if difference > TOLERANCE else 0)
    return worst
