"""Compiled models: the arrays that they run on and refuse, `run_into`, `profile`, `save` and `load`."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.runs import MakeModel
from engines.needed import CC, needs_cc
from onnx import helper
from oracles import expected_of, random_x
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.frontends.onnx import import_model, load_model

# -- run ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def conv(conv_file: Path) -> xrelay.Model:
    """The model of conv.onnx."""
    return xrelay.compile(conv_file)


class Unreadable:
    """What fails when it is asked for its elements."""

    def __array__(self, *args: Any) -> Any:
        raise KeyError("gone")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "missing input 'x'; the model takes 'x' float32[1, 3, 8, 8]"),
        (
            {"X": np.zeros((1, 3, 8, 8), np.float32)},
            "unknown input 'X', missing input 'x'; the model takes 'x' float32[1, 3, 8, 8]",
        ),
        (
            {"x": np.zeros((3, 8, 8), np.float32)},
            "input 'x' is float32[3, 8, 8], expected 'x' float32[1, 3, 8, 8]",
        ),
        (
            {"x": np.zeros((1, 3, 8, 8))},
            "input 'x' is float64[1, 3, 8, 8], expected 'x' float32[1, 3, 8, 8]",
        ),
        ({"x": 1}, "input 'x' is int64[], expected 'x' float32[1, 3, 8, 8]"),
        ({"x": "text"}, "input 'x' is <U4[], expected 'x' float32[1, 3, 8, 8]"),
        ({"x": [[1], [2, 3]]}, "input 'x' is no array"),
        ({"x": Unreadable()}, "input 'x' is no array: 'gone'"),
        ({"x": None}, "input 'x' is object[], expected 'x' float32[1, 3, 8, 8]"),
    ],
)
def test_wrong_inputs(conv: xrelay.Model, inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(xrelay.ModelError) as error:
        conv.run(inputs)
    assert message in str(error.value)


def test_inputs_in_any_memory_order(conv: xrelay.Model) -> None:
    x = random_x(1, 3, 8, 8)
    expected = conv.run({"x": x})["y"]
    transposed = np.ascontiguousarray(x.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    strided = np.repeat(x, 2, axis=3)[..., ::2]
    offset = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
    read_only = x.copy()
    read_only.flags.writeable = False
    for array in (transposed, strided, offset, read_only):
        np.testing.assert_array_equal(conv.run({"x": array})["y"], expected)


@pytest.fixture(scope="module")
def pairs(model_of: MakeModel) -> xrelay.Model:
    """y = -x and z = -w for four numbers each, w of another dtype."""
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Neg", ["w"], ["z"])]
    inputs = {"x": (np.float32, [4]), "w": (np.int64, [4])}
    return xrelay.compile(model_of(nodes, inputs, ["y", "z"]))


Buffers = tuple[list[Any], list[Any]]


def buffers() -> Buffers:
    """Inputs and outputs for `pairs`."""
    return (
        [np.arange(4, dtype=np.float32), np.arange(4)],
        [np.zeros(4, np.float32), np.zeros(4, np.int64)],
    )


def test_run_into_arrays_of_the_caller(pairs: xrelay.Model) -> None:
    inputs, outputs = buffers()
    for array in inputs:
        array.flags.writeable = False
    pairs.run_into(inputs, outputs)
    assert [array.tolist() for array in outputs] == [[0, -1, -2, -3]] * 2
    # Right beside one another in memory, outputs and inputs mixed, is not shared.
    block = np.zeros(12, np.int64)
    block[:4] = range(4)
    halves = block[4:8].view(np.float32)
    halves[:4] = range(4)
    pairs.run_into((halves[:4], block[:4]), (halves[4:], block[8:]))
    assert halves.tolist() == [0, 1, 2, 3, 0, -1, -2, -3]
    assert block[8:].tolist() == [0, -1, -2, -3]


def at_odd_address(size: int) -> Any:
    return np.zeros(4 * size + 1, np.uint8)[1:].view(np.float32)


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


BLOCK = np.zeros(8, np.int64)
FLOATS = BLOCK.view(np.float32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda i, o: (i[:1], o), "1 input is given, expected 'x' float32[4], 'w' int64[4]"),
        (lambda i, o: (i, []), "0 outputs are given, expected 'y' float32[4], 'z' int64[4]"),
        (lambda i, o: (i, [*o, o[0]]), "3 outputs are given"),
        (lambda i, o: (i[0], o), "the inputs are a ndarray, expected a list of 'x' float32[4]"),
        (lambda i, o: (i, {"y": o}), "the outputs are a dict, expected a list of 'y' float32[4]"),
        (lambda i, o: (None, o), "the inputs are a NoneType"),
        (lambda i, o: ([[1.0] * 4, i[1]], o), "input 'x' is a list, expected the array 'x'"),
        (lambda i, o: (i, [o[0], None]), "output 'z' is a NoneType, expected the array 'z'"),
        (lambda i, o: (i, [o[0][:3], o[1]]), "output 'y' is float32[3], expected 'y' float32[4]"),
        (lambda i, o: (i, o[::-1]), "output 'y' is int64[4], expected 'y' float32[4]"),
        (lambda i, o: ([i[0][:2], i[1]], o), "input 'x' is float32[2], expected 'x' float32[4]"),
        (lambda i, o: ([i[0].reshape(4, 1), i[1]], o), "input 'x' is float32[4, 1], expected"),
        (lambda i, o: ([i[0].astype(">f4"), i[1]], o), "input 'x' is >f4[4], expected"),
        (
            lambda i, o: ([np.zeros(8, np.float32)[::2], i[1]], o),
            "input 'x' is not C-contiguous: its strides are [8]",
        ),
        (lambda i, o: ([i[0][::-1], i[1]], o), "input 'x' is not C-contiguous"),
        (
            lambda i, o: ([np.broadcast_to(i[0][:1], 4), i[1]], o),
            "input 'x' is not C-contiguous: its strides are [0]",
        ),
        (lambda i, o: (i, [np.zeros(8, np.float32)[::2], o[1]]), "output 'y' is not C-contiguous"),
        (lambda i, o: ([at_odd_address(4), i[1]], o), "expected a multiple of 4"),
        (lambda i, o: (i, [at_odd_address(4), o[1]]), "output 'y' is not aligned"),
        (lambda i, o: (i, [read_only(o[0]), o[1]]), "output 'y' is read-only"),
        (lambda i, o: (i, [i[0], o[1]]), "input 'x' and output 'y' share memory"),
        (lambda i, o: (i, [FLOATS[4:8], BLOCK[3:7]]), "output 'y' and output 'z' share memory"),
        (lambda i, o: (i, [FLOATS[2:6], BLOCK[:4]]), "output 'y' and output 'z' share memory"),
        (lambda i, o: ([i[0], BLOCK[:4]], [FLOATS[7:11], o[1]]), "'w' and output 'y' share memory"),
        (lambda i, o: ([FLOATS[3:7], i[1]], [o[0], BLOCK[3:7]]), "'x' and output 'z' share memory"),
    ],
)  # fmt: skip
def test_run_into_wrong_arrays(
    pairs: xrelay.Model, change: Callable[[list[Any], list[Any]], Buffers], message: str
) -> None:
    inputs, outputs = change(*buffers())
    with pytest.raises(xrelay.ModelError) as error:
        pairs.run_into(inputs, outputs)
    assert message in str(error.value)


class Liar(np.ndarray[Any, Any]):
    """An array that says that it is as large as models want it, and apart from others."""

    shape: Any = property(lambda self: (4,))
    dtype: Any = property(lambda self: np.dtype(np.float32))
    size: Any = property(lambda self: 0)
    nbytes: Any = property(lambda self: 0)

    def __array__(self, *_: object, **__: object) -> Any:
        return np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (np.zeros(2, np.float32), "is float32[2], expected"),
        (np.zeros((1, 4), np.float32), "is float32[1, 4], expected"),
        (np.zeros(4, np.int8), "is int8[4], expected"),
    ],
)
def test_arrays_that_lie(pairs: xrelay.Model, made: Any, message: str) -> None:
    """What memory an array has is NumPy's to say, not that of a subclass."""
    inputs, outputs = buffers()
    liar = made.view(Liar)
    assert liar.shape == (4,)
    with pytest.raises(xrelay.ModelError, match=re.escape(f"input 'x' {message}")):
        pairs.run_into([liar, inputs[1]], outputs)
    with pytest.raises(xrelay.ModelError, match=re.escape(f"output 'y' {message}")):
        pairs.run_into(inputs, [liar, outputs[1]])
    with pytest.raises(xrelay.ModelError, match=re.escape(f"input 'x' {message}")):
        pairs.run({"x": liar, "w": inputs[1]})


