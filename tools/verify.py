"""Comparison of compiled code with the NumPy interpreter."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from xrelay.contract import TOLERANCES
from xrelay.dialects.limits import Limits
from xrelay.interpret_model import interpret_model
from xrelay.interpreters.numerics import is_float
from xrelay.precision import FULL, PRECISIONS
from xrelay.runtime.model import Array
from xrelay.runtime.signature import Shapes
from xrelay.tools.errors import FAILED, failing_with
from xrelay.tools.progress import stage_progress

TOLERANCE = 1e-3
"""How far an output may be from the interpreter's, relative to the largest value there."""
ROUNDINGS = 2
"""How many roundings of its type it may be away, where that is more: of 16-bit floating point."""


def tolerance(dtype: np.dtype[Any], precision: str = FULL) -> float:
    """
    How far results of a type may be apart, as `largest_difference` has it, when products are computed with a
    precision.
    """
    if not is_float(dtype):
        return 0.0
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


def verify(
    path: Path,
    shapes: Shapes,
    limits: Limits,
    precision: str,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
) -> int:
    """
    Prints how far the outputs of a model, compiled with a precision, are from the interpreter's. Returns the exit
    code.
    """
    with stage_progress() as progress, failing_with(FAILED):
        progress("run the interpreter")
        expected = interpret_model(
            path,
            inputs,
            shapes=shapes,
            max_nodes=limits.max_nodes,
            max_bytes=limits.max_bytes,
        )
    worst = 0
    for name, found in outputs.items():
        wanted = expected[name]
        if found.shape != wanted.shape:
            shapes_of_both = f"{list(found.shape)}, {list(wanted.shape)} there"
            print(f"{name} DIFFERS from the interpreter: its shape is {shapes_of_both}")
            worst = FAILED
            continue
        difference = largest_difference(found, wanted)
        agrees = difference <= tolerance(wanted.dtype, precision)
        verdict = "agrees with" if agrees else "DIFFERS from"
        print(f"{name} {verdict} the interpreter: largest relative difference {difference:.3g}")
        worst = max(worst, 0 if agrees else FAILED)
    return worst
