"""
What becomes of models of one operator when they are imported: `contrib_imports.txt`, which a change of the importer
changes.

The models are those that ONNX's tests do not have: each operator in the older operator sets, too, with inputs and
attributes as the fuzzer draws them, and operators of other domains. `make pages` writes the file anew: the difference shows
which operators a change imports otherwise, or refuses.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import onnx
from onnx import ModelProto

from code_records import contrib_models, drawn_models
from code_records.imports import imported

FILE = Path(__file__).parents[2] / "unit" / "frontends" / "onnx" / "contrib_imports.txt"


def models() -> Iterator[tuple[str, ModelProto]]:
    """All models, by name."""
    yield from chain(drawn_models.models(), contrib_models.models())


def text() -> str:
    """The version of onnx, and a line for each model."""
    found = "".join(f"{name}: {imported(model)}\n" for name, model in models())
    return f"onnx {onnx.__version__}\n{found}"


if __name__ == "__main__":
    FILE.write_text(text())
