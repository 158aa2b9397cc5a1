"""Backends without their engines: what they take, what they hand over, and what is said of what they do not take."""

import sys
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, TupleType, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation

from xrelay.backends import discovery
from xrelay.backends.base import Array, Backend, BackendError, No, RegionOptions, Support, Yes
from xrelay.backends.discovery import backend_entries, find_backend
from xrelay.backends.numpy import NumpyBackend
from xrelay.backends.openvino import OpenVinoBackend
from xrelay.backends.region_builder import RegionBuilder
from xrelay.backends.regions import RegionTensor, leaf_tensors
from xrelay.backends.simulated import SimulatedBackend
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reduce import MeanOp
from xrelay.dialects.tensor.unary import CastOp, ExpOp, ReluOp

# -- OpenVINO ---------------------------------------------------------------------------------------


class Tensor:
    """A tensor of the engine, which shares the memory of an array."""

    def __init__(self, array: Array, *, shared_memory: bool):
        assert shared_memory
        self.array = array


class Request:
    """A run of a compiled model, which adds its inputs."""

    def __init__(self, engine: "Engine"):
        self.engine = engine
        self.inputs: dict[int, Array] = {}
        self.outputs: dict[int, Array] = {}

    def set_input_tensor(self, place: int, tensor: Tensor) -> None:
        assert tensor.array.flags.writeable, "the engine shares no others"
        self.inputs[place] = tensor.array

    def set_output_tensor(self, place: int, tensor: Tensor) -> None:
        self.outputs[place] = tensor.array

    def infer(self) -> None:
        self.engine.runs.append(self)
        if self.engine.fails:
            raise RuntimeError("out of memory")
        self.outputs[0][...] = sum(self.inputs.values())


