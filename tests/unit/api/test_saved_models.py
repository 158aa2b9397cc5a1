"""Shared libraries of models: saved again, foreign, damaged, or for another processor."""

import dataclasses
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines.needed import needs_cc
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Block, Region

import xrelay
from xrelay.dialects.tensor.unary import ElementwiseUnaryOp, NegativeOp, ReluOp
from xrelay.runtime.seal import SEAL_BYTES, sealed
from xrelay.runtime.signature import FORMAT_VERSION, Signature

DATA = np.array([-1.0, 2.0], np.float32)


def model_of(op_type: type[ElementwiseUnaryOp]) -> xrelay.Model:
    block = Block(arg_types=[TensorType(f32, [2])])
    block.args[0].name_hint = "x"
    op = op_type(block.args[0])
    block.add_ops([op, func.ReturnOp(op.result)])
    type_ = FunctionType.from_lists(block.arg_types, [op.result.type])
    return xrelay.compile(ModuleOp([func.FuncOp("main", type_, Region(block))]))


@needs_cc
def test_a_library_that_is_saved_again_is_read_again(tmp_path: Path):
    path = tmp_path / "model.so"
    model_of(ReluOp).save(path)
    first = xrelay.load(path)
    model_of(NegativeOp).save(path)
    second = xrelay.load(path)
    np.testing.assert_array_equal(first.run({"x": DATA})["output0"], [0, 2])
    np.testing.assert_array_equal(second.run({"x": DATA})["output0"], [1, -2])


@needs_cc
def test_a_library_that_is_overwritten_in_place_is_read_again(tmp_path: Path):
    path, others = tmp_path / "model.so", [tmp_path / "relu.so", tmp_path / "negative.so"]
    for op_type, other in zip((ReluOp, NegativeOp), others, strict=True):
        model_of(op_type).save(other)
    expected: list[list[float]] = [[0, 2], [1, -2], [0, 2], [1, -2]]
    for other, numbers in zip(2 * others, expected, strict=True):
        path.write_bytes(other.read_bytes())  # The same file, whatever is loaded of it.
        found = xrelay.load(path)
        np.testing.assert_array_equal(found.run({"x": DATA})["output0"], numbers)


ODD_NAME = os.fsdecode(b"a\"b\\c\nd,e 'f' $(g) %s \xff;#{0}@")
"""Not UTF-8, with characters that mean something to assemblers, linkers and shells."""


@needs_cc
@pytest.mark.parametrize("suffix", [".so", ".o", ".ll"])
def test_odd_names_of_folders_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    folders = [tmp_path / "temporary" / ODD_NAME, tmp_path / "models" / ODD_NAME]
    for folder in folders:
        folder.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(folders[0]))
    monkeypatch.setattr(tempfile, "tempdir", str(folders[0]))
    paths = [folders[1] / f"{name}{suffix}" for name in (ODD_NAME, "x" * 240)]
    for path in paths:
        model_of(ReluOp).save(path)
        if suffix == ".so":
            np.testing.assert_array_equal(xrelay.load(path).run({"x": DATA})["output0"], [0, 2])
        else:
            assert path.stat().st_size
    assert list(folders[0].iterdir()) == []
    beside = ".ll.weights" if suffix == ".ll" else ".h"
    expected = [path.with_suffix(each).name for path in paths for each in (suffix, beside)]
    assert sorted(os.listdir(folders[1])) == sorted(expected)


def library(folder: Path, source: str) -> Path:
    """A library from C source, with a checksum."""
    (folder / "model.c").write_text(source)
    path = folder / "model.so"
    subprocess.run(["cc", "-shared", "-o", path, folder / "model.c"], check=True)
    path.write_bytes(sealed(path.read_bytes()))
    return path


METADATA = (
    f'{{"format": {FORMAT_VERSION}, "threads": 1, "steps": [], "profiled": false, "loops": false, "name": "m", "inputs": [], "outputs": [], "target": "x", "features": [], '
    '"workspace_bytes": 0, "constant_bytes": 0}'
)


@needs_cc
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


# -- damage -------------------------------------------------------------------------------------


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A file in which a bit is another one, or some bytes are zero, or some are missing or new."""
    place, size = int(rng.integers(len(content))), int(rng.integers(1, 200))
    match int(rng.integers(5)):
        case 0:
            changed = bytearray(content)
            changed[place] ^= 1 << int(rng.integers(8))
            return bytes(changed)
        case 1:
            zeros = bytes(min(size, len(content) - place))
            return content[:place] + zeros + content[place + len(zeros) :]
        case 2:
            return content[:place]
        case 3:
            return content[:place] + content[place + size :]
        case _:
            return content[:place] + rng.bytes(size) + content[place:]


@needs_cc
def test_damaged_libraries_are_refused_before_they_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "model.so"
    model_of(ReluOp).save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    cases = [damaged(content, rng) for _ in range(500)]
    # Every byte of the checksum, and of the header that the system's loader reads.
    for place in (*range(len(content) - SEAL_BYTES, len(content)), *range(64)):
        cases.append(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
    for case in cases:
        if case != content:  # Some zeros were zeros.
            path.write_bytes(case)
            with pytest.raises(xrelay.ModelError, match="is damaged|does not end with a checksum"):
                xrelay.load(path)


@needs_cc
@pytest.mark.skipif(platform.system() != "Linux", reason="for ELF files")
def test_cut_libraries_are_refused_whatever_their_checksum(tmp_path: Path) -> None:
    """The system's loader would map what is missing, and the process would end when it is read."""
    path = tmp_path / "model.so"
    model_of(ReluOp).save(path)
    content = path.read_bytes()[:-SEAL_BYTES]
    # Without the last byte, at all places in the headers, and at some in the segments.
    for size in (len(content) - 1, *range(17, 500, 7), *range(500, len(content), 997)):
        path.write_bytes(sealed(content[:size]))
        with pytest.raises(xrelay.ModelError, match=f"is cut off: .* bytes, it has {size}"):
            xrelay.load(path)
    # A file that says less in the header of the sections, which the loader does not need.
    headers = content[:40] + bytes(8) + content[48:60] + bytes(4) + content[64:]
    path.write_bytes(sealed(headers[:4096]))
    with pytest.raises(xrelay.ModelError, match="is cut off: .* bytes, it has 4096"):
        xrelay.load(path)
    path.write_bytes(sealed(headers))
    xrelay.load(path)


