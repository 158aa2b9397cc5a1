"""What models with unknown dimensions keep of their files."""

import gc
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

import xrelay
from xrelay.frontends.onnx import load_model
from xrelay.runtime.dynamic import DynamicModel


def test_a_file_is_read_once_before_its_first_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of it until then goes with that program, also out of the memory of errors."""
    path = tmp_path / "open.onnx"
    path.write_bytes(
        parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> open (float[n, 3] x) => (float[n, 3] y) { y = Relu(x) }'
        ).SerializeToString()
    )
    read: list[str] = []

    def counted(path: str | Path) -> onnx.ModelProto:
        read.append(str(path))
        return load_model(path)

    def held() -> int:
        gc.collect()
        return sum(isinstance(each, onnx.ModelProto) for each in gc.get_objects())

    monkeypatch.setattr("xrelay.frontends.onnx.importer.model.load_model", counted)
    before = held()
    compiled = xrelay.compile(path, cache=False)
    assert held() == before + 1
    for rows in (2, 5):
        x = np.full((rows, 3), -1, np.float32)
        np.testing.assert_array_equal(compiled.run({"x": x})["y"], np.zeros((rows, 3)))
        assert held() == before and len(read) == 1
    # For a program of known lengths it is read again.
    assert isinstance(compiled, DynamicModel)
    compiled.specialise({"x": (4, 3)})
    assert held() == before and len(read) == 2
