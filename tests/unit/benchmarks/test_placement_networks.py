"""The networks of the placement benchmark: what onnxruntime computes of small ones is what the interpreter does."""

from dataclasses import replace

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto

from benchmarks.placement_networks import BUILT, Built, Writer, suppression
from benchmarks.suite import Input
from xrelay.frontends.onnx import import_model
from xrelay.interpreters.relay import interpret

SIZES = {"unet": 16, "detector": 32, "lstm_tagger": 4, "nasnet_stack": 8, "two_towers": 12}


@pytest.mark.parametrize("network", BUILT, ids=lambda each: each.name)
def test_small_networks(network: Built) -> None:
    small = replace(network, size=SIZES[network.name])
    model, feeds = small.builder(small.size), small.input_values()
    assert model == small.builder(small.size), "weights are seeded"
    right = ort.InferenceSession(model.SerializeToString()).run(None, feeds)
    found = interpret(import_model(model), list(feeds.values()))
    for ours, theirs in zip(found, right, strict=True):
        assert ours.shape == theirs.shape and np.ptp(theirs) > 0
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_suppression_of_boxes_that_overlap() -> None:
    """The second box is within the first one, the third overlaps both by little, the fourth none."""
    boxes = np.array(
        [[0.5, 0.5, 0.4, 0.4], [0.5, 0.5, 0.36, 0.36], [0.85, 0.5, 0.4, 0.4], [0.1, 0.1, 0.1, 0.1]],
        np.float32,
    )
    g = Writer()
    kept = suppression(g, "boxes", 4)
    model = g.model("boxes", [Input("boxes", (4, 4))], [(kept, TensorProto.FLOAT)])
    (found,) = ort.InferenceSession(model.SerializeToString()).run(None, {"boxes": boxes})
    assert np.asarray(found).tolist() == [1, 0, 1, 1]
