"""The benchmark: its models, what it counts and reports. No test looks at a time."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from commands.runs import MakeModel
from llvmlite import binding
from onnx import ModelProto, helper, numpy_helper

from benchmarks import __main__ as command
from benchmarks.engines import ENGINES, REFERENCE, XRELAY, Job, listed
from benchmarks.machine import Cache, MachineDescription, Peak, cache_sizes, higher, kernels_ir
from benchmarks.measure import difference, interleave
from benchmarks.report import report_json, report_markdown
from benchmarks.results import Case, EngineResult, Loading, Report, Timing, geometric_mean
from benchmarks.suite import MODELS, NETWORKS, BenchmarkModel, Input, Network, Quantized, export
from benchmarks.worker import WorkerFailed, Workers, failure
from xrelay.frontends.onnx import import_model
from xrelay.interpreters.relay import interpret


def silent(what: str) -> None:
    del what


# -- models ---------------------------------------------------------------------------------------


def test_suite_holds_what_reports_promise():
    assert [network.name for network in NETWORKS] == [
        *("resnet50", "mobilenetv2", "efficientnet_b0", "bert_base", "vit_s16", "gpt2_small"),
        *("mlp_b1", "mlp_b64"),
    ]
    assert sum(name.startswith("light_") for name in MODELS) == 9
    assert sum(name.endswith("_int8") for name in MODELS) == 5
    assert sum(name.endswith("_dynamic") for name in MODELS) == 3


def test_inputs_are_the_same_each_time():
    for each in (Input("x", (2, 3)), Input("ids", (1, 9), (5, 8))):
        np.testing.assert_array_equal(each.values(), each.values())
    ids = Input("ids", (1, 99), (5, 8)).values()
    assert ids.dtype == np.int64
    assert set(ids.flat) == {5, 6, 7}


def test_light_model_names_its_input():
    values = MODELS["light_squeezenet"].input_values()
    assert [array.shape for array in values.values()] == [(1, 3, 224, 224)]


@dataclass(frozen=True)
class Written(BenchmarkModel):
    """A model that counts how often it is made."""

    made: list[Path] = field(default_factory=list[Path])
    maker: ClassVar[str] = "onnx"

    def input_list(self) -> tuple[Input, ...]:
        return ()

    def source(self) -> Path:
        return Path(__file__)

    def write(self, path: Path) -> None:
        path.write_bytes(b"model")
        if self.name == "broken":
            raise OSError("no space")
        self.made.append(path)


def test_models_are_made_once_and_again_when_damaged(tmp_path: Path):
    model = Written("tiny")
    path = model.onnx_file(tmp_path, silent)
    assert model.onnx_file(tmp_path, silent) == path
    assert len(model.made) == 1
    path.write_bytes(b"damage")
    assert model.onnx_file(tmp_path, silent).read_bytes() == b"model"
    assert len(model.made) == 2
    path.with_suffix(".sha256").unlink()
    kept, outdated = tmp_path / "tiny_too-0.onnx", tmp_path / "tiny-0.onnx"
    kept.touch()
    outdated.touch()
    model.onnx_file(tmp_path, silent)
    assert len(model.made) == 3
    assert kept.exists()
    assert not outdated.exists()


def test_a_model_that_cannot_be_made_leaves_nothing(tmp_path: Path):
    with pytest.raises(OSError, match="no space"):
        Written("broken").onnx_file(tmp_path, silent)
    assert not list(tmp_path.iterdir())


@dataclass(frozen=True)
class Tiny(Network):
    """A product with a random matrix."""

    def write(self, path: Path) -> None:
        weight = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
        infos = [helper.make_tensor_value_info(n, 1, [2, s]) for n, s in (("x", 4), ("y", 3))]
        graph = helper.make_graph(
            [node], "g", infos[:1], infos[1:], [numpy_helper.from_array(weight, "w")]
        )
        opsets = [helper.make_opsetid("", 17)]
        path.write_bytes(
            helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
        )


@pytest.mark.parametrize("dynamic", [False, True])
def test_quantized_models_have_integers(dynamic: bool, tmp_path: Path):
    pytest.importorskip("torch")  # Its version is part of the place of a model.
    network = Tiny("tiny", "vision", "resnet50", (Input("x", (2, 4)),))
    model = Quantized("tiny_int8", network, dynamic)
    path = model.onnx_file(tmp_path, silent)
    assert sorted(each.suffix for each in tmp_path.iterdir()) == [".onnx", ".sha256"]
    graph = ModelProto.FromString(path.read_bytes()).graph
    found = {node.op_type for node in graph.node}
    assert ("MatMulInteger" if dynamic else "DequantizeLinear") in found
    assert all(each.data_type != 1 or len(each.dims) < 2 for each in graph.initializer)


TRANSFORMERS = {
    "Bert": (
        Input("ids", (1, 8), (0, 100)),
        Input("mask", (1, 8), (1, 2)),
        Input("types", (1, 8), (0, 2)),
    ),
    "Vit": (Input("image", (1, 3, 32, 32)),),
    "Gpt2": (Input("ids", (1, 8), (0, 100)),),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_small_transformers_mean_the_same_in_relay(name: str, tmp_path: Path):
    torch: Any = pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("benchmarks.transformers")
    inputs = TRANSFORMERS[name]
    size = transformers.Size(width=32, layers=2, heads=4, tokens=5 if name == "Vit" else 8)
    torch.manual_seed(0)
    module = transformers.seeded(getattr(transformers, name)(size))
    outputs = ["y", "z"] if name == "Bert" else ["y"]
    path = tmp_path / "model.onnx"
    export(module, inputs, outputs, path)
    graph = ModelProto.FromString(path.read_bytes()).graph
    assert "LayerNormalization" in {node.op_type for node in graph.node}
    values = [each.values() for each in inputs]
    with torch.inference_mode():
        expected = listed(module(*map(torch.from_numpy, values)))
    found = interpret(import_model(path), values)
    assert difference([*found], [each.numpy() for each in expected]) < 1e-5


@pytest.mark.slow
def test_blocks_of_classifiers_keep_activations_in_range():
    torch: Any = pytest.importorskip("torch")
    vision: Any = pytest.importorskip("benchmarks.vision")
    torch.manual_seed(0)
    stages = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 5), (6, 24, 2, 1, 3))
    for activation, excite in ((torch.nn.ReLU6, False), (torch.nn.SiLU, True)):
        module = vision.inverted_residual_network(stages, activation, excite)
        with torch.inference_mode():
            features = module.features(torch.randn(1, 3, 96, 96))
        assert 0.1 < features.std() < 10


# -- what is counted ------------------------------------------------------------------------------


def test_flops_of_convolutions_and_products(model_of: MakeModel, tmp_path: Path):
    float32 = np.float32
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], group=2, pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("Gemm", ["f", "v", "b"], ["g"], transB=1),
        helper.make_node("MatMul", ["g", "m"], ["y"]),
    ]
    shapes = {"x": (2, 4, 5, 5), "w": (6, 2, 3, 3), "v": (7, 150), "b": (7,), "m": (7, 3)}
    model = model_of(nodes, {name: (float32, shape) for name, shape in shapes.items()}, ["y"])
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    conv, gemm, matmul = 2 * (2 * 6 * 25) * (2 * 9), 2 * (2 * 7) * 150, 2 * (2 * 3) * 7
    assert command.product_flops(path) == conv + gemm + matmul


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_kernels_of_the_machine_are_valid(lanes: int):
    binding.parse_assembly(kernels_ir(lanes)).verify()


def test_every_machine_has_cache_sizes():
    cache = cache_sizes()
    assert 0 < cache.l1 <= cache.l2


def test_of_two_peaks_each_number_is_the_higher_one():
    assert higher(Peak(1, 5, 2, 9, 4), Peak(1, 3, 4, 1, 4)) == Peak(1, 5, 4, 9, 4)


def test_interleaved_runs_are_counted():
    calls: list[str] = []
    runs = {name: (lambda name=name: calls.append(name)) for name in "ab"}
    timings = interleave(runs, seconds=0, count=5)
    assert {name: len(timing.samples) for name, timing in timings.items()} == {"a": 5, "b": 5}
    # Turns of 3 and of 2 runs, each after one that is not counted; the order alternates.
    assert "".join(calls) == "aaaa" + "bbbb" + "bbb" + "aaa"
    assert interleave({}, seconds=0) == {}


def test_difference_is_relative_to_the_largest_value():
    right = np.array([0.0, 2.0, -4.0], np.float32)
    assert difference([right], [right]) == 0
    assert difference([right + np.float32(0.5)], [right]) == 0.125
    assert difference([right[:2]], [right]) == float("inf")
    assert difference([], [right]) == float("inf")
    assert difference([np.full(3, np.nan, np.float32)], [right]) == float("inf")
    assert difference([np.zeros(3)], [np.zeros(3)]) == 0
    assert difference([np.ones(3)], [np.zeros(3)]) == float("inf")


# -- processes ------------------------------------------------------------------------------------


@pytest.fixture
def small(model_of: MakeModel, tmp_path: Path) -> Callable[[str], Job]:
    """Jobs with a model of one operator."""

    def job(operator: str) -> Job:
        model = model_of([helper.make_node(operator, ["x"], ["y"])], {"x": (np.float32, (3,))}, "y")
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, (3,)))
        path = tmp_path / f"{operator}.onnx"
        path.write_bytes(model.SerializeToString())
        return Job(operator, path, 1, {"x": np.array([1, -2, 3], np.float32)})

    return job


@pytest.mark.slow
def test_engines_race_in_a_process(small: Callable[[str], Job], tmp_path: Path):
    workers = Workers(tmp_path)
    loading = workers.load(XRELAY, small("Relu"))
    assert loading.load_peak > 1 << 20
    job = replace(small("Relu"), precision="bf16")
    results = workers.race([XRELAY, REFERENCE], job, seconds=1, count=4)
    assert [results[name].precision for name in (XRELAY, REFERENCE)] == ["bf16", "f32"]
    assert results[XRELAY].difference == 0
    assert results[REFERENCE].difference is None
    for result in results.values():
        assert result.timing is not None
        assert len(result.timing.samples) == 4


def test_openvino_tells_the_precision_that_it_chose(small: Callable[[str], Job], tmp_path: Path):
    openvino: Any = pytest.importorskip("openvino")
    chosen = openvino.Core().get_property("CPU", "INFERENCE_PRECISION_HINT").get_type_name()
    engines = ["openvino", "openvino-default"]
    results = Workers(tmp_path).race(engines, small("Relu"), seconds=1, count=1)
    assert [results[name].precision for name in engines] == ["f32", chosen]


@pytest.mark.slow
def test_a_worker_says_why_an_engine_does_not_run(small: Callable[[str], Job], tmp_path: Path):
    with pytest.raises(WorkerFailed, match="^OnnxImportError: .*Nonsense"):
        Workers(tmp_path).load(XRELAY, small("Nonsense"))


def test_reasons_of_failures():
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    f()\n    ~^^\n'
    assert failure(1, f"note\n{trace}a.b.Refused: no\n  more\nend\n") == "Refused: no"
    assert failure(1, f"{trace}benchmarks.engines.NotRun: the model: bad") == "the model: bad"
    assert failure(1, f"{trace}E: {'x' * 999}").endswith("x…")
    assert failure(3, "killed") == "its process ended with code 3"
    assert failure(-11, "").startswith("its process was ended by signal 11")


# -- reports --------------------------------------------------------------------------------------


def case(model: str, threads: int, times: Mapping[str, Sequence[float]]) -> Case:
    engines = {name: EngineResult(Timing(tuple(each))) for name, each in times.items()}
    return Case(model, threads, 10**9, engines)


def test_ratio_is_that_of_the_faster_rival():
    times = {XRELAY: (1, 2, 3), "onnxruntime": (4, 4), "openvino": (1, 3, 9), "torch": (1,)}
    assert case("m", 1, times).ratio == 1.5
    assert case("m", 1, {XRELAY: (2,)}).ratio is None
    assert case("m", 1, {"openvino": (2,)}).ratio is None
    assert case("m", 1, times).gflops(XRELAY) == 500


def test_geometric_mean_leaves_out_what_is_unknown():
    assert geometric_mean([1, None, 4]) == pytest.approx(2)
    assert geometric_mean([None]) is None


@pytest.fixture
def report() -> Report:
    """A run of two models on one and two threads."""
    first = case("alpha", 1, {XRELAY: (1.0,), "onnxruntime": (2.0,), "openvino": (3.0,)})
    first.engines[XRELAY].difference = 2e-6
    first.engines[XRELAY].cold = Loading(0.1, 2.5, 300 << 20, 200 << 20)
    first.engines[XRELAY].warm = Loading(0.1, 0.2, 120 << 20, 110 << 20)
    second = case("beta", 1, {"onnxruntime": (2.0,), "openvino": (3.0,)})
    second.engines[XRELAY] = EngineResult(reason="CompileError: no | such op")
    third = case("alpha", 2, {XRELAY: (1.0,), "onnxruntime": (0.5,), "openvino": (3.0,)})
    third.engines[XRELAY].difference = 1e-3
    machine = MachineDescription(
        *("A processor", 2, Cache(), 8 << 30, 512, ("amx-bf16",), 0.25, "Linux x86_64"),
        {"python": "3.11"},
        (Peak(1, 2000.0, 90.0, 30.0, 10.0),),
    )
    versions = {XRELAY: "1", "onnxruntime": "2", "openvino": "3"}
    return Report("2026-01-02", "python -m benchmarks", machine, versions, (first, second, third))


def test_page(report: Report):
    page = report_markdown(report, "chart.svg")
    assert "![Speed relative to onnxruntime](chart.svg)" in page
    assert "A processor, 2 cores, 512-bit vectors" in page
    assert "has amx-bf16, which engines that compute in float32 do not use" in page
    assert (
        "| alpha | 1.00 | 1.00 / 1.00 | 2.00 / 2.00 | 3.00 / 3.00 | 2.00 | 1000 | 50 % | 2.0e-06 |"
    ) in page
    assert "| beta | 1.00 | n/a | 2.00 / 2.00 | 3.00 / 3.00 | – | – | – | – |" in page
    assert "| 0.50 | 1000 | – | 1.0e-03 WRONG |" in page
    assert "| geometric mean |  |  |  |  | 2.00 |" in page
    assert "| alpha | 0.10 + 2.50 | 0.10 + 0.20 | – | – |" in page
    assert "| alpha | 300 / 200 | 120 / 110 | – | – |" in page
    assert "- xrelay, beta (1 thread): CompileError: no | such op" in page
    assert report.wrong == ["alpha, 2 threads: xrelay differs by 1.0e-03"]


def with_default_openvino(report: Report, precision: str) -> Report:
    """The same run, with the times of OpenVINO that nobody asked for float32."""
    for case in report.cases:
        case.engines["openvino-default"] = EngineResult(Timing((0.5,)), 3e-2, precision)
    return replace(report, engines=report.engines | {"openvino-default": "3"})


def test_page_compares_with_other_precisions_apart(report: Report):
    page = report_markdown(with_default_openvino(report, "bf16"), None)
    title = "OpenVINO as it comes (bf16)"
    assert f"| OpenVINO | {title} | ratio | GFLOP/s | of peak | difference |" in page
    assert f"| difference | ratio to {title} | difference of {title} |" in page
    # The ratio is still the one in float32, and the accuracy of bfloat16 is told, not judged.
    assert "| 0.50 / 0.50 | 2.00 | 1000 | 50 % | 2.0e-06 | 0.50 | 3.0e-02 |" in page
    assert "| geometric mean |  |  |  |  |  | 2.00 |  |  |  | 0.50 |  |" in page
    assert "3.0e-02 WRONG" not in page
    assert "## Other types" in page


def test_page_of_an_engine_that_chose_float32(report: Report):
    same = with_default_openvino(report, "f32")
    page = report_markdown(same, None)
    assert "| OpenVINO | OpenVINO as it comes | ratio | GFLOP/s | of peak | difference |\n" in page
    assert "alpha, 1 threads: openvino-default differs by 3.0e-02" in same.wrong


def test_json(report: Report):
    content = json.loads(report_json(report))
    assert content["mean_ratios"] == {"1": pytest.approx(2), "2": 0.5}
    first, second, _ = content["cases"]
    assert first["ratio"] == 2
    assert first["engines"][XRELAY]["median_ms"] == 1
    assert first["engines"]["openvino"]["xrelay_ratio"] == 3
    assert first["engines"]["openvino"]["precision"] == "f32"
    assert second["engines"][XRELAY]["reason"] == "CompileError: no | such op"


def test_page_of_a_busy_machine_says_so(report: Report):
    busy = replace(report, machine=replace(report.machine, load=3.0))
    assert "The machine was busy" not in report_markdown(report, None)
    assert "The machine was busy" in report_markdown(busy, None)


def test_page_of_fewer_bits(report: Report):
    for case in report.cases:
        for name in (XRELAY, "openvino"):
            case.engines[name].precision = "bf16"
    page = report_markdown(replace(report, precision="bf16"), None)
    assert "are asked to multiply values of float32 in bf16" in page
    assert "All compute files of float32 in float32" not in page
    assert (
        "| xrelay (bf16) |" in page and "| onnxruntime |" in page and "| OpenVINO (bf16) |" in page
    )
    assert "ratio to onnxruntime |" in page and "ratio to xrelay" not in page


def test_command_on_the_page_names_no_files():
    words = ["--models", "mlp_b1", "--engines", "xrelay", "--runs", "9", "--cache", "/a/b"]
    args = command.argument_parser().parse_args(words)
    expected = "python -m benchmarks --models mlp_b1 --threads 1,2 --engines xrelay --runs 9"
    assert command.command_of(args) == expected
    args = command.argument_parser().parse_args([*words, "--precision", "bf16"])
    expected = "python -m benchmarks --models mlp_b1 --threads 1,2 --engines xrelay --precision bf16 --runs 9"
    assert command.command_of(args) == expected


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_chart(report: Report, suffix: str, tmp_path: Path):
    pytest.importorskip("matplotlib")
    from benchmarks.chart import draw

    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        draw(report, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size > 1000


# -- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--models", "resnet50,lenet"], "unknown name 'lenet', expected some of resnet50"),
        (["--engines", "abacus"], "unknown name 'abacus', expected some of xrelay"),
        (["--threads", "1,0"], "'0' is no number of at least 1"),
        (["--seconds", "many"], "'many' is no number of at least 1"),
        (["--precision", "int3"], "invalid choice: 'int3'"),
        (["--runs", "3", "--seconds", "3"], "not allowed with argument"),
        (["--chart", "a.gif"], "the suffix of 'a.gif' is '.gif', expected .png or .svg"),
    ],
)
def test_command_refuses(words: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        command.main(words)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_engines_have_a_place_in_charts():
    from benchmarks.chart import COLOURS

    assert list(COLOURS) == list(ENGINES)
