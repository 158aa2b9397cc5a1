"""Files with programs for many lengths: run by C programs and by xrelay, at lengths that they serve and at others."""

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from engines.needed import needs_cc
from onnx import ModelProto, parser
from onnx_models import PERCEPTRON, bands_of, model_of

import xrelay
from xrelay.runtime.dimensions.interface import OpenInterface, lengths_of
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.model import Model
from xrelay.runtime.seal import SEAL_BYTES
from xrelay.tools.cli import main

pytestmark = needs_cc


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
ENCODER = model_of(
    """encoder (int64[batch, seq] ids, int64[batch, seq] mask) => (float[batch, seq, 24] y, float[batch, 24] pooled) {
        shape = Shape(ids)
        zero = Constant <value_ints = [0]> ()
        one = Constant <value_ints = [1]> ()
        two = Constant <value_ints = [2]> ()
        heads = Constant <value_ints = [3, 8]> ()
        width = Constant <value_ints = [24]> ()
        count = Slice(shape, one, two)
        split = Concat <axis = 0> (shape, heads)
        joined = Concat <axis = 0> (shape, width)
        places = Slice(table, zero, count, zero)
        words = Gather(vocabulary, ids)
        sum = Add(words, places)
        x = LayerNormalization(sum, scale, bias)
        q = MatMul(x, w1)
        k = MatMul(x, w2)
        v = MatMul(x, w3)
        qs = Reshape(q, split)
        ks = Reshape(k, split)
        vs = Reshape(v, split)
        qt = Transpose <perm = [0, 2, 1, 3]> (qs)
        kt = Transpose <perm = [0, 2, 3, 1]> (ks)
        vt = Transpose <perm = [0, 2, 1, 3]> (vs)
        scores = MatMul(qt, kt)
        axes = Constant <value_ints = [1, 2]> ()
        wide = Unsqueeze(mask, axes)
        floats = Cast <to = 1> (wide)
        unit = Constant <value_float = 1.0> ()
        large = Constant <value_float = 10000.0> ()
        less = Sub(floats, unit)
        added = Mul(less, large)
        masked = Add(scores, added)
        weights = Softmax <axis = -1> (masked)
        values = MatMul(weights, vt)
        back = Transpose <perm = [0, 2, 1, 3]> (values)
        flat = Reshape(back, joined)
        out = MatMul(flat, w4)
        residual = Add(out, x)
        n = LayerNormalization(residual, scale, bias)
        h = MatMul(n, w5)
        g = Relu(h)
        o = MatMul(g, w6)
        last = Add(o, n)
        y = LayerNormalization(last, scale, bias)
        first = Constant <value_int = 0> ()
        token = Gather <axis = 1> (y, first)
        pooled = Tanh(token)
    }""",
    vocabulary=(50, 24),
    table=(64, 24),
    scale=(24,),
    bias=(24,),
    w1=(24, 24),
    w2=(24, 24),
    w3=(24, 24),
    w4=(24, 24),
    w5=(24, 96),
    w6=(96, 24),
)
"""A layer of BERT, with its embeddings, its mask and its pooled first token."""

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


