"""Backends: the contract on those that come with xrelay, discovery, partitioned models, and machine code of backends."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines.needed import needs_cc
from engines.rectifier import DIAMOND, EXPECTED, RELU, RectifierBackend, X, module, run
from graphs import Graph
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.analysis.partition.compilers import No
from xrelay.backends import c_source
from xrelay.backends.base import (
    Array,
    Backend,
    BackendError,
    CompiledRegion,
    ObjectFile,
    RegionOptions,
    Support,
    Yes,
)
from xrelay.backends.discovery import backend_entries, find_backend
from xrelay.backends.numpy import NumpyBackend
from xrelay.backends.onnxruntime import OnnxRuntimeBackend
from xrelay.contract import check, contract_cases
from xrelay.coverage import coverage
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import ExpOp, ReluOp
from xrelay.interpreters.constants import constant_op
from xrelay.partitioned import find_backends, partition
from xrelay.runtime.errors import ModelError

NEEDS_OPENVINO = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="OpenVINO is not installed"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("numpy", 3),
        ("onnxruntime", 3),
        # These compile each case for a long time.
        pytest.param("c", 10, marks=needs_cc),
        pytest.param("openvino", 10, marks=NEEDS_OPENVINO),
        pytest.param("numpy", 1, marks=pytest.mark.extensive),
        pytest.param("onnxruntime", 1, marks=pytest.mark.extensive),
        pytest.param("c", 1, marks=[needs_cc, pytest.mark.extensive]),
        pytest.param("openvino", 1, marks=[NEEDS_OPENVINO, pytest.mark.extensive]),
    ],
)
def test_contract_of_what_comes_with_xrelay(name: str, step: int) -> None:
    """One of so many cases of operators, and all of structures."""
    backend = find_backend(name)
    cases = list(contract_cases(backend))
    assert len(cases) > 100
    for number, case in enumerate(cases):
        if number % step == 0 or "(" in case.name:
            check(case, backend)


# Discovery


def test_backends_that_come_with_xrelay() -> None:
    assert {"c", "numpy", "onnxruntime", "openblas", "openvino", "simulated"} <= set(
        backend_entries()
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tpu", "there is no backend 'tpu', installed are c, numpy"),
        ("OnnxRuntim", "there is no backend 'OnnxRuntim', .*; did you mean 'onnxruntime'?"),
        ("numpy:fast", "backend 'numpy' takes no argument, found 'fast'"),
        (
            "onnxruntime:nn.conv9d",
            "backend 'onnxruntime': there is no operator 'nn.conv9d'; did you mean",
        ),
        ("simulated", "needs a file of costs"),
        ("simulated:nowhere.toml", "cannot read 'nowhere.toml'"),
    ],
)
def test_backends_that_cannot_be_used(name: str, message: str) -> None:
    with pytest.raises(BackendError, match=message):
        find_backend(name)


def test_backends_that_take_some_operators() -> None:
    """Those that are named, and all without names."""
    graph = Graph()
    x = graph.input(np.ones((2, 3), np.float32))
    for op in (rectified := ReluOp(x), exponential := ExpOp(x)):
        graph.show(op)
    graph.module()
    for name, taken in (("", True), (":nn.relu,exp", True), (":nn.relu", False)):
        backend = find_backend(f"onnxruntime{name}")
        assert isinstance(backend.supports(rectified, rectified.operand_types), Yes)
        answer = backend.supports(exponential, exponential.operand_types)
        assert isinstance(answer, Yes if taken else No)
        assert taken or "not among the operators" in str(answer)


def test_what_onnxruntime_said_of_other_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(_: OnnxRuntimeBackend, op: Operation) -> str | None:
        asked.append(op.name)
        return None if len(asked) > 1 else "not this one"

    monkeypatch.setattr(OnnxRuntimeBackend, "asked", answer)
    backend = OnnxRuntimeBackend()
    x = constant_op(np.zeros(100))
    sums = [AddOp(x, constant_op(np.array(number))) for number in (1.0, 2.0, 1.0)]
    answers = [backend.runs(each, each.operand_types) for each in sums]
    assert answers == [No("not this one"), Yes(), No("not this one")]
    assert len(asked) == 2


@pytest.mark.parametrize(
    "backends", ["numpy", 3, NumpyBackend(), [NumpyBackend], [["numpy"]], iter(["numpy"])]
)
def test_backends_that_are_no_list_of_them(backends: Any) -> None:
    with pytest.raises(BackendError, match="expected a list of names and of Backend objects"):
        find_backends(backends)


def test_the_same_backend_twice() -> None:
    with pytest.raises(BackendError, match="named twice"):
        find_backends(["numpy", "numpy"])


PACKAGE = """
import numpy as np
from xrelay.backends.base import Backend, No, Yes
from xrelay.dialects.tensor.unary import ReluOp


