"""
The largest error of each f32 function of one argument over all 2**32 inputs.

    python tests/conformance/vector_math.py [function ...]

Compiled kernels are compared with NumPy in float64, whose own error does not show in f32. Targets
that this processor cannot run are left out; of targets whose results are the same bits, only one
is compared. The figures are those of docs/numerics.md. Takes a few minutes for each function.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from float_errors import ORACLES, errors, unreached
from vector_functions import FUNCTIONS, compiled, targets_here

CHUNK = 1 << 15
"""Small enough for arrays to stay in the cache."""


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


def main(names: Sequence[str]) -> None:
    """Measures the named functions, or all."""
    for name in names or list(ORACLES):
        measure(name)


if __name__ == "__main__":
    main(sys.argv[1:])