TOO_LONG = (-1, -(2**62), 2**31, 2**62, 2**63 - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "suffix", "threads", "shapes", "served", "refused"),
    [
        (PERCEPTRON, ".o", 1, None, [(0,), (1,), (2,), (5,), (64,), (333,)], [(n,) for n in TOO_LONG]),
        (PERCEPTRON, ".so", 2, {"batch": (0, 50)}, [(0,), (1,), (2,), (17,), (50,)], [(51,), (-1,)]),
        (
            ENCODER,
            ".so",
            2,
            {"seq": (1, 64)},
            [(1, 1), (1, 9), (3, 1), (2, 2), (4, 33), (5, 64), (1, 64), (1, 3), (3, 3), (0, 4)],
            [(2, 0), (2, 65), *((2, n) for n in TOO_LONG), *((n, 2) for n in TOO_LONG), (2**31 - 1, 64)],
        ),
        (ENCODER, ".o", 1, {"batch": (2, 4), "seq": (2, 40)}, [(2, 2), (3, 17), (4, 40)], [(1, 2), (5, 2), (2, 1), (4, 41)]),
        (
            AT_A_POSITION,
            ".so",
            2,
            None,
            [(1, 0, 3), (5, 0, 8), (1, 63, 1), (3, 9, 2), (64, 0, 8), (2, 1, 1)],
            [(2, 63, 1), (1, 64, 1), (65, 0, 1), (1, 1, 9), *((2, n, 1) for n in TOO_LONG), *((2, 1, n) for n in TOO_LONG)],
        ),
    ],
)  # fmt: skip
def test_c_programs_state_the_dimensions(
    tmp_path: Path,
    model: ModelProto,
    suffix: str,
    threads: int,
    shapes: Mapping[str, Any] | None,
    served: Sequence[tuple[int, ...]],
    refused: Sequence[tuple[int, ...]],
) -> None:
    path = tmp_path / f"model{suffix}"
    saved(model, path, threads, shapes)
    interface = interface_of(path)
    c_program(tmp_path, suffix, interface, threads)
    names = [each.name for each in interface.dimensions]
    for lengths in served:
        arrays = arrays_for(model, dict(zip(names, lengths, strict=True)))
        for i, spec in enumerate(interface.taken):
            (tmp_path / f"input{i}").write_bytes(arrays[spec.name].tobytes())
        done = subprocess.run(["./main", *map(str, lengths)], cwd=tmp_path, check=False, timeout=60)
        assert done.returncode == 0, lengths
        for i, wanted in enumerate(expected(model, arrays).values()):
            found = np.fromfile(tmp_path / f"output{i}", wanted.dtype).reshape(wanted.shape)
            np.testing.assert_allclose(found, wanted, 1e-4, 1e-5, err_msg=str(lengths))
    for lengths in refused:
        done = subprocess.run(["./main", *map(str, lengths)], cwd=tmp_path, check=False, timeout=60)
        assert done.returncode == 42, lengths


@pytest.mark.slow
def test_a_library_runs_what_its_programs_serve(tmp_path: Path) -> None:
    path = tmp_path / "model.so"
    saved(ENCODER, path, 2, {"seq": (1, 64)})
    model = loaded(path)
    assert str(model.signature) == (
        "'encoder': 'ids' int64[batch, seq], 'mask' int64[batch, seq] -> "
        "'y' float32[batch, seq, 24], 'pooled' float32[batch, 24]"
    )
    for batch, seq in itertools.product((1, 2, 7), (1, 2, 3, 24, 63, 64)):
        arrays = arrays_for(ENCODER, {"batch": batch, "seq": seq})
        found = model.run(arrays)
        for name, wanted in expected(ENCODER, arrays).items():
            np.testing.assert_allclose(found[name], wanted, 1e-4, 1e-5)
    assert all(each.conditions for each in model.specialisations)
    arrays = arrays_for(ENCODER, {"batch": 2, "seq": 5})
    results = {"y": np.empty((2, 5, 24), np.float32), "pooled": np.empty((2, 24), np.float32)}
    model.bind(arrays, results).run()
    np.testing.assert_allclose(results["y"], expected(ENCODER, arrays)["y"], 1e-4, 1e-5)
    part = np.zeros((2, 9, 24), np.float32)[:, :5]
    with pytest.raises(xrelay.ModelError, match="C-contiguous arrays apart"):
        model.bind(arrays, {**results, "y": part})
    with pytest.raises(xrelay.ModelError, match="'seq' is 65 in input 'ids', expected 1 to 64"):
        model.run(arrays_for(ENCODER, {"batch": 2, "seq": 65}))
    nothing = model.run(arrays_for(ENCODER, {"batch": 0, "seq": 5}))
    assert nothing["y"].shape == (0, 5, 24)
    with pytest.raises(xrelay.ModelError, match="'seq' is 5 in input 'ids' and 4 in input 'mask'"):
        model.run({**arrays, "mask": arrays["mask"][:, :4]})
    with pytest.raises(xrelay.ModelError, match="cannot be saved: it was loaded from a library"):
        model.save(tmp_path / "again.so")
    at = model.specialise({"ids": (2, 5), "mask": (2, 5)})
    assert isinstance(at, Model)
    assert [spec.shape for spec in at.signature.outputs] == [(2, 5, 24), (2, 24)]