class Rectifier(Backend):
    name = "rectifier"

    def supports(self, op, types):
        return Yes() if isinstance(op, ReluOp) else No("the engine rectifies only")

    def compile(self, function, options):
        def run(inputs, outputs):
            # A region of rectifiers returns the same, however many there are.
            for output in outputs:
                np.maximum(inputs[0], 0, out=output)

        return run
"""


def test_a_package_adds_a_backend(
    tmp_path: Path, cmd: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rectifier.py").write_text(PACKAGE)
    info = tmp_path / "rectifier-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rectifier\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[xrelay.backends]\nrectifier = rectifier:Rectifier\n")
    (tmp_path / "diamond.mlir").write_text(DIAMOND)
    monkeypatch.syspath_prepend(tmp_path)
    for arguments in (["partition", tmp_path / "diamond.mlir", "--backend", "rectifier", "--run"],
                      ["test-backend", "rectifier"]):  # fmt: skip
        done = cmd(*arguments)
        assert done.code == 0, done.err
        assert "rectifier" in done.out
    monkeypatch.delitem(sys.modules, "rectifier")


# Partitioned models


@pytest.mark.parametrize(
    "backends",
    [
        ["numpy"],
        ["onnxruntime"],
        pytest.param(["c"], marks=needs_cc),
        ["onnxruntime:exp,add", "numpy"],
        [RectifierBackend()],
        [RectifierBackend(), "numpy"],
        [RectifierBackend(lambda i, o: [np.maximum(i[0], 0)])],
    ],
)
def test_results_of_a_partitioned_model(backends: list[str | Backend]) -> None:
    model, results = run(backends, threads=2)
    for found, expected in zip(results, EXPECTED, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    again = model.run({"x": X})
    # Outputs belong to the caller: another run does not write to them.
    model.run({"x": X + 1})
    for found, expected in zip(again.values(), EXPECTED, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_regions_and_what_is_left() -> None:
    model, _ = run([RectifierBackend()])
    assert [step.backend for step in model.steps] == ["rectifier", "default"] * 2
    text = module()
    backend = RectifierBackend()
    partition(text, [backend])
    report = coverage(text, [backend])
    assert [region.operators for region in report.regions] == [("nn.relu",)] * 2
    assert {row.operator for row in report.blockers} == {"exp", "multiply", "add"}
    assert {row.reason for row in report.blockers} == {"the engine rectifies only"}
    assert report.offloaded_operators == 2 / 5


def test_coverage_of_what_main_calls() -> None:
    text = module("""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %z = relay.zeros {shape = array<i64: 4>, dtype = f32} : tensor<4xf32>
      %0 = relay.add %x, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = func.call @used(%0) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }
    func.func private @used(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    func.func private @unused(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = relay.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    """)

    class Zeros(RectifierBackend):
        def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
            return Yes() if op.name == "relay.zeros" else No("it makes zeros only")

    report = coverage(text, [Zeros()])
    assert report.host.operators == ("zeros", "add", "exp")
    assert {row.operator: row.reason for row in report.blockers} == {
        "zeros": "it has no operands",
        "add": "it makes zeros only",
        "exp": "it makes zeros only",
    }


def test_coverage_names_operators_of_unknown_shape() -> None:
    text = module("""
    func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %0 = relay.exp %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
      func.return %0 : tensor<?x4xf32>
    }
    """)
    with pytest.raises(DiagnosticException, match=r"operator exp: tensor<\?x4xf32> has an unknown"):
        coverage(text, [RectifierBackend()])


def test_an_output_that_is_an_input_of_the_region() -> None:
    """What an engine returns may lie in memory that later steps use for other tensors."""
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %1 = relay.nn.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
      %2 = relay.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
      %3 = relay.nn.relu %2 : (tensor<4xf32>) -> tensor<4xf32>
      %4 = relay.add %3, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %4 : tensor<4xf32>
    }
    """
    backend = RectifierBackend(lambda inputs, outputs: [inputs[0]])
    model = xrelay.compile(module(text), backends=[backend], cache=False)
    x = np.float32([0.1, 0.2, 0.3, 0.4])
    (found,) = model.run({"x": x}).values()
    np.testing.assert_allclose(found, np.exp(np.exp(x)) + np.exp(x), rtol=1e-6)


def test_outputs_that_nothing_computes() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) {
      %c = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
      func.return %x, %c, %x : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
    }
    """
    model = xrelay.compile(module(text), backends=["numpy"], cache=False)
    x = np.float32([1, 2, 3, 4])
    first, constant, second = model.run({"x": x}).values()
    assert (first == x).all() and (second == x).all() and constant.tolist() == [1, 2]
    first[0] = constant[0] = 9
    assert x[0] == 1 and second[0] == 1
    assert list(model.run({"x": x}).values())[1].tolist() == [1, 2]


def test_outputs_belong_to_the_caller() -> None:
    def frozen(inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array]:
        result = np.asfortranarray(np.maximum(inputs[0], 0))
        result.flags.writeable = False
        return [result]

    for found in run([RectifierBackend(frozen)])[1]:
        assert found.flags.writeable and found.flags.c_contiguous


def test_outputs_in_another_order() -> None:
    """What lies in the memory of another output is copied."""

    class Swapping(NumpyBackend):
        name = "swapping"

        def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
            return Yes() if isinstance(op, ReluOp | ExpOp) else No("others")

        def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
            inner = super().compile(function, options)

            def swapped(inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array]:
                inner(inputs, outputs[::-1])
                return outputs[::-1]

            return swapped

    text = """
    func.func @main(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
      %0 = relay.nn.relu %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
      %1 = relay.exp %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
      %2 = relay.tanh %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
      %3 = relay.add %2, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
      %4 = relay.add %3, %0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
      func.return %4, %1 : tensor<3x4xf32>, tensor<3x4xf32>
    }
    """
    model = xrelay.compile(module(text), backends=[Swapping()], cache=False)
    found, second = model.run({"x": X}).values()
    np.testing.assert_allclose(second, np.exp(RELU), rtol=1e-6)
    np.testing.assert_allclose(found, np.tanh(RELU) + np.exp(RELU) + RELU, rtol=1e-6)


def test_values_of_the_same_name() -> None:
    """xDSL reads `%a_1` as another `%a`."""
    text = """
    func.func @main(%x: tensor<4xf32>, %x_1: tensor<4xf32>) -> tensor<4xf32> {
      %a = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %a_1 = relay.tanh %x_1 : (tensor<4xf32>) -> tensor<4xf32>
      %b = relay.nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
      %b_1 = relay.nn.relu %a_1 : (tensor<4xf32>) -> tensor<4xf32>
      %c = relay.add %b, %b_1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %c : tensor<4xf32>
    }
    """
    model = xrelay.compile(module(text), backends=[RectifierBackend()], cache=False)
    x = np.float32([1, 2, 3, 4])
    (found,) = model.run({"x": x, "x_1": -x}).values()
    np.testing.assert_allclose(found, np.exp(x), rtol=1e-6)


def test_profile_is_for_one_engine() -> None:
    with pytest.raises(xrelay.CompileError, match="profile"):
        xrelay.compile(module(), backends=["numpy"], profile=True)


def test_optimize_sees_the_region() -> None:
    seen: list[str] = []

    class Watching(NumpyBackend):
        name = "watching"

        def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
            return Yes() if isinstance(op, ExpOp) else No("only exp")

        def optimize(self, module: ModuleOp) -> None:
            seen.extend(op.name for op in module.walk() if isinstance(op, ExpOp))

    _, results = run([Watching()])
    assert seen == ["relay.exp"]
    np.testing.assert_allclose(results[0], EXPECTED[0], rtol=1e-6)


# Machine code of backends


@pytest.mark.parametrize("content", [b"", b"no object file", b"\x7fELF\x02\x01\x01" + bytes(300)])
def test_object_files_that_are_none(content: bytes) -> None:
    class Objects(RectifierBackend):
        def compile(self, function: func.FuncOp, options: RegionOptions) -> Any:
            return ObjectFile(content, "region")

    with pytest.raises(BackendError, match=r"region @\S* .* the object file cannot be loaded"):
        run([Objects()])


@needs_cc
def test_object_files_that_lack_a_function(tmp_path: Path) -> None:
    source, made = tmp_path / "x.c", tmp_path / "x.o"
    source.write_text(
        "void not_there(void);\nint region(const void **i, void **o) { not_there(); return 0; }\n"
    )
    subprocess.run(["cc", "-fPIC", "-c", str(source), "-o", str(made)], check=True)

    class Objects(RectifierBackend):
        def compile(self, function: func.FuncOp, options: RegionOptions) -> Any:
            return ObjectFile(made.read_bytes(), "region")

    with pytest.raises(BackendError, match="function 'not_there'"):
        run([Objects()])


@needs_cc
def test_memory_of_the_c_backend_is_shared() -> None:
    type_ = "tensor<4xf32>"
    lines = [f"%v0 = relay.exp %x : ({type_}) -> {type_}"]
    lines += [f"%v{i + 1} = relay.tanh %v{i} : ({type_}) -> {type_}" for i in range(20)]
    lines += [f"%r = relay.add %v20, %v3 : ({type_}, {type_}) -> {type_}"]
    text = f"func.func @main(%x: {type_}) -> ({type_}, {type_}) {{ {' '.join(lines)} "
    program = module(text + f"func.return %r, %v1 : {type_}, {type_} }}")
    function = next(iter(program.ops))
    assert isinstance(function, func.FuncOp)
    size = re.search(r"malloc\((\d+)\)", c_source.c_source(function))
    # %v1, %v3 and two of the chain; each takes 64 bytes.
    assert size is not None and int(size.group(1)) == 4 * 64
    model = xrelay.compile(program, backends=["c"], cache=False)
    x = np.linspace(-1, 1, 4, dtype=np.float32)
    values = [np.exp(x)]
    for _ in range(20):
        values.append(np.tanh(values[-1]))
    first, second = model.run({"x": x}).values()
    np.testing.assert_allclose(first, values[20] + values[3], rtol=1e-5)
    np.testing.assert_allclose(second, values[1], rtol=1e-5)


@needs_cc
def test_memory_that_the_c_backend_does_not_get(monkeypatch: pytest.MonkeyPatch) -> None:
    """A region that cannot run fails as regions do; the process goes on."""
    whole = c_source.c_source

    def greedy(function: func.FuncOp) -> str:
        text, count = re.subn(r"malloc\(\d+\)", "malloc((size_t)-1 / 4)", whole(function))
        assert count == 1
        return text

    monkeypatch.setattr(c_source, "c_source", greedy)
    with pytest.raises(ModelError, match=r"region @\S* .*returns 1, expected 0"):
        run(["c"])
    model = xrelay.compile(module(), backends=["c"], fallback=True, cache=False)
    for found, expected in zip(model.run({"x": X}).values(), EXPECTED, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_c_backend_where_object_files_do_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_source, "is_supported", lambda: False)
    with pytest.raises(BackendError, match="needs Linux on 64-bit x86"):
        find_backend("c")


# -- weights that are quantised ---------------------------------------------------------------------

QUANTIZED = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %w = relay.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9], [-1, -2, -3]]> : tensor<4x3xi8>
  %s = relay.constant dense<0.5> : tensor<f32>
  %z = relay.constant dense<0> : tensor<i32>
  %d = relay.qnn.dequantize %w, %s, %z : (tensor<4x3xi8>, tensor<f32>, tensor<i32>) -> tensor<4x3xf32>
  %p = relay.nn.dense %x, %d : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %r = relay.nn.relu %p : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}
"""


