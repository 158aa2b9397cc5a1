"""
`xrelay.onnx_backend` under ONNX's own test runner: the nine networks that come with onnx, with
their own weights, and a sample of the tests of single operators, of which `make test` runs a third:
their models are imported and interpreted in tests/unit/frontends/onnx/test_node_cases.py, and the operators
compiled in test_kernels.py. None may be skipped.
"""

import gc
import re
import warnings
from pathlib import Path
from typing import Any
from unittest import SkipTest, TestCase

import numpy as np
import onnx.backend.test
import pytest
from onnx import ModelProto, TensorProto, helper

import xrelay.onnx_backend as backend
from xrelay.errors import OptionError
from xrelay.runtime.errors import ModelError
from xrelay.tools.light_models import LIGHT_MODELS, light_model

REAL_TESTS = tuple(f"test_{name}_cpu" for name in LIGHT_MODELS)
ONE = "test_squeezenet_cpu"
"""What the runner adds to test_light_models.py, which runs all nine, does not depend on the network."""

NODE_TESTS = tuple(
    f"test_{name}_cpu"
    for name in [
        "abs",
        "acosh",
        "add",
        "add_bcast",
        "add_uint8",
        "and_bcast4v2d",
        "argmax_keepdims_example",
        "argmin_no_keepdims_random",
        "asinh",
        "atan_example",
        "attention_3d_gqa",
        "attention_4d_causal",
        "attention_4d_with_past_and_present_qk_matmul",
        "averagepool_1d_default",
        "averagepool_2d_ceil",
        "averagepool_2d_pads_count_include_pad",
        "averagepool_2d_same_lower",
        "averagepool_3d_default",
        "basic_conv_with_padding",
        "basic_conv_without_padding",
        "basic_deform_conv_with_padding",
        "batchnorm_epsilon",
        "batchnorm_example",
        "bitshift_left_uint16",
        "bitwise_xor_i16_3d",
        "cast_FLOAT16_to_FLOAT",
        "cast_FLOAT_to_FLOAT16",
        "ceil",
        "clip",
        "clip_default_int8_min",
        "concat_1d_axis_0",
        "concat_3d_axis_negative_2",
        "conv_with_autopad_same",
        "conv_with_strides_and_asymmetric_padding",
        "convinteger_with_padding",
        "convtranspose_3d",
        "cosh",
        "deform_conv_with_mask_bias",
        "depthtospace_crd_mode_example",
        "dequantizelinear_axis",
        "dequantizelinear_blocked",
        "div_bcast",
        "div_int32_trunc",
        "dropout_default",
        "dynamicquantizelinear",
        "einsum_batch_diagonal",
        "elu",
        "equal_bcast",
        "erf",
        "exp",
        "eyelike_with_dtype",
        "flatten_axis2",
        "floor",
        "gather_elements_negative_indices",
        "gather_negative_indices",
        "gathernd_example_float32",
        "gelu_tanh_1",
        "gemm_all_attributes",
        "gemm_default_vector_bias",
        "globalaveragepool",
        "globalmaxpool",
        "greater_equal",
        "gridsample_bicubic",
        "gridsample_reflection_padding",
        "gru_batchwise",
        "gru_seq_length",
        "hardmax_one_hot",
        "hardsigmoid",
        "hardswish",
        "identity",
        "isinf_positive",
        "l2normalization_axis_1",
        "leakyrelu",
        "less_uint64",
        "log",
        "logsoftmax_axis_1",
        "lppool_3d_default",
        "lrn",
        "lrn_default",
        "lstm_with_peepholes",
        "matmul_1d_3d",
        "matmul_bcast",
        "matmulinteger",
        "max_float64",
        "maxpool_2d_ceil",
        "maxpool_2d_dilations",
        "maxpool_2d_same_upper",
        "maxpool_2d_uint8",
        "maxpool_3d_default",
        "maxunpool_export_without_output_shape",
        "mean_example",
        "min_int64",
        "mod_mixed_sign_int32",
        "mul",
        "mvn",
        "nllloss_NCd1d2_with_weight_reduction_sum_ii",
        "neg",
        "not_3d",
        "or_bcast3v1d",
        "pow",
        "pow_types_float32_int64",
        "prelu_broadcast",
        "qlinearconv",
        "qlinearmatmul_3D_uint8_float32",
        "quantizelinear_axis",
        "quantizelinear_blocked_asymmetric",
        "reciprocal",
        "reduce_max_default_axes_keepdim_example",
        "reduce_prod_default_axes_keepdims_random",
        "relu",
        "reversesequence_batch",
        "rnn_seq_length",
        "roialign_aligned_true",
        "rotary_embedding_interleaved",
        "round",
        "scan9_sum",
        "scatter_elements_with_negative_indices",
        "scatter_elements_with_reduction_max",
        "scatternd_multiply",
        "sce_mean_weight_ii_3d_log_prob",
        "selu",
        "shape_start_1",
        "shrink_soft",
        "sigmoid",
        "sign",
        "simple_rnn_batchwise",
        "sin",
        "softmax_axis_0",
        "softmax_large_number",
        "softplus",
        "softsign",
        "spacetodepth",
        "split_equal_parts_2d_opset13",
        "sqrt",
        "sub",
        "sum_example",
        "swiglu",
        "tan",
        "tanh",
        "thresholdedrelu",
        "transpose_all_permutations_3",
        "transpose_default",
        "tril_neg",
        "triu_square_neg",
        "where_example",
        "xor4d",
    ]
)


@pytest.fixture(scope="module")
def runner() -> onnx.backend.test.BackendTest:
    """The runner, told which tests to run."""
    with warnings.catch_warnings():
        # Making its cases computes with infinities and the like.
        warnings.simplefilter("ignore")
        tests = onnx.backend.test.BackendTest(backend, __name__)
    for name in (*REAL_TESTS, *NODE_TESTS):
        tests.include(f"^{re.escape(name)}$")
    return tests