def test_elements_are_stated_with_the_lengths(tmp_path: Path) -> None:
    """Inputs on whose elements sizes depend are none in C; from Python they are given as any other."""
    path = tmp_path / "model.so"
    saved(AT_A_POSITION, path)
    header = (tmp_path / "model.h").read_text()
    assert "int32_t decoder_run(int64_t n, int64_t start_0, int64_t k_0," in header
    assert " *   start_0 ('start[0]'): element 0 of 'start', which is no input here\n" in header
    assert " * inputs[0]: 'x' float32[n][8]\n" in header and "inputs[1]" not in header
    model = loaded(path)
    for n, start, k in ((1, 0, 3), (5, 0, 8), (1, 63, 1), (3, 9, 2)):
        arrays = arrays_for(AT_A_POSITION, {"n": n, "start[0]": start, "k[0]": k})
        found = model.run(arrays)
        for name, wanted in expected(AT_A_POSITION, arrays).items():
            np.testing.assert_allclose(found[name], wanted, 1e-6)
    for n, start, k in ((2, 63, 1), (1, 1, 9), (1, -1, 1)):
        arrays = arrays_for(AT_A_POSITION, {"n": n, "start[0]": start, "k[0]": k})
        told = rf"'n' is {n}, 'start\[0\]' is {start}, 'k\[0\]' is {k}, for which the file of model 'decoder' has no program"
        with pytest.raises(xrelay.ModelError, match=told):
            model.run(arrays)

    with pytest.raises(
        xrelay.ModelError,
        match="elements are given of none; the file of model 'decoder' has programs for",
    ):
        model.specialise({"start": (), "x": (5, 8), "k": (1,)})
    at = {"start": np.array(3), "k": np.array([2])}
    known = {name: xrelay.InputValue.of(each) for name, each in at.items()}
    assert isinstance(model.specialise({"x": (5, 8), **known}), Model)


def test_elements_of_many_inputs(tmp_path: Path) -> None:
    """Some of which show only once others are known; and more of them than there are combinations for."""
    model = model_of(
        """padded (float[b, c] x, int64[1] n, int64[4] p, int64[2] s) => (float[e, f] y) {
            zero = Constant <value_ints = [0]> ()
            some = Slice (x, zero, n, zero)
            wide = Pad (some, p)
            y = Reshape (wide, s)
        }"""
    )
    path, x = tmp_path / "model.so", np.arange(12, dtype=np.float32).reshape(3, 4)
    found = xrelay.compile(model)
    assert isinstance(found, DynamicModel)
    calls = [
        {"x": x, "n": np.array([n]), "p": np.array(p), "s": np.array(s)}
        for n, p, s in (
            *((2, [1, 2, 3, 4], [5, 12]), (1, [2, 1, 5, 3], [16, 4])),
            (3, [4, 3, 2, 1], [8, 9]),
        )
    ]
    found.run(calls[0])
    found.save(path)
    again = loaded(path)
    for given in calls:
        np.testing.assert_array_equal(again.run(given)["y"], expected(model, given)["y"])


