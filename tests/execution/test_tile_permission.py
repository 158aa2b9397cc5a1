"""Models in tile registers, where the system lets a program use them, and where it does not."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from graphs import Graph
from xdsl.dialects.builtin import i32

import xrelay
from xrelay.dialects.nn.dense import DenseOp
from xrelay.lowering.emit.target import native_target
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


def product_of_ones(threads: int) -> tuple[xrelay.Model, Graph]:
    """A model whose result is 64 everywhere for an input of ones, and its graph."""
    graph = Graph()
    data = graph.input(np.ones((32, 64), np.int8))
    weight = graph.constant(np.ones((32, 64), np.int8))
    graph.returns(graph.op(DenseOp(data, weight, out_dtype=i32)))
    model = xrelay.compile(graph.module(), target=TARGET, threads=threads, cache=False)
    assert isinstance(model, xrelay.Model)
    assert "tdpbssd" in model.llvm_ir
    return model, graph


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(("suffix", "threads"), [(".o", 1), (".so", 2)])
def test_a_c_program_asks_for_tiles(tmp_path: Path, target: str, suffix: str, threads: int) -> None:
    """And is aborted with a message where it is refused."""
    model, _ = product_of_ones(threads)
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
    """A named target is refused when it is run; `native` computes without tiles."""
    host.host.cache_clear()
    monkeypatch.setattr(host, "may_use_tiles", lambda: False)
    try:
        model, graph = product_of_ones(1)
        (name,) = [each.name for each in model.signature.inputs]
        with pytest.raises(xrelay.ModelError, match="lacks amx-tile, amx-bf16, amx-int8"):
            model.run({name: graph.inputs[0]})
        found = host.host()
        own = native_target(found.triple, found.cpu, found.features)
        assert not (own.byte_tiles or own.bf16_tiles or "+amx" in own.features)
    finally:
        host.host.cache_clear()
