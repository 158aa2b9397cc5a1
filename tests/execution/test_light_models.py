"""
The nine networks that come with onnx, with seeded random weights, agree with onnxruntime.

Measured on inputs of standard normal numbers: the largest difference is at most 2.3e-6 of the
largest expected value (AlexNet, SqueezeNet and VGG-19; the others stay below 1e-6).
"""

import gc
from collections.abc import Iterator

import numpy as np
import onnxruntime
import pytest

import xrelay
from xrelay.tools.light_models import LIGHT_MODELS, light_model
from xrelay.tools.run_model import complete_inputs
from xrelay.tools.verify import largest_difference

BOUND = 2e-5
INPUTS = (1, 2, 3)


@pytest.fixture(autouse=True)
def released_memory() -> Iterator[None]:
    """The IR of a model is cyclic, and the weights of some are hundreds of megabytes."""
    yield
    gc.collect()


def peer(model: bytes) -> onnxruntime.InferenceSession:
    """onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def test_there_are_nine_light_models() -> None:
    assert len(LIGHT_MODELS) == 9


@pytest.mark.parametrize("name", LIGHT_MODELS)
def test_compiled_model_agrees_with_onnxruntime(name: str) -> None:
    proto = light_model(name, seed=0)
    model = xrelay.compile(proto)
    session = peer(proto.SerializeToString())
    del proto
    results = []
    for seed in INPUTS:
        inputs = complete_inputs(model.signature, {}, seed)
        outputs = model.run(inputs)
        expected = session.run(list(outputs), inputs)
        for (output, found), wanted in zip(outputs.items(), expected, strict=True):
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            assert np.unique(found).size > 100, f"'{output}' says little: its values are the same"
            assert largest_difference(found, wanted) < BOUND, f"output '{output}', seed {seed}"
        results.append(np.concatenate([found.ravel() for found in outputs.values()]))
    for other in results[1:]:
        assert not np.array_equal(results[0], other), "the outputs do not depend on the input"