def test_elements_that_are_no_lengths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Axes have as many programs as there are axes; of other numbers those that came have one."""
    summed = model_of(
        "model (float[n, m] x, int64[1] a) => (float[i, j] y) { y = ReduceSum (x, a) }"
    )
    onnx.save(summed, tmp_path / "sum.onnx")
    assert main(["compile", str(tmp_path / "sum.onnx"), "-o", str(tmp_path / "sum.so")]) == 0
    capsys.readouterr()
    found, x = loaded(tmp_path / "sum.so"), np.arange(12, dtype=np.float32).reshape(3, 4)
    for axis in (0, 1):
        y = found.run({"x": x[:2], "a": [axis]})["y"]
        np.testing.assert_array_equal(y, x[:2].sum(axis, keepdims=True))
    powers = model_of(
        """model (float[n] x, int64[1] k) => (float[m] y) {
            zero = Constant <value_ints = [0]> ()
            two = Constant <value_ints = [2]> ()
            square = Pow (k, two)
            y = Slice (x, zero, square)
        }"""
    )
    onnx.save(powers, tmp_path / "powers.onnx")
    path = tmp_path / "powers.so"
    assert main(["compile", str(tmp_path / "powers.onnx"), "-o", str(path)]) != 0
    assert "element 'k[0]' takes a program for each number, because" in capsys.readouterr().err
    assert not path.exists()
    model = xrelay.compile(powers)
    assert isinstance(model, DynamicModel)
    x = np.arange(40, dtype=np.float32)
    for number in (2, 3):
        model.run({"x": x, "k": [number]})
    model.save(path)
    for number in (2, 3):
        np.testing.assert_array_equal(
            loaded(path).run({"x": x, "k": [number]})["y"], x[: number**2]
        )
    with pytest.raises(xrelay.ModelError, match=r"'k\[0\]' is 4, for which the file"):
        loaded(path).run({"x": x, "k": [4]})


def test_lengths_that_no_program_of_a_file_serves(tmp_path: Path) -> None:
    """What is last of nothing."""
    model = model_of(
        """last (float[batch, seq, 8] x) => (float[batch, 8] y) {
            last = Constant <value_int = -1> ()
            y = Gather <axis = 1> (x, last)
        }"""
    )
    saved(model, tmp_path / "model.so", 1, None)
    found = loaded(tmp_path / "model.so")
    x = np.arange(0.0, 48, dtype=np.float32).reshape(2, 3, 8)
    np.testing.assert_array_equal(found.run({"x": x})["y"], x[:, -1])
    assert found.run({"x": x[:0]})["y"].shape == (0, 8)
    with pytest.raises(
        xrelay.ModelError,
        match=r"'batch' is 2, 'seq' is 0, for which the file of model 'last' has no program; expected lengths with "
        r"\(0 <= batch <= \d+, 1 <= seq <= \d+, .*\)",
    ):
        found.run({"x": x[:, :0]})


def test_programs_of_a_file_have_their_weights_in_common(tmp_path: Path) -> None:
    model = model_of(
        """wide (float[batch, seq, 300] x) => (float[batch, least, 300] y) {
            start = Constant <value_ints = [0]> ()
            end = Constant <value_ints = [20]> ()
            axis = Constant <value_ints = [1]> ()
            first = Slice(x, start, end, axis)
            a = MatMul(first, w1)
            b = Relu(a)
            y = MatMul(b, w2)
        }""",
        w1=(300, 500),
        w2=(500, 300),
    )
    path = tmp_path / "model.so"
    saved(model, path, 1, {"seq": (1, 64)})
    long, short = interface_of(path).programs
    assert lengths_of(long).conditions[1] == "20 <= seq <= 64"
    assert lengths_of(short).conditions[1] == "1 <= seq <= 19"
    # Both weights, in panels whose last columns may be padded.
    once = long.constant_bytes
    assert 2 * 300 * 500 * 4 <= once <= 2.2 * 300 * 500 * 4
    assert short.constant_bytes == once
    assert path.stat().st_size < once + 300_000
    found = loaded(path)
    for batch, seq in ((5, 9), (7, 1), (1, 20), (1, 1)):
        arrays = arrays_for(model, {"batch": batch, "seq": seq})
        wanted = expected(model, arrays)["y"]
        np.testing.assert_allclose(found.run(arrays)["y"], wanted, 1e-4, 1e-5)


def test_what_was_run_is_in_the_file(tmp_path: Path) -> None:
    """The bands of a matrix are a number in each program: those that came are what the file serves."""
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18]>
        bands (float[batch, columns] x) => (float[batch, q] z) {{
            {bands_of("x", 1, "m")}
            turned = Transpose (m)
            z = MatMul (x, turned)
        }}"""
    )
    found = xrelay.compile(model)
    path = tmp_path / "model.so"
    with pytest.raises(
        xrelay.CompileError,
        match=r"'columns' takes a program for each of its lengths, because the model needs the number; state it by "
        r"shapes= \(--shape columns=…\), or a range of at most 16 lengths",
    ):
        found.save(path)
    assert not path.exists()
    for batch, columns in ((4, 5), (6, 9)):
        found.run(arrays_for(model, {"batch": batch, "columns": columns}))
    found.save(path)
    again = loaded(path)

    def agree(read: Any, batch: int, columns: int) -> None:
        arrays = arrays_for(model, {"batch": batch, "columns": columns})
        wanted = expected(model, arrays)["z"]
        np.testing.assert_allclose(read.run(arrays)["z"], wanted, 1e-4, 1e-5)

    for batch, columns in ((1, 5), (2, 9), (17, 9), (30, 5)):
        agree(again, batch, columns)
    with pytest.raises(xrelay.ModelError, match="'batch' is 4, 'columns' is 6, for which the file"):
        again.run(arrays_for(model, {"batch": 4, "columns": 6}))
    ranged = saved(model, path, shapes={"columns": (2, 4)})
    assert ranged.specialisations == ()
    for columns in (2, 3, 4):
        agree(loaded(path), 5, columns)


