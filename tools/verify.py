"""Comparison of compiled code with the NumPy interpreter."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from xrelay.compiler import read_model
from xrelay.interpreters.relay import interpret
from xrelay.lowering.program import entry_function
from xrelay.options import Shapes
from xrelay.runtime.model import Array
from xrelay.tools.errors import FAILED, failing_with
from xrelay.tools.progress import stage_progress

TOLERANCE = 1e-3
"""How far an output may be from the interpreter's, relative to the largest value there."""


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


def verify(
    path: Path, shapes: Shapes, inputs: Sequence[Array], outputs: Mapping[str, Array]
) -> int:
    """Prints how far the outputs of a model are from the interpreter's. Returns the exit code."""
    with stage_progress() as progress, failing_with(FAILED):
        progress("run the interpreter")
        module, _ = read_model(path, shapes)
        expected = interpret(module, inputs, entry_function(module).sym_name.data)
    worst = 0
    for (name, found), wanted in zip(outputs.items(), expected, strict=True):
        difference = largest_difference(found, wanted)
        verdict = "agrees with" if difference <= TOLERANCE else "DIFFERS from"
        print(f"{name} {verdict} the interpreter: largest relative difference {difference:.3g}")
        worst = max(worst, FAILED if difference > TOLERANCE else 0)
    return worst
