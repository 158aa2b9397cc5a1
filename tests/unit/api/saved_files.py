"""What tests of files with programs for many lengths share: a model whose elements decide, C programs, inputs and what is expected."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto
from onnx_models import model_of

import xrelay
from xrelay.runtime.dimensions.interface import OpenInterface
from xrelay.runtime.dynamic import DynamicModel

AT_A_POSITION = model_of(
    """decoder (int64 start, float[n, 8] x, int64[1] k) => (float[n, 8] y, float[n, k] most) {
        axis = Constant <value_ints = [0]> ()
        first = Unsqueeze (start, axis)
        count = Shape <end = 1> (x)
        last = Add (first, count)
        rows = Slice (table, first, last, axis)
        y = Add (x, rows)
        most, where = TopK (y, k)
    }""",
    table=(64, 8),
)
C_PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model.h"

enum { END = 64 };

/* Memory with an end that nobody may write. */
static unsigned char *room(int64_t size) {
  unsigned char *memory = aligned_alloc(64, (size + END + 63) / 64 * 64);
  if (memory) memset(memory, 0xa5, size + END);
  return memory;
}

static int is_whole(const unsigned char *memory, int64_t size) {
  for (int i = 0; i < END; i++) if (memory[size + i] != 0xa5) return 0;
  return 1;
}

static int is_untouched(const unsigned char *memory, int64_t size) {
  for (int64_t i = 0; i < size; i++) if (memory[i] != 0xa5) return 0;
  return 1;
}

static void *content(int number) {
  char name[32];
  sprintf(name, "input%d", number);
  FILE *file = fopen(name, "rb");
  unsigned char *memory = room(1 << 20);
  if (fread(memory, 1, 1 << 20, file) == 0) return memory;
  fclose(file);
  return memory;
}

int main(int count, char **words) {
  int64_t d[4] = {0};
  for (int i = 1; i < count; i++) d[i - 1] = strtoll(words[i], 0, 10);
  const void *inputs[INPUTS];
  for (int i = 0; i < INPUTS; i++) inputs[i] = content(i);
  int64_t size = PREFIX_workspace_bytes(D), sizes[OUTPUTS];
  void *outputs[OUTPUTS];
  for (int i = 0; i < OUTPUTS; i++) {
    sizes[i] = PREFIX_output_bytes(i, D);
    if ((sizes[i] < 0) != (size < 0)) return 10;
    outputs[i] = room(sizes[i] < 0 ? 4096 : sizes[i]);
  }
  if (PREFIX_output_bytes(OUTPUTS, D) != -1 || PREFIX_output_bytes(-1, D) != -1) return 11;
  unsigned char *workspace = room(size < 0 ? 4096 : size);
  int32_t status = PREFIX_run(D, inputs, outputs, PREFIX_constants, workspace);
  if (size < 0) {
    if (status != UPPER_NO_PROGRAM || !is_untouched(workspace, 4096)) return 12;
    for (int i = 0; i < OUTPUTS; i++) if (!is_untouched(outputs[i], 4096)) return 13;
    return 42;
  }
  if (status != UPPER_OK || !is_whole(workspace, size)) return 14;
  for (int i = 0; i < OUTPUTS; i++) {
    if (!is_whole(outputs[i], sizes[i])) return 15;
    char name[32];
    sprintf(name, "output%d", i);
    FILE *file = fopen(name, "wb");
    fwrite(outputs[i], 1, sizes[i], file);
    fclose(file);
  }
#ifdef TEAM
  /* A team of the caller's own, with fewer threads. */
  for (int threads = 1; threads <= 2; threads++) {
    void *team = PREFIX_team_create(threads), *again = room(sizes[0]);
    void *others[OUTPUTS];
    memcpy(others, outputs, sizeof others);
    others[0] = again;
    if (PREFIX_run_on(team, D, inputs, others, PREFIX_constants, workspace) != UPPER_OK) return 16;
    if (memcmp(again, outputs[0], sizes[0])) return 17;
    PREFIX_team_destroy(team);
  }
#endif
  return 0;
}
"""


def c_program(folder: Path, suffix: str, interface: OpenInterface, threads: int) -> None:
    """Compiles a C program with the header and the file of a model, strictly, also as C++ would read the header."""
    dimensions = len(interface.dimensions)
    text = C_PROGRAM
    for word, value in {
        "PREFIX": interface.name,
        "UPPER": interface.name.upper(),
        "INPUTS": str(len(interface.taken)),
        "OUTPUTS": str(len(interface.outputs)),
    }.items():
        text = re.sub(rf"\b{word}(?=\b|_)", value, text)
    text = re.sub(r"\bD\b", ", ".join(f"d[{i}]" for i in range(dimensions)), text)
    (folder / "main.c").write_text(text)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", *["-DTEAM"] * (threads > 1)]
    command = ["cc", *flags, "main.c", f"./model{suffix}", "-lm", "-lpthread", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)


def arrays_for(model: ModelProto, lengths: Mapping[str, int]) -> dict[str, Any]:
    """Inputs at some lengths."""
    random = np.random.default_rng(sum(lengths.values()))
    found: dict[str, Any] = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [lengths.get(dim.dim_param, dim.dim_value) for dim in tensor.shape.dim]
        if f"{value.name}[0]" in lengths:
            numbers = [each for name, each in lengths.items() if name.startswith(f"{value.name}[")]
            found[value.name] = np.array(numbers).reshape(shape)
        elif tensor.elem_type == onnx.TensorProto.INT64:
            found[value.name] = random.integers(0, 2 if value.name == "mask" else 50, shape)
        else:
            found[value.name] = random.standard_normal(shape).astype(np.float32)
    if "mask" in found:
        found["mask"][:, 0] = 1
    return found


def expected(model: ModelProto, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """What onnxruntime computes."""
    names = [value.name for value in model.graph.output]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return dict(zip(names, session.run(names, dict(arrays)), strict=True))


def saved(
    model: ModelProto, path: Path, threads: int = 1, shapes: Mapping[str, Any] | None = None
) -> DynamicModel:
    """A dynamic model, saved."""
    found = xrelay.compile(model, shapes=shapes, threads=threads)
    assert isinstance(found, DynamicModel)
    found.save(path)
    return found


def loaded(path: Path) -> DynamicModel:
    found = xrelay.load(path)
    assert isinstance(found, DynamicModel)
    return found


def interface_of(path: Path) -> OpenInterface:
    """What a library says of itself."""
    content = path.read_bytes()
    start = content.index(b'{"format": 7')
    found = OpenInterface.from_json(content[start : content.index(b"\0", start)].decode())
    assert found is not None
    return found
