"""
Backends: the contract on those that come with xrelay, what the contract finds in wrong ones, discovery,
partitioned models, and what is said when an engine fails.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Graph
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.analysis.partition.compilers import No
from xrelay.analysis.patterns.language import is_op, wildcard
from xrelay.analysis.patterns.matching import match
from xrelay.backends import c_source
from xrelay.backends.base import (
    Array,
    Backend,
    BackendError,
    CompiledRegion,
    CompositePattern,
    ObjectFile,
    RegionOptions,
    Support,
    Yes,
)
from xrelay.backends.contract_cases import SAMPLES
from xrelay.backends.discovery import backend_entries, find_backend
from xrelay.backends.numpy import NumpyBackend
from xrelay.backends.onnxruntime import OnnxRuntimeBackend
from xrelay.backends.region_builder import RegionBuilder
from xrelay.backends.simulated import chain
from xrelay.compiler import context
from xrelay.contract import TOLERANCES, ContractBroken, check, contract_cases, difference
from xrelay.coverage import coverage
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.dialects.tensor.unary import ExpOp, ReluOp
from xrelay.interpreters.constants import constant_op
from xrelay.partitioned import find_backends, partition
from xrelay.runtime.errors import ModelError
from xrelay.runtime.partitioned import PartitionedModel

HAS_C = shutil.which("cc") is not None

COSTS = """\
flops = 1e12
bandwidth = 1e10
launch = 1e-5
dtypes = ["float32"]
[operators]
"exp" = {}
"add" = { bytes = 1000 }
[composites]
"add_relu" = ["add", "nn.relu"]
"""

DIAMOND = """
func.func @main(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %c = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.nn.relu %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = relay.exp %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = relay.multiply %1, %c : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %3 = relay.nn.relu %2 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %4 = relay.add %3, %0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %4, %0 : tensor<3x4xf32>, tensor<3x4xf32>
}
"""
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
RELU = np.maximum(X, 0)
EXPECTED = np.exp(RELU) * 2 + RELU, RELU


def module(text: str = DIAMOND) -> ModuleOp:
    found = Parser(context(), text).parse_module()
    found.verify()
    return found


class RectifierBackend(Backend):
    """Runs `nn.relu`, by whatever function a test gives it."""

    name = "rectifier"

    def __init__(self, run: Callable[..., Any] | None = None):
        super().__init__()
        self.given = run

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes() if isinstance(op, ReluOp) else No("the engine rectifies only")

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        return self.given or rectify


def rectify(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    np.maximum(inputs[0], 0, out=outputs[0])


def run(backends: Sequence[str | Backend], **options: Any) -> tuple[PartitionedModel, list[Array]]:
    """The partitioned diamond, and its results."""
    model = xrelay.compile(module(), backends=backends, cache=False, **options)
    assert isinstance(model, PartitionedModel)
    return model, list(model.run({"x": X}).values())


# Contracts


NEEDS_C = pytest.mark.skipif(not HAS_C, reason="no C compiler")
NEEDS_OPENVINO = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="OpenVINO is not installed"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("numpy", 1),
        ("onnxruntime", 1),
        # These compile each case for a long time.
        pytest.param("c", 10, marks=NEEDS_C),
        pytest.param("openvino", 10, marks=NEEDS_OPENVINO),
        pytest.param("c", 1, marks=[NEEDS_C, pytest.mark.extensive]),
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


@pytest.mark.parametrize("name", SAMPLES)
def test_contract_shows_axes_in_each_others_place(name: str) -> None:
    """Each sample is a region, and neighbouring axes of its operands have different lengths."""
    region = RegionBuilder(bind_constants=False)
    assert SAMPLES[name]("float32", region)
    for shape in (each.shape for each in region.inputs):
        if shape[-2:] == (3, 3):
            shape = shape[:-2]  # A window.
        assert all(one != two for one, two in pairwise(shape)), shape


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_contract_allows_roundings(dtype: str) -> None:
    expected = np.array([1, 2], np.dtype(dtype))
    assert difference(np.nextafter(expected, np.zeros_like(expected)), expected) is None
    zero, most = np.zeros(1), np.full(1, TOLERANCES["float64"])
    assert difference(most, zero) is None
    assert difference(np.nextafter(most, 1), zero) is not None
    wrong = difference(np.array([1, 3], np.dtype(dtype)), expected)
    assert wrong is not None and "differs in 1 of 2 elements, at [1]: 3" in wrong


@pytest.mark.slow
def test_contract_of_a_simulated_backend(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(COSTS)
    backend = find_backend(f"simulated:{path}")
    names = [case.name for case in contract_cases(backend)]
    assert any("pattern simulated.add_relu" in name for name in names)
    for case in contract_cases(backend):
        check(case, backend)


def _changes_input(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    outputs[0][...] = np.maximum(inputs[0], 0)
    inputs[0].fill(0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda i, o: np.minimum(i[0], 0, out=o[0]) and None, "differs in"),
        (lambda i, o: [np.maximum(i[0], 0)[None]], r"is .*\[1.*expected"),
        (lambda i, o: [np.maximum(i[0], 0).astype("complex64")], "is complex64"),
        (lambda i, o: [], "0 results, expected 1"),
        (lambda i, o: 1 / 0, "does not run: division by zero"),
        (_changes_input, "does not run: .*read-only"),
        (lambda i, o: None, "differs in"),
    ],
)
def test_contract_finds(wrong: Callable[..., Any], message: str) -> None:
    backend = RectifierBackend(wrong)
    with pytest.raises((ContractBroken, ValueError), match=message):
        for case in contract_cases(backend):
            check(case, backend)


def test_contract_finds_memory_that_is_used_again() -> None:
    kept: dict[tuple[int, ...], Array] = {}

    def reuse(inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array]:
        memory = kept.setdefault(inputs[0].shape, np.empty_like(inputs[0]))
        np.maximum(inputs[0], 0, out=memory)
        return [memory]

    with pytest.raises(ContractBroken, match="result 0 after another run differs"):
        check_rectifier(reuse)


def test_contract_finds_what_two_threads_share() -> None:
    """Both wait for each other, so that the one that writes last wins."""
    shared: list[Array] = []
    barrier = threading.Barrier(2)
    main = threading.get_ident()

    def share(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        source = inputs[0]
        if threading.get_ident() != main:
            shared.append(source)
            barrier.wait(timeout=60)
            source = shared[-1]
        np.maximum(source, 0, out=outputs[0])

    with pytest.raises(ContractBroken, match="result 0 when two threads run the region differs"):
        check_rectifier(share)


def test_chains_of_simulated_backends() -> None:
    """Each operator takes the one before first, and as many others as it takes."""
    graph = Graph()
    x, row = graph.input(np.ones((2, 3), np.float32)), graph.input(np.ones(3, np.float32))
    total = graph.op(AddOp(graph.op(ExpOp(x)), row))
    value = graph.op(WhereOp(graph.input(np.ones((2, 3), bool)), total, total))
    value = graph.op(ReluOp(graph.op(WhereOp(value, x, row))))
    graph.returns(value)
    assert match(chain(("where", "where", "nn.relu")), value) is not None
    assert match(chain(("add", "where", "where", "nn.relu")), value) is None
    assert match(chain(("exp", "add")), total) is not None
    assert match(chain(("add", "exp")), total) is None
    assert match(chain(("add",)), total) is not None


def check_rectifier(run: Callable[..., Any]) -> None:
    """Checks the first case of several elements in f32."""
    backend = RectifierBackend(run)
    check(next(c for c in contract_cases(backend) if c.name == "nn.relu float32[7]"), backend)


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


@pytest.mark.parametrize(
    "backends", ["numpy", 3, NumpyBackend(), [NumpyBackend], [["numpy"]], iter(["numpy"])]
)
def test_backends_that_are_no_list_of_them(backends: Any) -> None:
    with pytest.raises(BackendError, match="expected a list of names and of Backend objects"):
        find_backends(backends)


def test_the_same_backend_twice() -> None:
    with pytest.raises(BackendError, match="named twice"):
        find_backends(["numpy", "numpy"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flops = 1", "'bandwidth' is None, expected a positive number"),
        (COSTS.replace("1e12", "-1"), "'flops' is -1, expected a positive number"),
        (COSTS + "x = 3", "'composites.x' is 3, expected a list of names"),
        ("speed = 1\n" + COSTS, "unknown entry 'speed'"),
        (COSTS.replace("{ bytes", "{ size"), "unknown entry 'size' of operator 'add'"),
        ("flops = ", "is not TOML"),
        (COSTS.replace("1e-5", "inf"), "'launch' is inf, expected a number of at least 0"),
        (COSTS.replace('"exp"', '"expp"'), "there is no operator 'expp'"),
        (COSTS.replace("nn.relu", "nn.reluu"), "there is no operator 'nn.reluu'"),
        (COSTS.replace("float32", "float33"), "there is no dtype 'float33'"),
        ("name = 3\n" + COSTS, "'name' is 3, expected a name"),
    ],
)
def test_costs_that_make_no_sense(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(text)
    with pytest.raises(BackendError, match=message):
        find_backend(f"simulated:{path}")


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
        pytest.param(["c"], marks=pytest.mark.skipif(not HAS_C, reason="no C compiler")),
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


# Engines that fail


class BrokenBackend(RectifierBackend):
    """Fails to compile."""

    name = "broken"

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        raise RuntimeError("out of registers")


def test_a_backend_that_does_not_compile() -> None:
    with pytest.raises(
        BackendError,
        match=r"region @\S*broken\S* \(nn.relu\) cannot be compiled by backend 'broken': "
        "out of registers",
    ):
        run([BrokenBackend()])
    model, results = run([BrokenBackend()], fallback=True)
    np.testing.assert_allclose(results[0], EXPECTED[0], rtol=1e-6)
    assert [step.failures for step in model.steps if step.backend == "broken"] == [
        ["out of registers"]
    ] * 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda i, o: 1 / 0, "division by zero"),
        (lambda i, o: [i[0][:1]], r"result 0 is float32\[1, 4\], expected float32\[3, 4\]"),
        (lambda i, o: [i[0].astype("f8")], r"result 0 is float64\[3, 4\]"),
        (lambda i, o: [], "it returns 0 arrays, expected 1"),
        (lambda i, o: np.maximum(i[0], 0), "it returns a ndarray, expected a sequence of arrays"),
        (lambda i, o: 3, "it returns an int, expected a sequence of arrays"),
        (lambda i, o: sys.exit("bye"), "bye"),
    ],
)
def test_a_backend_that_does_not_run(wrong: Callable[..., Any], message: str) -> None:
    whole = rf"region @\S* \(nn.relu\) fails on backend 'rectifier': {message}"
    with pytest.raises(ModelError, match=whole):
        run([RectifierBackend(wrong)])
    model, results = run([RectifierBackend(wrong)], fallback=True)
    np.testing.assert_allclose(results[0], EXPECTED[0], rtol=1e-6)
    assert all(step.failures for step in model.steps if step.backend == "rectifier")


def test_a_backend_that_makes_nothing() -> None:
    class Nothing(RectifierBackend):
        def compile(self, function: func.FuncOp, options: RegionOptions) -> Any:
            return None

    with pytest.raises(BackendError, match="it returns a NoneType, expected a callable"):
        run([Nothing()])


class RewritingBackend(RectifierBackend):
    """Takes its function apart, and then fails."""

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        for op in function.body.block.ops:
            if isinstance(op, ReluOp):
                op.result.replace_all_uses_with(op.data)
        raise RuntimeError("half done")


def test_the_function_of_a_backend_is_its_own() -> None:
    _, results = run([RewritingBackend()], fallback=True)
    np.testing.assert_allclose(results[0], EXPECTED[0], rtol=1e-6)


def test_inputs_cannot_be_written() -> None:
    def overwrites(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        np.maximum(inputs[0], 0, out=inputs[0])

    x = X.copy()
    model = xrelay.compile(
        module(), backends=[RectifierBackend(overwrites)], fallback=True, cache=False
    )
    found = list(model.run({"x": x}).values())
    np.testing.assert_allclose(found[0], EXPECTED[0], rtol=1e-6)
    assert (x == X).all()


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


def test_threads_that_fail_at_different_times() -> None:
    first = threading.Event()

    def fails(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        if threading.current_thread().name == "late":
            assert first.wait(60)
        raise RuntimeError("lost")

    model = xrelay.compile(module(), backends=[RectifierBackend(fails)], fallback=True, cache=False)
    results: dict[str, Array] = {}

    def call() -> None:
        name = threading.current_thread().name
        results[name] = next(iter(model.run({"x": X}).values()))
        first.set()

    threads = [threading.Thread(target=call, name=name) for name in ("late", "early")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    for found in results.values():
        np.testing.assert_allclose(found, EXPECTED[0], rtol=1e-6)


@pytest.mark.parametrize("content", [b"", b"no object file", b"\x7fELF\x02\x01\x01" + bytes(300)])
def test_object_files_that_are_none(content: bytes) -> None:
    class Objects(RectifierBackend):
        def compile(self, function: func.FuncOp, options: RegionOptions) -> Any:
            return ObjectFile(content, "region")

    with pytest.raises(BackendError, match=r"region @\S* .* the object file cannot be loaded"):
        run([Objects()])


@pytest.mark.skipif(not HAS_C, reason="no C compiler")
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


@pytest.mark.skipif(not HAS_C, reason="no C compiler")
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


@pytest.mark.skipif(not HAS_C, reason="no C compiler")
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


def _fails_later(*arguments: object) -> Any:
    yield CompositePattern("rectifier.x", is_op("nn.relu")(wildcard()))
    raise KeyError("oops")


def _divides(op: Operation) -> bool:
    return bool(1 / 0)


def _raises(*arguments: object) -> Any:
    raise KeyError("oops")


@pytest.mark.parametrize(
    ("method", "replacement", "message"),
    [
        ("supports", _raises, r"supports\(relay.nn.relu\) raises KeyError: 'oops'"),
        ("supports", lambda *a: True, r"returns True, expected Yes\(\) or No\(reason\)"),
        ("patterns", _raises, r"patterns\(\) raises KeyError"),
        ("patterns", lambda s: [("rectifier.x", wildcard(), None)], "expected a CompositePattern"),
        (
            "patterns",
            lambda s: [CompositePattern("relu", is_op("nn.relu")(wildcard()))],
            "has a pattern 'relu', expected a name that begins with 'rectifier.'",
        ),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.x", is_op("nn.reluu")(wildcard()))],
            "names 'nn.reluu', which is no operator",
        ),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.x", is_op("nn.relu")(wildcard()), _raises)],
            "the check of pattern 'rectifier.x' raises KeyError",
        ),
        ("patterns", _fails_later, r"patterns\(\) raises KeyError"),
        ("patterns", lambda s: None, r"patterns\(\) raises TypeError"),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.", is_op("nn.relu")(wildcard()))],
            "has a pattern 'rectifier.', expected a name that begins with",
        ),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.x", "nn.relu")],
            "'rectifier.x' is 'nn.relu', expected a Pattern",
        ),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.x", is_op("nn.relu"))],
            "'rectifier.x' is the operator nn.relu, expected its result",
        ),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.x", is_op("add")(1, wildcard()))],
            "1 is no pattern, in a CallPattern",
        ),
        ("patterns", lambda s: [is_op(3)(wildcard())], "the operator is 3, expected its name"),
        (
            "patterns",
            lambda s: [
                CompositePattern("rectifier.x", is_op("nn.relu")(wildcard()).where(_divides))
            ],
            r"the condition of nn.relu.* raises ZeroDivisionError.*, asked about a value .relay.nn.relu",
        ),
        ("supports", lambda *a: sys.exit("bye"), r"supports\(.*\) raises SystemExit: bye"),
        ("lower", _raises, "lower raises KeyError"),
        ("lower", lambda s, m: None, "lower returns a NoneType, expected True or False"),
        ("optimize", _raises, "optimize raises KeyError"),
        ("optimize", lambda s, m: m.clone(), "optimize returns a ModuleOp, expected None"),
    ],
)
def test_methods_that_go_wrong(
    monkeypatch: pytest.MonkeyPatch, method: str, replacement: Any, message: str
) -> None:
    monkeypatch.setattr(RectifierBackend, method, replacement)
    with pytest.raises(DiagnosticException, match=message) as raised:
        run([RectifierBackend()])
    assert "backend 'rectifier'" in str(raised.value) or "condition" in message


def test_names_that_are_none() -> None:
    class Default(RectifierBackend):
        name = "default"

    with pytest.raises(BackendError, match="calls itself 'default'"):
        run([Default()])


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


def test_two_simulated_backends(tmp_path: Path) -> None:
    names: list[str] = []
    for name, operators in (("left", "exp"), ("right", "add")):
        path = tmp_path / f"{name}.toml"
        text = "flops = 1e12\nbandwidth = 1e10\nlaunch = 0\n"
        path.write_text(f'name = "{name}"\n{text}[operators]\n{operators} = {{}}\n')
        names.append(f"simulated:{path}")
    model, results = run(names)
    assert {step.backend for step in model.steps} == {"left", "right", "default"}
    np.testing.assert_allclose(results[0], EXPECTED[0], rtol=1e-6)


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