@needs_cc
def test_a_library_that_strip_has_changed(tmp_path: Path) -> None:
    strip = shutil.which("strip")
    if strip is None:
        pytest.skip("no strip")
    path = tmp_path / "model.so"
    model_of(ReluOp).save(path)
    shutil.copy(path, tmp_path / "copy.so")
    xrelay.load(tmp_path / "copy.so")
    subprocess.run([strip, path], check=True)
    with pytest.raises(xrelay.ModelError, match="changed afterwards, by strip for example"):
        xrelay.load(path)


@needs_cc
@pytest.mark.parametrize("suffix", [".so", ".o"])
def test_the_header_has_the_checksum_of_the_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    model_of(ReluOp).save(path)
    header = (tmp_path / "model.h").read_text()
    digests = re.findall(r'^#define MODEL_SHA256 "(.*)"$', header, re.MULTILINE)
    content = path.read_bytes()
    assert digests == [hashlib.sha256(content).hexdigest()]
    if suffix == ".so":  # As `head -c -81` and `tail -c 65` show them.
        assert content[-65:] == hashlib.sha256(content[:-81]).hexdigest().encode() + b"\n"


DESCRIPTION: dict[str, Any] = {
    **json.loads(METADATA),
    "inputs": [{"name": "x", "shape": [2, 3], "dtype": "float32"}],
    "outputs": [{"name": "y", "shape": [], "dtype": "bool"}],
    "steps": [["copy", 0, 24, "", ["n"]]],
    "features": ["avx"],
}


def test_a_description() -> None:
    signature = Signature.from_json(json.dumps(DESCRIPTION))
    assert [str(spec) for spec in signature.inputs] == ["'x' float32[2, 3]"]
    assert Signature.from_json(signature.to_json()) == signature


INPUT: dict[str, Any] = DESCRIPTION["inputs"][0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({name: None}, name) for name in DESCRIPTION),
        *(({name: []}, f"'{name}' is") for name in ("name", "target", "threads", "profiled")),
        *(({name: {}}, f"'{name}' is") for name in ("inputs", "outputs", "steps", "features")),
        *(({name: [1]}, "is 1, expected") for name in ("inputs", "outputs", "steps", "features")),
        ({"steps": []}, "it has outputs, and no steps"),
        ({"format": 1}, "the model has format 1, this version reads"),
        ({"name": "a-b"}, "'name' is 'a-b', which is no name for symbols"),
        ({"name": ""}, "no name for symbols"),
        ({"threads": 0}, "'threads' is 0, expected 1 to 256"),
        ({"threads": 257}, "expected 1 to 256"),
        ({"threads": True}, "'threads' is True, expected a JSON number"),
        ({"threads": 2.0}, "'threads' is 2.0, expected a JSON number"),
        ({"profiled": 1}, "'profiled' is 1, expected a JSON boolean"),
        ({"workspace_bytes": -1}, "'workspace_bytes' is -1"),
        ({"workspace_bytes": 2**60}, "'workspace_bytes' is 1152921504606846976"),
        ({"constant_bytes": "5"}, "'constant_bytes' is '5', expected a JSON number"),
        ({"inputs": [INPUT, INPUT]}, "two inputs have the same name"),
        ({"inputs": [{**INPUT, "name": 5}]}, "'name' is 5, expected a JSON string"),
        ({"inputs": [{**INPUT, "shape": [-2]}]}, "the shape of 'x' is -2"),
        ({"inputs": [{**INPUT, "shape": [2.5]}]}, "the shape of 'x' is 2.5"),
        ({"inputs": [{**INPUT, "shape": [2**40, 2**40]}]}, "the size of 'x' is"),
        ({"inputs": [{**INPUT, "dtype": "object"}]}, "the dtype of 'x' is 'object'"),
        ({"inputs": [{**INPUT, "dtype": "f4,f4"}]}, "the dtype of 'x' is 'f4,f4'"),
        ({"steps": [["copy", 0, 24]]}, "a step has 3 entries, expected 5"),
        ({"steps": [["copy", -1, 24, "", []]]}, "the operations of a step is -1"),
        ({"steps": [["copy", 0, 24, None, []]]}, "the implementation of a step is None"),
        ({"steps": [["copy", 0, 24, "", [7]]]}, "a node of a step is 7"),
    ],
)  # fmt: skip
def test_damaged_descriptions(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(xrelay.ModelError, match=re.escape(message)):
        Signature.from_json(json.dumps({**DESCRIPTION, **changes}))


@pytest.mark.parametrize(
    "text", ["", "[", "[" * 10**5, "{}", "[]", "1", "null", '"{}"', "1" * 5000]
)
def test_texts_that_are_no_descriptions(text: str) -> None:
    with pytest.raises(xrelay.ModelError, match="the model"):
        Signature.from_json(text)


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


@needs_cc
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


@needs_cc
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


@needs_cc
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
