"""
What becomes of ONNX's own tests for backends when they are imported: `imports.txt`, which a change of the importer
changes.

`make pages` writes it anew: the difference shows which operators a change imports otherwise, or refuses.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test
from onnx import ModelProto
from onnx.backend.test.case.node import collect_testcases
from xdsl.utils.exceptions import DiagnosticException

from xrelay.collector import collector_paused
from xrelay.frontends.onnx import import_model

FILE = Path(__file__).parents[2] / "unit" / "frontends" / "onnx" / "imports.txt"
FOLDERS = ("pytorch-converted", "pytorch-operator", "simple")
SILENT = ("builtin.module", "func.func", "func.return")
"""Operations that all programs have."""


def models() -> Iterator[tuple[str, ModelProto]]:
    """The models of the tests, by name. Their random weights are seeded."""
    state = np.random.get_state()
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Expected results overflow on purpose.
        cases = collect_testcases(None)
    np.random.set_state(state)
    yield from ((case.name, case.model) for case in cases)
    data = Path(onnx.backend.test.__file__).parent / "data"
    for folder in FOLDERS:
        for path in sorted((data / folder).glob("*/model.onnx")):
            yield f"{folder}/{path.parent.name}", onnx.load(path)


@collector_paused()
def imported(model: ModelProto) -> str:
    """The operations that a model becomes and a digest of the program, or why it is refused."""
    try:
        module = import_model(model)
    except DiagnosticException as error:
        return "refused: " + re.sub(r"\s+", " ", str(error))
    counts = Counter(
        op.name.removeprefix("relay.") for op in module.walk() if op.name not in SILENT
    )
    names = ", ".join(name if n == 1 else f"{n} {name}" for name, n in sorted(counts.items()))
    return f"{names}; program {sha256(str(module).encode()).hexdigest()[:8]}"


def text() -> str:
    """The version of onnx, and a line for each test."""
    found = "".join(f"{name}: {imported(model)}\n" for name, model in models())
    return f"onnx {onnx.__version__}\n{found}"


if __name__ == "__main__":
    FILE.write_text(text())
