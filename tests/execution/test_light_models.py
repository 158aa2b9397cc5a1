"""
The nine networks that come with onnx, with seeded random weights, agree with onnxruntime.

For one thread and for two, which give the same bits, with Winograd's algorithm and without. Measured
on inputs of standard normal numbers, the largest difference is at most 4.1e-6 of the largest expected
value with it, and without (SqueezeNet, AlexNet and VGG-19).
"""

import gc
from collections.abc import Iterator

import numpy as np
import onnxruntime
import pytest

import xrelay
from xrelay.compiler import read_model
from xrelay.runtime.model import Array
from xrelay.tools.light_models import LIGHT_MODELS, light_model
from xrelay.tools.run_model import complete_inputs
from xrelay.tools.verify import largest_difference

BOUND = 2e-5
INPUTS = (1, 2)
"""Seeds."""


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
    session = peer(proto.SerializeToString())
    module, _ = read_model(proto)
    del proto
    samples: list[tuple[dict[str, Array], list[Array]]] = []
    for winograd in (True, False):
        results: list[list[dict[str, Array]]] = []
        for threads in (1, 2):
            model = xrelay.compile(module, threads=threads, winograd=winograd)
            if not samples:
                for seed in INPUTS:
                    inputs = complete_inputs(model.signature, {}, seed)
                    samples.append((inputs, session.run(None, inputs)))
            results.append([model.run(inputs) for inputs, _ in samples])
        for alone, together in zip(*results, strict=True):
            for output, found in alone.items():
                assert found.tobytes() == together[output].tobytes(), f"output '{output}'"
        check(results[0], [expected for _, expected in samples])
        if not any("winograd" in step.implementation for step in model.signature.steps):
            # Code that may not use it is the same.
            break


def check(results: list[dict[str, Array]], expected: list[list[Array]]) -> None:
    """The outputs for some inputs are right, and say something."""
    for outputs, arrays in zip(results, expected, strict=True):
        for (output, found), wanted in zip(outputs.items(), arrays, strict=True):
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            assert np.unique(found).size > 100, f"'{output}' says little: its values are the same"
            assert largest_difference(found, wanted) < BOUND, f"output '{output}'"
    for other in results[1:]:
        same = [np.array_equal(other[output], found) for output, found in results[0].items()]
        assert not all(same), "the outputs do not depend on the input"
