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
import pytest
from engines.needed import needs_cc
from onnx import ModelProto, parser
from onnx_models import PERCEPTRON, bands_of, model_of

import xrelay
from tests.unit.api.saved_files import (
    AT_A_POSITION,
    arrays_for,
    c_program,
    expected,
    interface_of,
    loaded,
    saved,
)
from xrelay.runtime.dimensions.interface import OpenInterface, lengths_of
from xrelay.runtime.model import Model
from xrelay.runtime.seal import SEAL_BYTES
from xrelay.tools.cli import main

pytestmark = needs_cc


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
