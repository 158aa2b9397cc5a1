"""Models that ONNX's tests do not have are imported as `contrib_imports.txt` says."""

import onnx
import pytest
from code_records import contrib_imports
from code_records.imports import imported
from code_records.reading import pairs, require_same
from onnx import ModelProto

VERSION, *LINES = contrib_imports.FILE.read_text().splitlines()
KNOWN = pairs(LINES)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(VERSION != f"onnx {onnx.__version__}", reason=f"the record is of {VERSION}"),
]


@pytest.fixture(scope="module", name="models")
def all_models() -> dict[str, ModelProto]:
    """The models on record."""
    return dict(contrib_imports.models())


def test_all_models_are_on_record(models: dict[str, ModelProto]) -> None:
    assert list(KNOWN) == list(models), "run `make pages`"


def test_models_are_imported_as_on_record(models: dict[str, ModelProto]) -> None:
    require_same(KNOWN, ((name, imported(model)) for name, model in models.items()))