ODD = """
<ir_version: 8, opset_import: ["" : 17]>
odd (float["float", "a-b"] x, float["a b", "größe"] y, float["1st", "*/"] z) => (float["float", "a-b"] u, float[p, q] v, float[r, s] w) {
  u = Relu(x)
  v = Relu(y)
  w = Relu(z)
}
"""


def test_names_that_are_none_in_c(tmp_path: Path) -> None:
    text = ODD.replace('"float"', "f").replace('"a-b"', "a").replace('"a b"', "b")
    text = text.replace('"größe"', "g").replace('"1st"', "h").replace('"*/"', "i")
    model = parser.parse_model(text)
    for value in (*model.graph.input, model.graph.output[0]):
        for dim in value.type.tensor_type.shape.dim:
            names = {"f": "float", "a": "a-b", "b": "a b", "g": "größe", "h": "1st", "i": "*/"}
            dim.dim_param = names[dim.dim_param]
    path = tmp_path / "model.o"
    saved(
        model, path, shapes={name: (2, 9) for name in ("float", "a-b", "a b", "größe", "1st", "*/")}
    )
    interface = interface_of(path)
    assert [each.argument for each in interface.dimensions] == [
        "float_2", "a_b", "a_b_2", "gr__e", "n_1st", "n__",
    ]  # fmt: skip
    (tmp_path / "main.c").write_text(
        '#include "model.h"\nint main(void) { return odd_run(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) - ODD_NO_PROGRAM; }\n'
    )
    command = [
        "cc",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "main.c",
        "model.o",
        "-lm",
        "-o",
        "main",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True)
    if shutil.which("c++"):  # Its keywords are others.
        (tmp_path / "main.cpp").write_text('#include "model.h"\nint main() { return ODD_OK; }\n')
        command = ["c++", "-Wall", "-Wextra", "-Werror", "-c", "main.cpp"]
        subprocess.run(command, cwd=tmp_path, check=True)
    header = (tmp_path / "model.h").read_text()
    assert "a_b ('a-b'): axis 1 of inputs[0], stated to be from 2 to 9" in header
    assert "'x' float32[float_2][a_b]" in header


def test_files_are_the_same_each_time(tmp_path: Path) -> None:
    contents: list[bytes] = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        saved(PERCEPTRON, tmp_path / name / "model.o")
        contents.append((tmp_path / name / "model.o").read_bytes())
    assert contents[0] == contents[1]


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.so"
    saved(PERCEPTRON, path)
    content = path.read_bytes()
    random = np.random.default_rng(0)
    for place in (
        *random.integers(0, len(content), 100),
        *range(len(content) - SEAL_BYTES, len(content)),
    ):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(xrelay.ModelError, match="is damaged|does not end with a checksum"):
            xrelay.load(path)
    for size in random.integers(0, len(content), 50):
        path.write_bytes(content[:size])
        with pytest.raises(xrelay.ModelError, match="does not end with a checksum"):
            xrelay.load(path)


