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
from xrelay.runtime.signature import FORMAT_VERSION

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
    f'{{"format": {FORMAT_VERSION}, "threads": 1, "steps": [], "profiled": false, "name": "m", "inputs": [], "outputs": [], "target": "x", "features": [], '
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
        (f"const char xrelay_metadata[] = {METADATA!r};".replace("'", "$"), "no m_constants"),
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


# -- threads ------------------------------------------------------------------------------------

C_PROGRAM = """\
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pthread.h>
#include "model.h"

enum { N = 64 * 64 };
static float x[N], expected[N];

static int runs_well(void *team, void *workspace) {
  float *y = calloc(N, sizeof *y);
  const void *inputs[] = {x};
  void *outputs[] = {y};
  int good = 1;
  if (team) model_run_on(team, inputs, outputs, model_constants, workspace);
  else model_run(inputs, outputs, model_constants, workspace);
  for (int i = 0; i < N; i++) good &= y[i] == expected[i];
  free(y);
  return good;
}

static void *runs(void *team) {
  void *workspace = aligned_alloc(64, (MODEL_WORKSPACE_BYTES + 127) / 64 * 64);
  int good = 1;
  for (int i = 0; i < 50; i++) good &= runs_well(team, workspace);
  free(workspace);
  return good ? expected : 0;
}

int main(void) {
  for (int i = 0; i < N; i++) x[i] = (float)(i % 11 - 5), expected[i] = x[i] > 0 ? x[i] : 0;
  /* Several threads run the model on the team of the process at once, */
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, runs, 0);
  for (int i = 0; i < 4; i++) {
    void *good;
    pthread_join(threads[i], &good);
    if (!good) return 1;
  }
  /* one on a team of its own, */
  void *team = model_team_create(2);
  if (!team || !runs(team)) return 2;
  /* and a child of fork with both. */
  pid_t child = fork();
  if (!child) {
    if (!runs(team) || !runs(0)) return 3;
    model_team_destroy(team);
    return 0;
  }
  int status;
  waitpid(child, &status, 0);
  if (status) return 4;
  model_team_destroy(team);
  puts("good");
  return 0;
}
"""


@needs_compiler
@pytest.mark.parametrize("suffix", [".o", ".so"])
def test_threads_of_a_c_program(tmp_path: Path, suffix: str):
    block = Block(arg_types=[TensorType(f32, [64, 64])])
    op = ReluOp(block.args[0])
    block.add_ops([op, func.ReturnOp(op.result)])
    type_ = FunctionType.from_lists(block.arg_types, [op.result.type])
    module = ModuleOp([func.FuncOp("main", type_, Region(block))])
    xrelay.compile(module, threads=3).save(tmp_path / f"model{suffix}")
    (tmp_path / "main.c").write_text(C_PROGRAM)
    flags = ["-D_POSIX_C_SOURCE=200809L", "-std=c11", "-Wall", "-Wextra", "-Werror"]
    command = ["cc", *flags, "main.c", f"./model{suffix}", "-lm", "-lpthread", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"good\n")


@needs_compiler
def test_two_models_with_threads_in_one_program(tmp_path: Path):
    """The run-time support of one does not clash with the other's."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.mlir").write_text(
            "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
            "  %0 = relay.nn.relu %x : (tensor<2xf32>) -> tensor<2xf32>\n"
            "  func.return %0 : tensor<2xf32>\n}\n"
        )
        xrelay.compile(tmp_path / f"{name}.mlir", threads=2).save(tmp_path / f"{name}.o")
    (tmp_path / "main.c").write_text(
        '#include "a.h"\n#include "b.h"\n'
        "int main(void) { return !(a_run && b_run && a_team_create && b_team_create); }\n"
    )
    command = ["cc", "main.c", "a.o", "b.o", "-lm", "-lpthread", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True)


@needs_compiler
def test_library_with_threads_is_loaded(tmp_path: Path):
    block = Block(arg_types=[TensorType(f32, [64, 64])])
    block.args[0].name_hint = "x"
    op = ReluOp(block.args[0])
    block.add_ops([op, func.ReturnOp(op.result)])
    type_ = FunctionType.from_lists(block.arg_types, [op.result.type])
    model = xrelay.compile(ModuleOp([func.FuncOp("main", type_, Region(block))]), threads=2)
    model.save(tmp_path / "model.so")
    loaded = xrelay.load(tmp_path / "model.so")
    assert loaded.signature == model.signature
    assert loaded.signature.threads == 2
    x = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    np.testing.assert_array_equal(loaded.run({"x": x})["output0"], np.maximum(x, 0))