class Engine:
    """What is used of the package `openvino`."""

    Tensor = Tensor

    def __init__(self) -> None:
        self.models: list[Any] = []
        self.compiled: list[tuple[Any, str, dict[str, Any]]] = []
        self.made: list[Request] = []
        self.runs: list[Request] = []
        self.fails = False

    def Core(self) -> "Engine":
        return self

    def read_model(self, content: bytes) -> str:
        self.models.append(content)
        return f"model {len(self.models)}"

    def compile_model(self, model: Any, device: str, settings: dict[str, Any]) -> Any:
        self.compiled.append((model, device, settings))

        def create() -> Request:
            self.made.append(Request(self))
            return self.made[-1]

        return SimpleNamespace(create_infer_request=create)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The package `openvino`."""
    made = Engine()
    monkeypatch.setitem(sys.modules, "openvino", made)
    return made


def inputs(*tensors: tuple[str, tuple[int, ...]]) -> list[Any]:
    build = RegionBuilder()
    return [build.input(np.zeros(shape, dtype)) for dtype, shape in tensors]


def unary(kind: type[Any], given: str, **options: Any) -> Operation:
    return kind(*inputs((given, (2, 3))), **options)


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (unary(ReluOp, "float32"), None),
        (unary(ReluOp, "float16"), None),
        (unary(ReluOp, "int32"), None),
        (unary(ReluOp, "float64"), "float64 is not computed as such by the engine"),
        (unary(ReluOp, "int64"), "int64 is not computed as such by the engine"),
        (unary(ReluOp, "int8"), "int8 is not computed as such by the engine"),
        (unary(CastOp, "uint8", dtype=f64), "float64 is not computed as such by the engine"),
        (unary(CastOp, "float32", dtype=i64), "int64 is not computed as such by the engine"),
        (unary(CastOp, "int64", dtype=f32), None),
        (unary(MeanOp, "float32", axis=[0]), None),
        (
            unary(MeanOp, "int32", axis=[0]),
            "the engine rounds the mean of integers down, not towards zero",
        ),
        (TakeOp(*inputs(("float32", (5, 2)), ("int64", (3,))), axis=0), None),
        (
            TakeOp(*inputs(("int64", (5, 2)), ("int64", (3,))), axis=0),
            "int64 is not computed as such by the engine",
        ),
    ],
    ids=lambda each: each.name if isinstance(each, Operation) else str(each)[:12],
)
def test_dtypes_of_openvino(engine: Engine, op: Operation, reason: str | None) -> None:
    """What it computes in another dtype is not for it; indices of i64 are, as long as nothing makes any."""
    answer = OpenVinoBackend().supports(op, op.operand_types)
    assert answer == (Yes() if reason is None else No(reason))


def test_unknown_dimensions_are_not_for_openvino(engine: Engine) -> None:
    """Neither of operands nor of results."""
    op = unary(ReluOp, "float32")
    (given,) = op.operand_types
    backend = OpenVinoBackend()
    open_type = TensorType(f32, (DYNAMIC_INDEX, 3))
    message = "tensor<?x3xf32> has an unknown dimension; regions need static shapes"
    assert backend.runs(op, [given]) == Yes()
    assert backend.runs(op, [open_type]) == No(message)
    assert backend.runs(SimpleNamespace(result_types=[open_type]), [given]) == No(message)


def region() -> func.FuncOp:
    build = RegionBuilder()
    left, right = (build.input(np.zeros((2, 3), np.float32)) for _ in range(2))
    return build.function([build.op(AddOp(left, right))])


def test_regions_of_openvino(engine: Engine) -> None:
    """The model that it gets, settings, and arrays whose memory it shares, of which some may not be written to."""
    run = OpenVinoBackend().compile(region(), RegionOptions(3, b"nodes"))
    assert engine.models == [b"nodes"]
    settings = {
        "INFERENCE_NUM_THREADS": 3,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    assert engine.compiled == [("model 1", "CPU", settings)] and engine.made == []
    left = np.arange(6, dtype=np.float32).reshape(2, 3)
    right = np.full((2, 3), 0.5, np.float32)
    left.flags.writeable = False
    result = np.zeros((2, 3), np.float32)
    assert run([left, right], [result]) is None
    np.testing.assert_array_equal(result, left + right)
    (request,) = engine.made
    assert list(request.outputs) == [0] and request.outputs[0] is result
    assert sorted(request.inputs) == [0, 1]
    assert request.inputs[0].ctypes.data == left.ctypes.data
    assert request.inputs[0].dtype == np.float32 and request.inputs[0].shape == (2, 3)
    assert request.inputs[1] is right
    run([right, right], [result])
    assert engine.runs == [request, request], "a request that is idle is used again"
    np.testing.assert_array_equal(result, np.ones((2, 3)))


def test_empty_arrays_of_openvino(engine: Engine) -> None:
    """They have no memory to share."""
    run = OpenVinoBackend().compile(region(), RegionOptions())
    assert callable(run)
    empty = np.zeros((0, 3), np.float32)
    empty.flags.writeable = False
    run([empty, empty], [np.zeros((0, 3), np.float32)])
    (request,) = engine.made
    assert request.inputs[0].shape == (0, 3) and request.inputs[0] is not empty


def test_requests_of_openvino_that_fail(engine: Engine) -> None:
    """They are idle afterwards, like others."""
    run = OpenVinoBackend().compile(region(), RegionOptions())
    assert callable(run)
    arrays = [np.ones((2, 3), np.float32) for _ in range(3)]
    engine.fails = True
    for _ in range(2):
        with pytest.raises(RuntimeError, match="out of memory"):
            run(arrays[:2], arrays[2:])
    assert len(engine.made) == 1 and len(engine.runs) == 2


def test_exported_regions_of_openvino(engine: Engine) -> None:
    """Without the nodes of a model it gets those that an export makes."""
    from onnx import ModelProto

    OpenVinoBackend().compile(region(), RegionOptions())
    (content,) = engine.models
    nodes = ModelProto.FromString(content).graph.node
    assert [each.op_type for each in nodes] == ["Add"]


def test_operators_that_openvino_is_to_take(engine: Engine) -> None:
    """A list of names leaves out the others, and the nodes of models, which have other names."""
    chosen = OpenVinoBackend("exp,relay.add")
    assert chosen.wanted == ("exp", "add") and not chosen.takes_onnx
    assert OpenVinoBackend().takes_onnx
    op = unary(ReluOp, "float32")
    assert chosen.supports(op, op.operand_types) == No(
        "it is not among the operators that the backend is to take"
    )
    assert chosen.supports(unary(ExpOp, "float32"), op.operand_types) == Yes()


def test_engines_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said which package is missing."""
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(BackendError) as caught:
        OpenVinoBackend()
    assert str(caught.value) == (
        "backend 'openvino' needs the package openvino, which is not installed"
    )


# -- discovery --------------------------------------------------------------------------------------


class Failing(Backend):
    """Cannot be made."""

    name = "failing"

    def __init__(self, argument: str = ""):
        raise OSError(f"no device '{argument}'")

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes()

    def compile(self, function: func.FuncOp, options: RegionOptions) -> Any:
        return None


class Misnamed(Failing):
    """Goes by another name."""

    name = "other"

    def __init__(self, argument: str = ""):
        pass