def description(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "model.so"
    saved(PERCEPTRON, path)
    return json.loads(interface_of(path).to_json())


def test_damaged_descriptions(tmp_path: Path) -> None:
    whole = description(tmp_path)
    assert OpenInterface.from_json(json.dumps(whole)) is not None
    program = whole["programs"][0]
    lengths = program["lengths"]

    def changed(**changes: object) -> dict[str, Any]:
        return {**whole, "programs": [{**program, "lengths": {**lengths, **changes}}]}

    cases: list[tuple[dict[str, Any], str]] = [
        *(({**whole, name: None}, f"'{name}' is None") for name in whole if name != "format"),
        ({**whole, "programs": []}, "it has no programs"),
        ({**whole, "name": "a-b"}, "no name for symbols"),
        ({**whole, "ranges": {"batch": [1]}}, "the range of 'batch' has 1 ends"),
        ({**whole, "ranges": {"batch": [1, None]}}, "the range of 'batch' is None"),
        ({**whole, "inputs": []}, "a program has other inputs or outputs than the model"),
        ({**whole, "inputs": [{**whole["inputs"][0], "dims": ["batch"]}]}, "dimensions of 'x'"),
        ({**whole, "programs": [{**program, "lengths": None}]}, "a program has no lengths"),
        ({**whole, "programs": [program, {**program, "threads": 2}]}, "different numbers of threads"),
        (changed(symbols=[1]), "'lengths': a text is damaged"),
        (changed(sources=[[0, 5]]), "the axis of a symbol is damaged"),
        (changed(sources=[[7, 0]]), "the input of a symbol is damaged"),
        (changed(bounds=[]), "the symbols is damaged"),
        (changed(bounds=[[2, 2.5]]), "a pair of numbers is damaged"),
        (changed(atoms=[["pow", [], []]]), "an operation is damaged"),
        (changed(atoms=[["div", [[[1], 1]], []]]), "the operand of an operation is damaged"),
        (changed(guards=[[[[[999], 1]], ">="]]), "a condition is damaged"),
        (changed(guards=[[[], "~"]]), "a condition is damaged"),
        (changed(table=[[[[0], 2**70]]]), "a number is damaged"),
        (changed(inputs=[[5, 6]]), "a number is damaged"),
        (changed(workspace_bytes=7), "the size of the workspace is damaged"),
        (changed(texts=[]), "the texts of shapes is damaged"),
        (changed(outputs=[]), "the lengths of a program are those of other tensors"),
    ]  # fmt: skip
    for data, message in cases:
        with pytest.raises(xrelay.ModelError, match=re.escape(message)):
            OpenInterface.from_json(json.dumps(data))


def test_llvm_ir_of_many_lengths(tmp_path: Path) -> None:
    saved(PERCEPTRON, tmp_path / "model.ll")
    text = (tmp_path / "model.ll").read_text()
    assert "define i32 @perceptron_run(i64 %" in text
    assert (tmp_path / "model.ll.weights").stat().st_size > 10_000
    with pytest.raises(xrelay.ModelError, match=r"the suffix is '.dll', expected .so, .o, .ll"):
        saved(PERCEPTRON, tmp_path / "model.dll")


def test_models_whose_elements_decide(tmp_path: Path) -> None:
    """A shape of as many axes as the model says is lengths, one of any rank is none."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        reshaped (float[a, b] x, int64[2] shape) => (float[c, d] y) { y = Reshape(x, shape) }"""
    )
    found = xrelay.compile(model)
    found.save(tmp_path / "model.so")
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    served = loaded(tmp_path / "model.so").run({"x": x, "shape": [8, 3]})["y"]
    np.testing.assert_array_equal(served, x.reshape(8, 3))
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "rank"
    found = xrelay.compile(model)
    assert isinstance(found, DynamicModel)
    found.run({"x": x, "shape": [8, 3]})
    with pytest.raises(
        xrelay.CompileError, match="no program for each rank or all elements of inputs.*'shape'"
    ):
        found.save(tmp_path / "model.so")


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(PERCEPTRON, tmp_path / "model.onnx")
    source, path = str(tmp_path / "model.onnx"), str(tmp_path / "model.so")
    assert main(["compile", source, "--shape", "batch=1,50", "-o", path]) == 0
    assert "serves\n  1 <= batch <= 50\n" in capsys.readouterr().out
    assert main(["run", path, "--shape", "batch=7"]) == 0
    assert "[7, 10]" in capsys.readouterr().out
    np.save(tmp_path / "x.npy", np.zeros((9, 40), np.float32))
    assert main(["run", path, "--input", f"x={tmp_path / 'x.npy'}"]) == 0
    assert "[9, 10]" in capsys.readouterr().out
    for words, message in (
        ((), "input 'x' float32[batch, 40] has unknown dimensions: use --input or --shape"),
        (("--shape", "batch=51"), "'batch' is 51 in input 'x', expected 1 to 50"),
        (("--shape", "bach=5"), "--shape names 'bach', which is neither an input nor an open"),
        (("--shape", "batch=5", "--threads", "2"), "need the model"),
    ):
        assert main(["run", path, *words]) == 2
        assert message in capsys.readouterr().err
    assert main(["compile", source, "--shape", "batch=3", "-o", path]) == 0
    assert main(["run", path, "--shape", "batch=3"]) == 2
    assert "--shape, --target and --threads need the model" in capsys.readouterr().err
