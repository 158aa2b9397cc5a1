"""`xrelay run`: compile a model, run it, show or write the outputs."""

import argparse
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from xrelay.compiler import CompileOptions, build, lower, read_model
from xrelay.interpreters.relay import interpret
from xrelay.lowering.target import named_target
from xrelay.runtime.model import Array, Model, check_inputs, load
from xrelay.runtime.signature import Signature, TensorSpec
from xrelay.tools import arguments
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.progress import stage_progress

TOLERANCE = 1e-3
"""How far an output may be from the interpreter's, relative to the largest value there."""


def run_model(args: argparse.Namespace) -> int:
    """Runs the command."""
    with failing_with(BAD_INPUT):
        given = {
            name: _read_array(Path(path))
            for name, path in arguments.named_values(args.input, "--input", "NAME=FILE.npy").items()
        }
    model, module = _compile(args)
    with failing_with(BAD_INPUT):
        inputs = complete_inputs(model.signature, given, args.seed)
        check_inputs(model.signature.inputs, inputs)
    start = time.perf_counter()
    outputs = model.run(inputs)
    seconds = time.perf_counter() - start
    with failing_with(BAD_INPUT):
        if args.output_dir is not None:
            write_outputs(Path(args.output_dir), outputs)
    _print_outputs(outputs, seconds)
    if args.verify:
        if module is None:
            raise CommandFailed("--verify needs the model, not a saved library", BAD_INPUT)
        return _verify(module, model.signature, inputs, outputs)
    return 0


def _compile(args: argparse.Namespace) -> tuple[Model, ModuleOp | None]:
    """The model, and its relay module unless it was saved as machine code."""
    path = Path(args.model)
    if path.suffix == ".so":
        with failing_with(BAD_INPUT):
            return load(path), None
    with stage_progress() as progress:
        with failing_with(BAD_INPUT):
            options = CompileOptions(args.threads, args.target)
            target = named_target(options.target)
            progress("read the model")
            module, name = read_model(path, arguments.shapes(args.shape))
        with failing_with(FAILED):
            original = module.clone() if args.verify else None
            code, signature = build(lower(module, target, progress), name, target, progress)
            progress("generate machine code")
            return code.load(signature), original


def _read_array(path: Path) -> Array:
    try:
        array: object = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise CommandFailed(f"'{path}' is not a .npy file: {error}", BAD_INPUT) from error
    if not isinstance(array, np.ndarray):
        raise CommandFailed(f"'{path}' holds several arrays, expected one", BAD_INPUT)
    return cast(Array, array)


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
    """One .npy file for each output; characters that file names do not have become `_`."""
    folder.mkdir(parents=True, exist_ok=True)
    names: dict[str, str] = {}
    for output in outputs:
        file = re.sub(r"[^\w.-]", "_", output)
        if file in names:
            raise CommandFailed(
                f"outputs '{names[file]}' and '{output}' would both be written as {file}.npy",
                BAD_INPUT,
            )
        names[file] = output
    for file, output in names.items():
        np.save(folder / f"{file}.npy", outputs[output], allow_pickle=False)


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
    scale = max(finite.max(initial=0.0), np.finfo(np.float64).tiny)
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