NO_BACKEND = 3
GOOD = NumpyBackend
OFFERED = {
    "failing": "Failing",
    "misnamed": "Misnamed",
    "number": "NO_BACKEND",
    "missing": "nothing",
    "numpy": "GOOD",
}


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """The entry points that are installed: those of this file, under the name of a module of it."""
    monkeypatch.setitem(sys.modules, "offered", sys.modules[__name__])
    entries = [EntryPoint(name, f"offered:{value}", "xrelay.backends") for name, value in OFFERED.items()]  # fmt: skip

    def entry_points(*, group: str) -> list[EntryPoint]:
        return [each for each in entries if each.group == group]

    monkeypatch.setattr(discovery, "entry_points", entry_points)
    return entries


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("failing:npu0", "backend 'failing' cannot be used: no device 'npu0'"),
        ("misnamed", "backend 'misnamed' calls itself 'other'"),
        ("number", "backend 'number': offered:NO_BACKEND is no subclass of xrelay's Backend"),
        ("numpy:fast", "backend 'numpy' takes no argument, found 'fast'"),
        (
            "nowhere",
            "there is no backend 'nowhere', installed are failing, misnamed, missing, number, numpy",
        ),
    ],
)
def test_entry_points_that_are_no_backends(
    offered: list[EntryPoint], name: str, message: str
) -> None:
    """Each refusal names the backend, and what its package offers in its place."""
    with pytest.raises(BackendError) as caught:
        find_backend(name)
    assert str(caught.value) == message


def test_entry_points_that_cannot_be_loaded(offered: list[EntryPoint]) -> None:
    """The reason is that of Python."""
    with pytest.raises(BackendError) as caught:
        find_backend("missing")
    message = "backend 'missing' cannot be loaded from offered:nothing: "
    assert str(caught.value).startswith(message)
    assert "nothing" in str(caught.value)[len(message) :]


def test_packages_that_offer_the_same_name(offered: list[EntryPoint]) -> None:
    """Two that offer the same class are one; else it is not known which is meant."""
    offered.append(offered[0])
    assert list(backend_entries()) == sorted(OFFERED)
    offered.append(EntryPoint("numpy", "faster:Numpy", "xrelay.backends"))
    with pytest.raises(BackendError) as caught:
        backend_entries()
    assert str(caught.value) == "two packages offer backend 'numpy': faster:Numpy and offered:GOOD"
    offered.clear()
    with pytest.raises(BackendError, match=r"^there is no backend 'numpy', installed are none$"):
        find_backend("numpy")


# -- regions ----------------------------------------------------------------------------------------


def test_tensors_of_regions() -> None:
    """Tuples from the left; what is no tensor of known shape is refused."""
    one, two = TensorType(f32, (2, 3)), TensorType(i32, ())
    found = list(leaf_tensors(TupleType((one, TupleType((two, one))))))
    wanted = [
        RegionTensor((2, 3), np.dtype(np.float32)),
        RegionTensor((), np.dtype(np.int32)),
        RegionTensor((2, 3), np.dtype(np.float32)),
    ]
    assert found == wanted and list(map(str, found)) == [
        "float32[2, 3]",
        "int32[]",
        "float32[2, 3]",
    ]
    for type_, message in (
        (f32, "f32 is no tensor, which is all that goes into and out of regions"),
        (
            TupleType((one, TensorType(f32, (DYNAMIC_INDEX,)))),
            "tensor<?xf32> has an unknown dimension; regions need static shapes",
        ),
    ):
        with pytest.raises(BackendError) as caught:
            list(leaf_tensors(type_))
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("shape", "dtype", "fits"),
    [((2, 3), "float32", True), ((3, 2), "float32", False), ((2, 3), "float64", False)],
)
def test_arrays_that_tensors_describe(shape: tuple[int, ...], dtype: str, fits: bool) -> None:
    """Those of the same shape and the same dtype."""
    tensor = RegionTensor((2, 3), np.dtype(np.float32))
    assert tensor.describes(np.zeros(shape, dtype)) is fits


def test_arrays_for_regions() -> None:
    """Small numbers of the dtype, the same ones for a seed."""
    build = RegionBuilder(5)
    ranges = {"bool": {0, 1}, "int8": set(range(-7, 8)), "uint16": set(range(8))}
    for dtype, values in ranges.items():
        array = build.array(dtype, 30, 40)
        assert array.shape == (30, 40) and array.dtype == np.dtype(dtype)
        assert {int(each) for each in array.ravel()} == values
    real = build.array("float16", 30, 40)
    assert real.dtype == np.float16 and 0.9 < real.astype(np.float64).std() < 1.1
    assert not np.array_equal(
        RegionBuilder(5).array("float32", 4), RegionBuilder(6).array("float32", 4)
    )
    assert np.array_equal(
        RegionBuilder(5).array("float32", 4), RegionBuilder(5).array("float32", 4)
    )


def test_what_the_interpreter_does_not_know() -> None:
    """An operation of another dialect is no operator of the reference."""
    op = func.ReturnOp()
    assert NumpyBackend().supports(op, ()) == No("the interpreter does not know it")