def test_arrays_of_subclasses(pairs: xrelay.Model, tmp_path: Path) -> None:
    inputs, outputs = buffers()
    mapped = np.memmap(tmp_path / "y", np.float32, "w+", shape=4)
    pairs.run_into([inputs[0].view(Liar), inputs[1]], [mapped, outputs[1]])
    assert mapped.tolist() == outputs[1].tolist() == [0, -1, -2, -3]
    with pytest.raises(xrelay.ModelError, match="input 'x' and output 'y' share memory"):
        pairs.run_into([inputs[0].view(Liar), inputs[1]], [inputs[0].view(Liar), outputs[1]])


def test_inputs_may_share_memory_and_empty_arrays_any(model_of: MakeModel) -> None:
    nodes = [
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Relu", ["e"], ["f"]),
    ]
    inputs = {name: (np.float32, [2]) for name in "ab"}
    model = xrelay.compile(model_of(nodes, {**inputs, "e": (np.float32, [0])}, ["c", "f"]))
    x, y = np.array([1, 2], np.float32), np.zeros(2, np.float32)
    model.run_into([x, x, x[1:1]], [y, y[1:1]])
    assert y.tolist() == [2, 4]


def test_outputs_are_new_arrays(conv: xrelay.Model) -> None:
    first = conv.run({"x": random_x(1, 3, 8, 8, seed=1)})["y"]
    copy = first.copy()
    conv.run({"x": random_x(1, 3, 8, 8, seed=2)})
    np.testing.assert_array_equal(first, copy)


