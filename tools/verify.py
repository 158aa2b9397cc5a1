"""Comparison of compiled code with the NumPy interpreter."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xrelay.compiler import read_model
from xrelay.contract import TOLERANCES
from xrelay.dialects.limits import Limits
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp
from xrelay.interpret_model import interpret_model
from xrelay.interpreters.numerics import is_float
from xrelay.lowering.emit.target import Target
from xrelay.precision import FULL, INTEGERS, PRECISIONS, widened
from xrelay.runtime.model import Array
from xrelay.runtime.signature import Shapes, UnknownDimensions
from xrelay.tools.errors import FAILED, failing_with
from xrelay.tools.progress import stage_progress
from xrelay.transforms.cpu_pipeline import CpuPipelinePass
from xrelay.transforms.quantize.round_block_data import RoundBlockDataPass
from xrelay.transforms.quantize.widen_floats import short_floats

TOLERANCE = 1e-3
"""How far an output may be from the interpreter's, relative to the largest value there."""
BYTE_TOLERANCE = 2e-2
"""The same where products round their data to 8 bits, with a scale for each block."""
ROUNDINGS = 2
"""How many roundings of its type it may be away, where that is more: of 16-bit floating point."""


ROUNDING_ORDERS = 2
"""
How much further an output of a quantised model may be from the program of its integers than that is from the program as
it is written: both round, at different places.
"""


def tolerance(dtype: np.dtype[Any], precision: str = FULL) -> float:
    """
    How far results of a type may be apart, as `largest_difference` has it, when products are computed with a
    precision.
    """
    if not is_float(dtype):
        return 0.0
    if precision == INTEGERS:
        return BYTE_TOLERANCE
    if precision != FULL:
        return TOLERANCES[PRECISIONS[precision]]
    one = np.ones((), dtype)
    rounding = float(np.nextafter(one, dtype.type(2)) - one)
    return max(TOLERANCE, ROUNDINGS * rounding)


def largest_difference(found: Array, expected: Array) -> float:
    """
    The largest difference of floating-point numbers, relative to the largest finite expected value
    (inf for NaNs); of other types, how many elements differ.
    """
    if not is_float(found.dtype):
        return float(np.count_nonzero(found != expected))
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    if same.all():
        return 0.0
    finite = np.abs(expected[np.isfinite(expected)].astype(np.float64))
    scale = max(float(finite.max(initial=0.0)), float(np.finfo(np.float64).tiny))
    with np.errstate(invalid="ignore"):
        gap = np.abs(found.astype(np.float64) - expected.astype(np.float64))[~same]
    return float(np.nan_to_num(gap.max(), nan=np.inf)) / scale


@dataclass(frozen=True)
class Interpreter:
    """What the interpreter says of a model and inputs."""

    path: Path
    shapes: Shapes
    limits: Limits
    inputs: Mapping[str, Array]

    def outputs(self, model: Path | ModuleOp) -> Mapping[str, Array]:
        """The outputs of the model, or of a program that was made of it."""
        return interpret_model(
            model,
            self.inputs,
            shapes=self.shapes if isinstance(model, Path) else None,
            max_nodes=self.limits.max_nodes,
            max_bytes=self.limits.max_bytes,
        )

    def prepared(self, target: Target, precision: str) -> "Prepared | None":
        """
        What the program gives that a model becomes which is quantised, or of 16-bit numbers, with a precision: it rounds where
        the code does. None where the model is neither or has dimensions that are found as it runs.
        """
        lengths = {name: array.shape for name, array in self.inputs.items()}
        try:
            module, _ = read_model(self.path, {**(self.shapes or {}), **lengths}, self.limits)
        except UnknownDimensions:
            return None
        types = widened(target)
        is_quantised = any(op.name.startswith("relay.qnn.") for op in module.walk())
        if not is_quantised and not short_floats(module, types):
            return None
        CpuPipelinePass(widened=types).apply(Context(), module)
        if precision == INTEGERS:
            RoundBlockDataPass().apply(Context(), module)
        rounds_data = any(
            isinstance(op, QnnDenseBlocksOp) and op.rounds_data for op in module.walk()
        )
        return Prepared(self.outputs(module), is_quantised, rounds_data)


@dataclass(frozen=True)
class Prepared:
    """What the interpreter says of the program that a model becomes."""

    outputs: Mapping[str, Array]
    is_quantised: bool
    rounds_data: bool
    """Whether products round their data to 8 bits: what is added in another order may be a step away."""


def verify(
    path: Path,
    shapes: Shapes,
    limits: Limits,
    precision: str,
    target: Target,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
) -> int:
    """
    Prints how far the outputs of a model, compiled with a precision for a target, are from the interpreter's. Returns
    the exit code.

    A quantised model means the same with integers but for its roundings, and a step of a number at its beginning becomes
    many later on; one of 16-bit numbers is rounded at its end alone. Where outputs are further away than arithmetic of real
    numbers is, they are compared with the program that the model becomes. That of integers rounds elsewhere than the code:
    outputs may be twice as far from it as both programs are from one another.
    """
    interpreter = Interpreter(path, shapes, limits, inputs)
    with stage_progress() as progress, failing_with(FAILED):
        progress("run the interpreter")
        expected = interpreter.outputs(path)
    prepared: Prepared | None = None
    # Of a model without such products int8 changes nothing.
    usual = FULL if precision == INTEGERS else precision
    if not all(judged(found, expected[name], None, usual)[0] for name, found in outputs.items()):
        with stage_progress() as progress, failing_with(FAILED):
            progress("run the interpreter on the prepared program")
            prepared = interpreter.prepared(target, precision)
    worst = 0
    for name, found in outputs.items():
        if prepared is None:
            agrees, text = judged(found, expected[name], None, usual)
        else:
            orders = ROUNDING_ORDERS if prepared.is_quantised else 0
            allowed = INTEGERS if prepared.rounds_data else usual
            agrees, text = judged(found, expected[name], prepared.outputs[name], allowed, orders)
        print(f"{name} {text}")
        worst = max(worst, 0 if agrees else FAILED)
    return worst


def judged(
    found: Array,
    expected: Array,
    prepared: Array | None,
    precision: str = FULL,
    orders: float = ROUNDING_ORDERS,
) -> tuple[bool, str]:
    """
    Whether an output is what the interpreter says, of the program as it is written or as it is prepared, which may be
    so many times further away than these two are apart; in words.
    """
    if found.shape != expected.shape:
        both = f"{list(found.shape)}, {list(expected.shape)} there"
        return False, f"DIFFERS from the interpreter: its shape is {both}"
    difference = largest_difference(found, expected)
    allowed = tolerance(expected.dtype, precision)
    text = f"the interpreter: largest relative difference {difference:.3g}"
    if is_float(expected.dtype) and (count := int(np.isnan(expected).sum())):
        text += f", {count} of {expected.size} elements are NaN"
    if difference <= allowed:
        return True, f"agrees with {text}"
    if prepared is None or not is_float(expected.dtype):
        return False, f"DIFFERS from {text}"
    near, apart = largest_difference(found, prepared), largest_difference(prepared, expected)
    agrees = near <= max(allowed, orders * apart if np.isfinite(apart) else 0)
    verdict = "agrees with" if agrees else "DIFFERS from"
    return agrees, (
        f"{verdict} {text} from the program as it is written, {near:.3g} from the one that it becomes; "
        f"these two are {apart:.3g} apart"
    )
