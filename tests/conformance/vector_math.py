"""
The largest error of each f32 function of one argument over all 2**32 inputs, and of the operators that
use them (`activations`) on all f16 numbers and on every 101st f32 number, in rows on every 1009th.

    python tests/conformance/vector_math.py [function | activations ...]

Compiled kernels are compared with NumPy in float64, whose own error does not show in f32. Targets
that this processor cannot run are left out; of targets whose results are the same bits, only one
is compared. The figures are those of docs/numerics.md. Takes a few minutes for each function, and
for the activations together.
"""

import sys
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from activations import ACTIVATIONS, ROWS, Activation, largest_error, model, numbers, rows
from float_errors import ORACLES, errors, unreached
from vector_functions import FUNCTIONS, compiled, targets_here

from xrelay.compile_model import compile_model

CHUNK = 1 << 15
"""Small enough for arrays to stay in the cache."""

STEP, STEP_OF_ROWS = 101, 1009
"""One of so many f32 numbers is tried with activations, and in rows."""


def measure(name: str) -> None:
    """Prints a line for each target."""
    targets = targets_here()
    codes = [compiled(FUNCTIONS[name], 1, np.float32, target, 16) for target in targets]
    worst = [(0.5, np.float32(0))] * len(targets)
    for start in range(0, 1 << 32, CHUNK):
        x = np.arange(start, start + CHUNK, dtype=np.uint64).astype(np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            exact = ORACLES[name](x.astype(np.float64))
        known: dict[bytes, tuple[float, np.float32]] = {}
        for i, code in enumerate(codes):
            found = code(x)
            bits = found.tobytes()
            if bits not in known:
                where, sizes = errors(found, exact)
                sizes = np.where(unreached(name, found, exact)[where], np.inf, sizes)
                j = int(np.argmax(sizes)) if len(where) else 0
                known[bits] = (float(sizes[j]), x[where[j]]) if len(where) else (0.0, x[0])
            worst[i] = max(worst[i], known[bits])
    for target, (error, place) in zip(targets, worst, strict=True):
        print(f"{name:8} {target:10} {error:6.3f} ulp at {float(place)!r}", flush=True)


def measure_activations(table: Sequence[Activation], dtype: Any) -> None:
    """Prints a line for each operator and target."""
    targets, x = targets_here(), numbers(dtype, STEP_OF_ROWS if table is ROWS else STEP)
    chunk = 1 << 18
    x = np.concatenate([x, np.ones(-len(x) % chunk, dtype)]) if len(x) > chunk else x
    parts = [x[start : start + chunk] for start in range(0, len(x), chunk)]
    if table is ROWS:
        parts = [rows(part) for part in parts]
    worst = [[(0.0, parts[0][0])] * len(table) for _ in targets]
    code = [compile_model(model(table, parts[0]), target=target, cache=False) for target in targets]
    for part in parts:
        for errors_of_target, each in zip(worst, code, strict=True):
            for i, found in enumerate(each.run({"x": part}).values()):
                measured = largest_error(table[i], part, found)
                errors_of_target[i] = max(errors_of_target[i], measured, key=itemgetter(0))
    for i, activation in enumerate(table):
        for target, errors_of_target in zip(targets, worst, strict=True):
            error, place = errors_of_target[i]
            name = f"{activation.label}, {np.dtype(dtype).name}"
            print(f"{name:32} {target:10} {error:6.3f} ulp at {place.tolist()!r}", flush=True)


def main(names: Sequence[str]) -> None:
    """Measures the named functions, or all and the activations."""
    for name in names or [*ORACLES, "activations"]:
        if name != "activations":
            measure(name)
            continue
        for dtype in (np.float16, np.float32):
            measure_activations(ACTIVATIONS, dtype)
            measure_activations(ROWS, dtype)


if __name__ == "__main__":
    main(sys.argv[1:])