class Taking(NumpyBackend):
    """Takes some operators."""

    name = "taking"

    def __init__(self, *operators: str):
        super().__init__()
        self.operators = operators

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes() if op.name.removeprefix("relay.") in self.operators else No("it does not")


def test_weights_that_are_quantised_by_the_model() -> None:
    """Rounded numbers are as constant as integers."""
    text = QUANTIZED.replace("%w = relay.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9], [-1, -2, -3]]> : tensor<4x3xi8>", """
  %f = relay.constant dense<[[1., 2., 3.], [4., 5., 6.], [7., 8., 9.], [-1., -2., -3.]]> : tensor<4x3xf32>
  %q = relay.constant dense<1.0> : tensor<f32>
  %o = relay.constant dense<0> : tensor<i32>
  %w = relay.qnn.quantize %f, %q, %o {out_dtype = i8} : (tensor<4x3xf32>, tensor<f32>, tensor<i32>) -> tensor<4x3xi8>""")  # fmt: skip
    for operators, stay in ((("nn.dense",), False), (("qnn.quantize", "qnn.dequantize"), True)):
        program = module(text)
        partition(program, find_backends([Taking(*operators)]))
        assert ("relay.qnn.dequantize" in {op.name for op in program.walk()}) is stay


@pytest.mark.parametrize(
    ("operators", "stay"),
    [
        (("qnn.dequantize", "nn.dense", "nn.relu"), True),
        (("nn.relu",), True),  # Own code computes with integers.
        (("nn.dense", "nn.relu"), False),  # They would be numbers at each run.
        ((), True),
    ],
)
def test_quantised_weights_stay_where_engines_know_them(
    operators: tuple[str, ...], stay: bool
) -> None:
    program = module(QUANTIZED)
    partition(program, find_backends([Taking(*operators)]))
    assert ("relay.qnn.dequantize" in {op.name for op in program.walk()}) is stay
    model = xrelay.compile(module(QUANTIZED), backends=[Taking(*operators)], cache=False)
    x = np.array([[1, 2, 3], [0, -1, 2]], np.float32)
    w = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [-1, -2, -3]]) * 0.5
    (found,) = model.run({"x": x}).values()
    np.testing.assert_allclose(found, np.maximum(x @ w.T, 0), rtol=1e-6)
