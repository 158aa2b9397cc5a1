"""Models in tile registers, where the system lets a program use them, and where it does not."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from engines.needed import needs_cc
from graphs import Graph
from onnx import numpy_helper, parser
from xdsl.dialects.builtin import i32

import xrelay
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.runtime import host
from xrelay.runtime.support import REFUSAL

TARGET = "x86-64-v4-amx"
C_PROGRAM = """
#include "model.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static signed char x[32 * 64];
static int y[32 * 32];

int main(int argc, char **argv) {
  (void)argv;
  /* With a stack for signals that does not hold the contents of tiles, Linux refuses to let them be used. */
  stack_t small = {.ss_sp = malloc(4096), .ss_size = 4096};
  if (argc > 1 && sigaltstack(&small, NULL)) return 2;
  for (int i = 0; i < 32 * 64; i++) x[i] = 1;
  const void *inputs[] = {x};
  void *outputs[] = {y};
  void *workspace = aligned_alloc(64, MODEL_WORKSPACE_BYTES + 64 - MODEL_WORKSPACE_BYTES % 64);
  model_run(inputs, outputs, model_constants, workspace);
  for (int i = 0; i < 32 * 32; i++)
    if (y[i] != 64) return 1;
  puts("good");
  return 0;
}
"""
pytestmark = pytest.mark.parametrize("target", [TARGET], indirect=True)


def product_of_ones(threads: int, target: str = TARGET) -> tuple[xrelay.Model, Graph]:
    """A model whose result is 64 everywhere for an input of ones, and its graph."""
    graph = Graph()
    data = graph.input(np.ones((32, 64), np.int8))
    weight = graph.constant(np.ones((32, 64), np.int8))
    graph.returns(graph.op(DenseOp(data, weight, out_dtype=i32)))
    model = xrelay.compile(graph.module(), target=target, threads=threads, cache=False)
    assert isinstance(model, xrelay.Model)
    return model, graph


@needs_cc
@pytest.mark.parametrize(("suffix", "threads"), [(".o", 1), (".so", 2)])
def test_a_c_program_asks_for_tiles(tmp_path: Path, target: str, suffix: str, threads: int) -> None:
    """And is aborted with a message where it is refused."""
    model, _ = product_of_ones(threads)
    assert "llvm.x86.tdpbssd" in model.llvm_ir
    model.save(tmp_path / f"model{suffix}")
    assert "tile registers" in (tmp_path / "model.h").read_text()
    (tmp_path / "main.c").write_text(C_PROGRAM)
    flags = ["-D_XOPEN_SOURCE=700", "-std=c11", "-Wall", "-Wextra", "-Werror"]
    command = ["cc", *flags, "main.c", f"./model{suffix}", "-lm", "-lpthread", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"good\n")
    command = ["./main", "refused"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.decode()) == (-6, REFUSAL)


def test_python_says_what_is_refused(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that uses tiles is refused when it is run; others are not, and do not ask."""
    asked: list[bool] = []
    monkeypatch.setattr(host, "may_use_tiles", lambda: bool(asked.append(True)))
    model, graph = product_of_ones(1)
    assert not asked
    (name,) = [each.name for each in model.signature.inputs]
    reason = "this processor lacks amx-tile, or Linux does not let this process use it"
    with pytest.raises(xrelay.ModelError, match=reason):
        model.run({name: graph.inputs[0]})
    assert asked == [True]


def test_files_for_many_lengths_ask_for_all_their_programs(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python refuses a call before code does, which can but abort, also of a program that uses no tiles."""
    text = "m (int8[n, 64] x) => (int32[n, k] y) { y = MatMulInteger(x, w) }"
    proto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>{text}')
    weight = numpy_helper.from_array(np.ones((64, 32), np.int8), "w")
    proto.graph.initializer.append(weight)
    model = xrelay.compile(proto, target=target, cache=False)
    one, many = np.ones((1, 64), np.int8), np.ones((64, 64), np.int8)
    for rows in (one, many):
        assert (model.run({"x": rows})["y"] == 64).all()
    assert isinstance(model, xrelay.DynamicModel)
    alone = [xrelay.compile(proto, shapes={"n": n}, target=target, cache=False) for n in (1, 64)]
    assert ["llvm.x86.ldtilecfg" in each.llvm_ir for each in alone] == [False, True]
    model.save(tmp_path / "m.so")
    assert (xrelay.load(tmp_path / "m.so").run({"x": one})["y"] == 64).all()
    monkeypatch.setattr(host, "may_use_tiles", lambda: False)
    loaded = xrelay.load(tmp_path / "m.so")
    for rows in (one, many):
        with pytest.raises(xrelay.ModelError, match="this processor lacks amx-tile, or Linux"):
            loaded.run({"x": rows})


@pytest.mark.parametrize("suffix", [".o", ".so"])
def test_a_model_without_products_asks_for_nothing(
    target: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "may_use_tiles", lambda: pytest.fail("asked"))
    graph = Graph()
    graph.returns(graph.op(ReluOp(graph.input(np.ones(5, np.float32)))))
    model = xrelay.compile(graph.module(), target=target, threads=2, cache=False)
    assert isinstance(model, xrelay.Model)
    assert not any(feature.startswith("amx") for feature in model.signature.features)
    (name,) = [each.name for each in model.signature.inputs]
    model.run({name: graph.inputs[0]})
    model.save(tmp_path / f"model{suffix}")
    assert "tile registers" not in (tmp_path / "model.h").read_text()


def test_native_uses_them_where_it_may(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del target
    model, graph = product_of_ones(1, "native")
    (name,) = [each.name for each in model.signature.inputs]
    (result,) = model.run({name: graph.inputs[0]}).values()
    assert "llvm.x86.ldtilecfg" in model.llvm_ir and (result == 64).all()
    monkeypatch.setattr("xrelay.lowering.emit.target.may_use_tiles", lambda: False)
    assert "llvm.x86.ldtilecfg" not in product_of_ones(1, "native")[0].llvm_ir