def test_several_threads_run_one_model(folder: Path) -> None:
    model = xrelay.compile(folder / "symbolic.onnx", shapes={"x": [2, 3, 24, 24]})
    inputs = [random_x(2, 3, 24, 24, seed=seed) for seed in range(8)]
    expected = [model.run({"x": x})["y"] for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: model.run({"x": inputs[i % 8]})["y"], range(160)))
    for i, array in enumerate(found):
        np.testing.assert_array_equal(array, expected[i % 8])


def test_code_outlives_the_model(folder: Path) -> None:
    """A bound method keeps what it needs."""
    run = xrelay.compile(folder / "conv.onnx").run
    x = random_x(1, 3, 8, 8)
    np.testing.assert_allclose(run({"x": x})["y"], expected_of(folder, x), rtol=1e-5, atol=1e-5)


def test_odd_signatures(model_of: MakeModel) -> None:
    """Scalars, empty tensors, an input that is an output, one value returned twice."""
    nodes = [
        helper.make_node("Neg", ["s"], ["t"]),
        helper.make_node("Relu", ["e"], ["f"]),
        helper.make_node("Identity", ["x"], ["u"]),
        helper.make_node("Identity", ["x"], ["v"]),
    ]
    inputs = {"s": (np.float32, []), "e": (np.float32, [0, 3]), "x": (np.int64, [2])}
    model = xrelay.compile(model_of(nodes, inputs, ["t", "f", "u", "v"]))
    outputs = model.run({"s": np.float32(2), "e": np.zeros((0, 3), np.float32), "x": [5, -6]})
    assert {name: array.tolist() for name, array in outputs.items()} == {
        "t": -2,
        "f": [],
        "u": [5, -6],
        "v": [5, -6],
    }
    assert outputs["t"].shape == ()
    assert outputs["f"].shape == (0, 3)
    assert outputs["u"] is not outputs["v"]


def test_models_say_what_they_are(pairs: xrelay.Model, model_of: MakeModel) -> None:
    signature, code = pairs.signature, pairs.code
    assert code is not None
    assert repr(pairs) == (
        "<Model 'graph': 'x' float32[4], 'w' int64[4] -> 'y' float32[4], 'z' int64[4], "
        f"for {signature.target}, 1 thread, 0 bytes of constants, {signature.workspace_bytes} of "
        f"workspace, {len(code.object)} of code>"
    )
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    proto = model_of(nodes, {"x": (np.float32, [4])}, ["y"])
    parts = xrelay.compile(proto, backends=["numpy"], threads=2, target="x86-64-v3")
    assert repr(parts) == (
        "<PartitionedModel 'graph': 'x' float32[4] -> 'y' float32[4], for x86-64-v3, "
        "2 threads, 0 bytes of constants, 0 of workspace, 1 step on numpy>"
    )


class Longer(list[Any]):
    """A list that says that it has one element more."""

    def __len__(self) -> int:
        return super().__len__() + 1


def test_a_list_that_lies_about_its_length(folder: Path) -> None:
    model = xrelay.compile(folder / "add.mlir")
    array = np.ones((2, 4), np.float32)
    with pytest.raises(xrelay.ModelError, match="1 input is given"):
        model.run_into(Longer([array]), [np.empty_like(array)])