@pytest.fixture(scope="module")
def cases(runner: onnx.backend.test.BackendTest) -> dict[str, type[TestCase]]:
    """The runner's test cases by category."""
    return runner.test_cases


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is downloaded, nothing written outside of the test's folder."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the test runner wants to download a model")

    monkeypatch.setattr(onnx.backend.test.BackendTest, "download_model", refuse)
    monkeypatch.setenv("ONNX_HOME", str(tmp_path))
    monkeypatch.setenv("ONNX_MODELS", str(tmp_path / "models"))


def run_case(case: TestCase) -> None:
    """Runs one test of the runner; a skipped one fails."""
    try:
        case.debug()
    except SkipTest as reason:
        pytest.fail(f"skipped: {reason}")


@pytest.mark.slow
def test_the_real_models_are_the_nine_light_ones(cases: dict[str, type[TestCase]]) -> None:
    names = {name for name in dir(cases["OnnxBackendRealModelTest"]) if name.endswith("_cpu")}
    assert names == set(REAL_TESTS)
    assert len(names) == 9


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == ONE else pytest.mark.extensive)
        for name in REAL_TESTS
    ],
)
def test_real_model(cases: dict[str, type[TestCase]], name: str) -> None:
    run_case(cases["OnnxBackendRealModelTest"](name))
    gc.collect()  # No weights are kept.


@pytest.mark.parametrize(
    "name",
    [
        # The first waits for the runner, which makes all cases of ONNX.
        pytest.param(name, marks=pytest.mark.extensive if i % 3 else pytest.mark.slow)
        for i, name in enumerate(NODE_TESTS)
    ],
)
def test_node(cases: dict[str, type[TestCase]], name: str) -> None:
    run_case(cases["OnnxBackendNodeModelTest"](name))


def relu_model(op_type: str = "Relu") -> ModelProto:
    """A model of one operator."""
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x"], ["y"])],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("inputs", [X, [X], (X,), {"x": X}], ids=["array", "list", "tuple", "dict"])
def test_run_model(inputs: Any) -> None:
    (found,) = backend.run_model(relu_model(), inputs)
    np.testing.assert_array_equal(found, np.maximum(X, 0))


def test_prepared_model_runs_again() -> None:
    rep = backend.prepare(relu_model(), device="CPU", target="x86-64")
    for sign in (1, -1):
        (found,) = rep.run([sign * X])
        np.testing.assert_array_equal(found, np.maximum(sign * X, 0))


def test_prepared_model_names_its_inputs() -> None:
    rep = backend.prepare(relu_model())
    with pytest.raises(ModelError, match="2 inputs are given, expected"):
        rep.run([X, X])
    with pytest.raises(
        ModelError, match=r"input 'x' is float32\[6\], expected 'x' float32\[2, 3\]"
    ):
        rep.run([X.ravel()])
    with pytest.raises(TypeError, match="unknown options: batch"):
        rep.run([X], batch=1)


@pytest.mark.parametrize("odd", [None, "2", [], {}, np.float32(1), 1j], ids=repr)
def test_arguments_of_other_types(odd: Any) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    with pytest.raises(OptionError, match="threads is .*, expected a whole number"):
        backend.prepare(relu_model(), threads=odd)
    with pytest.raises(SkipTest, match="device .* is not supported"):
        backend.prepare(relu_model(), device=odd)
    with pytest.raises(ModelError, match="input"):
        backend.prepare(relu_model()).run(odd)
    with pytest.raises(ModelError, match="the inputs are a|0 inputs are given, expected 1: x"):
        backend.run_node(node, odd)
    with pytest.raises(ModelError, match="the node is .*, expected an onnx.NodeProto"):
        backend.run_node(odd, [X])
    with pytest.raises(ModelError, match="opset_version is .*, expected a whole number"):
        backend.run_node(node, [X], opset_version=odd)
    if not isinstance(odd, str):
        with pytest.raises(ModelError, match="the model is .*, expected an onnx.ModelProto"):
            backend.prepare(odd)


def test_run_node() -> None:
    node = helper.make_node("Sub", ["a", "b"], ["c"])
    outputs = backend.run_node(node, [X, np.float32(1)])
    assert outputs is not None
    np.testing.assert_array_equal(outputs[0], X - 1)


@pytest.mark.parametrize(
    ("device", "supported"),
    [("CPU", True), ("CPU:0", True), ("CUDA", False), ("CUDA:1", False), ("abacus", False)],
)
def test_supports_device(device: str, supported: bool) -> None:
    assert backend.supports_device(device) is supported


def test_unsupported_device_is_skipped() -> None:
    with pytest.raises(SkipTest, match="device CUDA is not supported"):
        backend.prepare(relu_model(), device="CUDA")


def test_unsupported_operator_is_skipped() -> None:
    with pytest.raises(SkipTest, match="op type Frobnicate, domain 'ai.onnx', opset 13"):
        backend.prepare(relu_model("Frobnicate"))


def test_code_that_llvm_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails after the import is no lack of support: it must not count as skipped."""

    def refuse(*args: Any) -> None:
        raise ModelError("LLVM does not accept the generated code")

    monkeypatch.setattr("xrelay.runtime.llvm.emit_object", refuse)
    with pytest.raises(ModelError):
        backend.prepare(relu_model())


def test_shapes_are_passed_on() -> None:
    model = light_model("squeezenet")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    rep = backend.prepare(model, shapes={model.graph.input[0].name: [2, 3, 224, 224]})
    assert rep.model.signature.inputs[0].shape == (2, 3, 224, 224)
