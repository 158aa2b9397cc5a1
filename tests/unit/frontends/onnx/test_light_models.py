"""The nine networks of the onnx package: they import, and compute what onnxruntime computes."""

import os
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from zlib import crc32

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, checker, numpy_helper, parser
from xdsl.dialects.func import FuncOp

from xrelay.frontends.onnx import import_model
from xrelay.interpreters.relay import interpret
from xrelay.tools import light_models
from xrelay.tools.light_models import LIGHT_MODELS, light_model

SMALL = ("densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet")
"""Those with weights of less than 150 MB."""

ONE = "squeezenet"
"""How weights are drawn does not depend on the network."""

OPERATIONS: dict[str, dict[str, int]] = {
    "bvlc_alexnet": {
        "nn.conv2d": 5,
        "nn.bias_add": 8,
        "nn.relu": 7,
        "nn.lrn": 2,
        "nn.max_pool2d": 3,
        "reshape": 1,
        "nn.dense": 3,
        "nn.softmax": 1,
        "constant": 16,
    },
    "densenet121": {
        "nn.conv2d": 121,
        "nn.batch_norm": 121,
        "tuple_get_item": 121,
        "expand_dims": 242,
        "multiply": 121,
        "add": 121,
        "nn.relu": 121,
        "nn.max_pool2d": 1,
        "tuple": 58,
        "concatenate": 58,
        "nn.avg_pool2d": 3,
        "nn.global_avg_pool2d": 1,
        "nn.bias_add": 1,
        "constant": 848,
    },
    "inception_v1": {
        "nn.conv2d": 57,
        "nn.bias_add": 58,
        "nn.relu": 57,
        "nn.max_pool2d": 13,
        "nn.lrn": 2,
        "tuple": 9,
        "concatenate": 9,
        "nn.avg_pool2d": 1,
        "reshape": 2,
        "nn.dense": 1,
        "nn.softmax": 1,
        "constant": 116,
    },
    "inception_v2": {
        "nn.conv2d": 69,
        "nn.batch_norm": 69,
        "tuple_get_item": 69,
        "expand_dims": 138,
        "multiply": 69,
        "add": 69,
        "nn.relu": 69,
        "nn.max_pool2d": 5,
        "nn.avg_pool2d": 8,
        "tuple": 10,
        "concatenate": 10,
        "reshape": 1,
        "nn.dense": 1,
        "nn.bias_add": 1,
        "nn.softmax": 1,
        "constant": 485,
    },
    "resnet50": {
        "nn.conv2d": 53,
        "nn.batch_norm": 53,
        "tuple_get_item": 53,
        "nn.relu": 49,
        "nn.max_pool2d": 1,
        "add": 16,
        "nn.avg_pool2d": 1,
        "reshape": 1,
        "nn.dense": 1,
        "nn.bias_add": 1,
        "nn.softmax": 1,
        "constant": 267,
    },
    "shufflenet": {
        "nn.conv2d": 49,
        "nn.bias_add": 2,
        "nn.batch_norm": 49,
        "tuple_get_item": 49,
        "nn.relu": 33,
        "nn.max_pool2d": 1,
        "reshape": 33,
        "transpose": 16,
        "nn.avg_pool2d": 4,
        "tuple": 3,
        "concatenate": 3,
        "add": 13,
        "nn.dense": 1,
        "nn.softmax": 1,
        "constant": 248,
    },
    "squeezenet": {
        "nn.conv2d": 26,
        "nn.bias_add": 26,
        "nn.relu": 26,
        "nn.max_pool2d": 3,
        "tuple": 8,
        "concatenate": 8,
        "nn.global_avg_pool2d": 1,
        "nn.softmax": 1,
        "constant": 52,
    },
    "vgg19": {
        "nn.conv2d": 16,
        "nn.bias_add": 19,
        "nn.relu": 18,
        "nn.max_pool2d": 5,
        "reshape": 1,
        "nn.dense": 3,
        "nn.softmax": 1,
        "constant": 38,
    },
    "zfnet512": {
        "nn.conv2d": 5,
        "nn.bias_add": 8,
        "nn.relu": 7,
        "nn.lrn": 2,
        "nn.max_pool2d": 3,
        "reshape": 1,
        "nn.dense": 3,
        "nn.softmax": 1,
        "constant": 16,
    },
}


def digest(model: ModelProto) -> str:
    return sha256(model.SerializeToString(deterministic=True)).hexdigest()


@pytest.mark.parametrize("name", LIGHT_MODELS)
def test_import(name: str):
    """Without a seed, all weights are splats: no model takes memory."""
    module = import_model(light_model(name, None))
    module.verify()
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    found = Counter(op.name.removeprefix("relay.") for op in function.body.block.ops)
    assert found.pop("func.return") == 1
    assert dict(found) == OPERATIONS[name]
    assert [type_.get_shape() for type_ in function.function_type.inputs] == [(1, 3, 224, 224)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == ONE else pytest.mark.extensive)
        for name in SMALL
    ],
)
def test_seeded_models(name: str):
    """Valid, without fill nodes, the same for the same seed, and with the same operations."""
    model = light_model(name)
    checker.check_model(model)
    assert "ConstantOfShape" not in {node.op_type for node in model.graph.node}
    assert len(model.graph.input) == 1
    assert digest(model) == digest(light_model(name, 0))
    assert digest(model) != digest(light_model(name, 1))
    module = import_model(model)
    found = Counter(op.name.removeprefix("relay.") for op in module.walk())
    assert {kind: found[kind] for kind in OPERATIONS[name]} == OPERATIONS[name]


@pytest.mark.slow
def test_weights_do_not_depend_on_the_hash_seed():
    program = (
        "from hashlib import sha256; from xrelay.tools.light_models import light_model; "
        "model = light_model('squeezenet'); "
        "print(sha256(model.SerializeToString(deterministic=True)).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == digest(light_model("squeezenet"))


@pytest.mark.parametrize(
    ("node", "shape", "products"),
    [("Gemm <transB = 1> (x, w)", (3, 50), 50), ("Conv (x, w)", (2, 5, 3, 4), 60)],
)
def test_weights_are_less_for_sums_of_more_products(
    node: str, shape: tuple[int, ...], products: int, monkeypatch: pytest.MonkeyPatch
):
    """They have a mean square of one by the number of products, as He's initialisation has."""
    numbers = ", ".join(map(str, shape))
    small = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 13]>
        g (float[1, {numbers}] x) => (float[a] y) <int64[{len(shape)}] s = {{{numbers}}}> {{
          w = ConstantOfShape (s)
          y = {node}
        }}"""
    )
    monkeypatch.setattr(light_models, "load_model", lambda _: small)
    (stored,) = light_model(ONE).graph.initializer
    random = np.random.default_rng([0, crc32(b"w")]).standard_normal(shape, np.float32)
    np.testing.assert_array_equal(
        numpy_helper.to_array(stored), np.float32(1 / np.sqrt(products)) * random
    )


def test_unknown_name():
    with pytest.raises(ValueError, match="'lenet' is not one of the light models: bvlc_alexnet"):
        light_model("lenet")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_outputs(name: str):
    """Equal to those of onnxruntime, and not saturated."""
    model = light_model(name)
    image = np.random.default_rng(3).standard_normal((1, 3, 224, 224), np.float32)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (expected,) = session.run(None, {session.get_inputs()[0].name: image})
    (result,) = interpret(import_model(model), [image])
    np.testing.assert_allclose(result, expected, 1e-3, 1e-6)
    assert len(np.unique(expected)) > 500
    assert expected.max() < 0.2