@pytest.fixture(scope="module")
def profiled(model_of: MakeModel) -> xrelay.Model:
    """y = -x, compiled for profiling."""
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    return xrelay.compile(model_of(nodes, {"x": (np.float32, [4])}, ["y"]), profile=True)


@pytest.mark.parametrize("runs", [0, -1, 2**70, 1.5, "3", True, None, np.zeros(2)])
def test_numbers_of_runs_that_are_none(profiled: xrelay.Model, runs: Any) -> None:
    with pytest.raises(
        xrelay.ModelError, match="^runs is .*, expected (a whole number|1 to 1000000)"
    ):
        profiled.profile({"x": np.zeros(4, np.float32)}, runs)


# -- save and load ------------------------------------------------------------------------------


@needs_cc
def test_saved_model_is_the_same(conv: xrelay.Model, folder: Path) -> None:
    conv.save(folder / "conv.so")
    loaded = xrelay.load(folder / "conv.so")
    assert loaded.signature == conv.signature
    x = random_x(1, 3, 8, 8)
    np.testing.assert_array_equal(loaded.run({"x": x})["y"], conv.run({"x": x})["y"])
    with pytest.raises(xrelay.ModelError, match="has no LLVM IR"):
        _ = loaded.llvm_ir
    with pytest.raises(xrelay.ModelError, match="cannot be saved again"):
        loaded.save(folder / "again.so")


@needs_cc
def test_loaded_models_do_not_mix(conv: xrelay.Model, folder: Path) -> None:
    """Two libraries define the same symbols."""
    (folder / "other").mkdir()
    other = xrelay.compile(folder / "symbolic.onnx", shapes={"x": [1, 3, 4, 4]})
    conv.save(folder / "model.so")
    other.save(folder / "other" / "model.so")
    models = xrelay.load(folder / "model.so"), xrelay.load(str(folder / "other" / "model.so"))
    for model, size in zip(models, (8, 4), strict=True):
        x = random_x(1, 3, size, size)
        np.testing.assert_allclose(
            model.run({"x": x})["y"], expected_of(folder, x), rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("conv.txt", "the suffix is '.txt', expected .so, .o, .ll"),
        ("conv", "the suffix is '', expected .so, .o, .ll"),
        ("absent/conv.ll", "absent/conv.ll': No such file or directory"),
        ("folder.ll", "folder.ll': Is a directory"),
        ("folder.o", "folder.o': Is a directory"),
    ],
)
def test_bad_places_to_save(conv: xrelay.Model, folder: Path, name: str, message: str) -> None:
    (folder / "folder.ll").mkdir()
    (folder / "folder.o").mkdir()
    before = sorted(folder.rglob("*"))
    with pytest.raises(xrelay.ModelError) as error:
        conv.save(folder / name)
    assert message in str(error.value)
    assert sorted(folder.rglob("*")) == before


def test_bad_files_to_load(folder: Path) -> None:
    (folder / "text.so").write_text("text")
    for name, message in (
        ("absent.so", "absent.so': No such file or directory"),
        ("text.so", "text.so' does not end with a checksum of xrelay's"),
        (".", "': Is a directory"),
    ):
        with pytest.raises(xrelay.ModelError, match=message):
            xrelay.load(folder / name)


def test_an_object_file_is_for_linking(tmp_path: Path) -> None:
    with pytest.raises(xrelay.ModelError, match=r"m.o' is an object file, which is for linking"):
        xrelay.load(tmp_path / "m.o")


NO_PATHS: list[tuple[Any, str]] = [
    (5, " is 5, expected the path of a file"),
    (None, " is None, expected the path of a file"),
    (b"model.so", " is b'model.so', expected the path of a file"),
    ("a\0b.so", "which no file can be called: it has a NUL character"),
    (Path("a\0b.so"), "which no file can be called: it has a NUL character"),
    ("\ud800.so", "which no file can be called: 'utf-8' codec can't encode"),
    ("x" * 5000 + ".so", "File name too long"),
]


@pytest.mark.parametrize(("path", "message"), NO_PATHS, ids=lambda value: repr(value)[:20])
def test_paths_that_are_none(pairs: xrelay.Model, path: Any, message: str) -> None:
    functions: list[Callable[[Any], object]] = [xrelay.load, load_model, import_model]
    functions += [pairs.save] * (CC is not None)
    for function in functions:
        with pytest.raises(DiagnosticException, match=re.escape(message)):
            function(path)
