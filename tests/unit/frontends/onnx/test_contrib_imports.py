"""Models that ONNX's tests do not have are imported as `contrib_imports.txt` says."""

from collections.abc import Iterator

import onnx
import pytest
from code_records import contrib_imports
from code_records.imports import imported
from onnx import ModelProto

VERSION, *LINES = contrib_imports.FILE.read_text().splitlines()
KNOWN = dict(line.split(": ", 1) for line in LINES)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(VERSION != f"onnx {onnx.__version__}", reason=f"the record is of {VERSION}"),
]


@pytest.fixture(scope="module", name="models")
def all_models() -> dict[str, ModelProto]:
    """The models on record."""
    return dict(contrib_imports.models())


def differences(models: dict[str, ModelProto]) -> Iterator[str]:
    """What is imported otherwise."""
    for name, model in models.items():
        found = imported(model)
        if found != KNOWN.get(name):
            yield f"- {name}: {KNOWN.get(name)}\n+ {name}: {found}"


def test_all_models_are_on_record(models: dict[str, ModelProto]) -> None:
    assert list(KNOWN) == list(models), "run `make pages`"


def test_models_are_imported_as_on_record(models: dict[str, ModelProto]) -> None:
    found = list(differences(models))
    assert not found, "\n".join(["if this is better, run `make pages`", *found])