# -- simulated hardware -----------------------------------------------------------------------------

COSTS = """\
flops = 1e9
bandwidth = 1e8
launch = 0.5
dtypes = ["float32"]
[operators]
"exp" = {}
"add" = { flops = 2e6, bytes = 72 }
"concatenate" = {}
"""


@pytest.fixture
def simulated(tmp_path: Path) -> Callable[[str], SimulatedBackend]:
    """Makes a backend of a file of costs."""

    def make(text: str) -> SimulatedBackend:
        (tmp_path / "npu.toml").write_text(text)
        return SimulatedBackend(str(tmp_path / "npu.toml"))

    return make


def test_seconds_of_simulated_hardware(simulated: Callable[[str], SimulatedBackend]) -> None:
    """
    To start, to move what goes in and out, and to compute each operator at its own speed: 2 parameters and 1 result
    of 24 bytes each, 6 additions, and 6 exponentials.
    """
    build = RegionBuilder()
    left, right = (build.input(np.zeros((2, 3), np.float32)) for _ in range(2))
    total = build.op(AddOp(left, right))
    function = build.function([build.op(ExpOp(total))])
    backend = simulated(COSTS)
    assert backend.seconds(function) == pytest.approx(0.5 + 72 / 1e8 + 6 / 2e6 + 6 / 1e9, rel=1e-12)
    slower = simulated(COSTS.replace("flops = 1e9", "flops = 10"))
    assert slower.seconds(function) == pytest.approx(0.5 + 72 / 1e8 + 6 / 2e6 + 0.6, rel=1e-12)


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (unary(ExpOp, "float32"), None),
        (unary(ExpOp, "float64"), "float64 is not among the dtypes in the file"),
        (unary(ReluOp, "float32"), "it is not among the operators in the file"),
        (AddOp(*inputs(("float32", (2, 3)), ("float32", (2, 3)))), None),
        (
            AddOp(*inputs(("float32", (2, 3)), ("float32", (2, 1)))),
            None,
        ),
        (
            AddOp(*inputs(("float32", (7,)), ("float32", (7,)))),
            "its 84 bytes are more than the 72 in the file",
        ),
    ],
    ids=lambda each: each.name if isinstance(each, Operation) else str(each)[:12],
)
def test_what_simulated_hardware_takes(
    simulated: Callable[[str], SimulatedBackend], op: Operation, reason: str | None
) -> None:
    """Operators, dtypes and sizes of the file."""
    answer = simulated(COSTS).supports(op, op.operand_types)
    assert answer == (Yes() if reason is None else No(reason))


def test_unknown_dimensions_are_not_for_simulated_hardware(
    simulated: Callable[[str], SimulatedBackend],
) -> None:
    """Their sizes are not known."""
    answer = simulated(COSTS).supports(
        unary(ExpOp, "float32"), [TensorType(f32, (DYNAMIC_INDEX, 3))]
    )
    assert answer == No("tensor<?x3xf32> has an unknown dimension; regions need static shapes")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "operators = 3\n" + COSTS.partition("[operators")[0],
            "'operators' is 3, expected a table",
        ),
        ("composites = []\n" + COSTS, "'composites' is [], expected a table"),
        (COSTS.replace('"exp" = {}', '"exp" = 1'), "'operators.exp' is 1, expected a table"),
        (COSTS.replace("2e6", "true"), "'operators.add.flops' is True, expected a positive number"),
        (COSTS.replace("= 72", "= 0"), "'operators.add.bytes' is 0, expected a positive number"),
        (COSTS.replace("0.5", "-0.5"), "'launch' is -0.5, expected a number of at least 0"),
        (COSTS.replace('["float32"]', "[]"), "'dtypes' is [], expected a list of names"),
        (
            COSTS.replace('["float32"]', '["float32", 3]'),
            "'dtypes' is ['float32', 3], expected a list of names",
        ),
        ("name = ''\n" + COSTS, "'name' is '', expected a name"),
        (
            "speed = 1\n" + COSTS,
            "unknown entry 'speed', expected bandwidth, composites, dtypes, flops, launch, name, operators",
        ),
    ],
)
def test_entries_that_make_no_sense(
    simulated: Callable[[str], SimulatedBackend], tmp_path: Path, text: str, message: str
) -> None:
    """The whole message names the file, the entry, and what is expected."""
    with pytest.raises(BackendError) as caught:
        simulated(text)
    assert str(caught.value) == f"'{tmp_path / 'npu.toml'}': {message}"


def test_launches_may_take_no_time(simulated: Callable[[str], SimulatedBackend]) -> None:
    """Which is the least that they take; other numbers are positive."""
    assert simulated(COSTS.replace("0.5", "0")).costs.launch == 0.0
