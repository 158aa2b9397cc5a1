"""
The nine networks that come with onnx, with seeded random weights, agree with onnxruntime.

One of them for one thread and for two, which give the same bits, with Winograd's algorithm and
without; two others for two threads with it, and all nine if the run is extensive. All buffers lie between
pages that fault on access. Measured on inputs of standard normal numbers, the largest difference is at
most 4.1e-6 of the largest expected value with it, and without (SqueezeNet, AlexNet and VGG-19).
"""

import gc
from collections.abc import Iterator

import numpy as np
import onnxruntime
import pytest
from _pytest.mark import ParameterSet
from guard_pages import guarded_run
from raw_calls import RawCode

from xrelay.compiler import compile_code, read_model
from xrelay.options import CompileOptions
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


IN_ALL_WAYS = "squeezenet"
OTHERS = ("resnet50", "shufflenet")
"""What else the rest has, test_kernels.py has: local normalisation, joints of many parts, large products."""


def places() -> Iterator[ParameterSet]:
    """Models, each with numbers of threads and whether Winograd's algorithm is allowed."""
    for name in LIGHT_MODELS:
        mark = pytest.mark.slow if name == IN_ALL_WAYS else pytest.mark.extensive
        yield pytest.param(name, (1, 2), (True, False), id=f"{name}-all", marks=mark)
        if name != IN_ALL_WAYS:
            mark = pytest.mark.slow if name in OTHERS else pytest.mark.extensive
            yield pytest.param(name, (2,), (True,), id=name, marks=mark)


def guarded_outputs(
    code: RawCode, samples: list[dict[str, Array]], team: int
) -> list[dict[str, Array]]:
    """The outputs for some inputs, by a team, with buffers flush with one guard page or the other."""
    names = [spec.name for spec in code.signature.outputs]
    runs = [
        guarded_run(code, list(inputs.values()), team, at_end=i % 2 == team % 2)
        for i, inputs in enumerate(samples)
    ]
    return [dict(zip(names, arrays, strict=True)) for arrays in runs]


@pytest.mark.parametrize(("name", "thread_counts", "winograd"), list(places()))
def test_compiled_model_agrees_with_onnxruntime(
    name: str, thread_counts: tuple[int, ...], winograd: tuple[bool, ...]
) -> None:
    proto = light_model(name, seed=0)
    module, _ = read_model(proto)
    model = proto.SerializeToString()
    del proto
    samples: list[dict[str, Array]] = []
    expected: list[list[Array]] = []
    for allowed in winograd:
        results: list[list[dict[str, Array]]] = []
        for threads in thread_counts:
            options = CompileOptions(threads, winograd=allowed)
            code = RawCode(compile_code(module.clone(), name, options))
            if not samples:
                samples = [complete_inputs(code.signature, {}, seed) for seed in INPUTS]
                session = peer(model)
                expected = [session.run(None, inputs) for inputs in samples]
                del session, model
            results += [guarded_outputs(code, samples, team) for team in range(1, threads + 1)]
        for others in results[1:]:
            for alone, together in zip(results[0], others, strict=True):
                for output, found in alone.items():
                    assert found.tobytes() == together[output].tobytes(), f"output '{output}'"
        check(results[0], expected)
        if not any("winograd" in step.implementation for step in code.signature.steps):
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
