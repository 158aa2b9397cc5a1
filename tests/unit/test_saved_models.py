"""Shared libraries of models: saved again, foreign, damaged, or for another processor."""

import dataclasses
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Block, Region

import xrelay
from xrelay.dialects.unary import ElementwiseUnaryOp, NegativeOp, ReluOp

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

DATA = np.array([-1.0, 2.0], np.float32)


def model_of(op_type: type[ElementwiseUnaryOp]) -> xrelay.Model:
    block = Block(arg_types=[TensorType(f32, [2])])
    block.args[0].name_hint = "x"
    op = op_type(block.args[0])
    block.add_ops([op, func.ReturnOp(op.result)])
    type_ = FunctionType.from_lists(block.arg_types, [op.result.type])
    return xrelay.compile(ModuleOp([func.FuncOp("main", type_, Region(block))]))


@needs_compiler
def test_a_library_that_is_saved_again_is_read_again(tmp_path: Path):
    path = tmp_path / "model.so"
    model_of(ReluOp).save(path)
    first = xrelay.load(path)
    model_of(NegativeOp).save(path)
    second = xrelay.load(path)
    np.testing.assert_array_equal(first.run({"x": DATA})["output0"], [0, 2])
    np.testing.assert_array_equal(second.run({"x": DATA})["output0"], [1, -2])


def library(folder: Path, source: str) -> Path:
    """A library from C source."""
    (folder / "model.c").write_text(source)
    path = folder / "model.so"
    subprocess.run(["cc", "-shared", "-o", path, folder / "model.c"], check=True)
    return path


METADATA = (
    '{"format": 1, "name": "m", "inputs": [], "outputs": [], "target": "x", "features": [], '
    '"workspace_bytes": 0, "constant_bytes": 0}'
)


@needs_compiler
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("int f;", "no xrelay_metadata"),
        (r'const char xrelay_metadata[] = "\xff";', "damaged"),
        ('const char xrelay_metadata[] = "{}";', "damaged"),
        ('const char xrelay_metadata[] = "[1]";', "damaged"),
        (f"const char xrelay_metadata[] = {METADATA!r};".replace("'", "$"), "no m_run"),
        (
            f"const char xrelay_metadata[] = {METADATA!r};".replace("'", "$").replace(
                '"workspace_bytes": 0', '"workspace_bytes": Infinity'
            ),
            "damaged",
        ),
    ],
)
def test_libraries_that_are_no_models(tmp_path: Path, source: str, message: str):
    if "$" in source:
        before, text, after = source.split("$")
        escaped = text.replace('"', r"\"")
        source = f'{before}"{escaped}"{after}'
    with pytest.raises(xrelay.ModelError, match=message):
        xrelay.load(library(tmp_path, source))


def test_a_model_for_another_processor_does_not_run():
    model = model_of(ReluOp)
    model.signature = dataclasses.replace(model.signature, target="z15", features=("vector",))
    with pytest.raises(xrelay.ModelError, match="compiled for z15; this processor lacks vector"):
        model.run({"x": DATA})


def test_inputs_that_are_no_mapping():
    with pytest.raises(xrelay.ModelError, match="the inputs are a list, not a mapping of 'x'"):
        model_of(ReluOp).run([DATA])  # pyright: ignore[reportArgumentType]


def test_a_module_that_does_not_verify():
    block = Block(arg_types=[TensorType(f32, [2])])
    op = ReluOp.create(operands=[block.args[0]], result_types=[TensorType(f32, [9999999])])
    block.add_ops([op, func.ReturnOp(op.results[0])])
    type_ = FunctionType.from_lists(block.arg_types, [op.results[0].type])
    module = ModuleOp([func.FuncOp("main", type_, Region(block))])
    with pytest.raises(xrelay.CompileError, match="does not verify"):
        xrelay.compile(module)
