"""Recurrent networks in the ONNX importer, against onnxruntime."""

from typing import Any

import numpy as np
import pytest
from onnx_models import Array, Samples, by_onnxruntime, check, kinds, one_node

import xrelay
from xrelay.frontends.onnx import OnnxImportError, import_every_value, import_model
from xrelay.frontends.onnx.importer.core.unrolling import MAX_ROUNDS
from xrelay.frontends.onnx.importer.nn import recurrent

SAMPLES = Samples(17)
floats = SAMPLES.floats
LENGTH, BATCH, INPUTS, SIZE = 5, 3, 4, 2
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def network(
    op: str,
    directions: int = 1,
    *,
    bias: bool = True,
    lengths: bool = False,
    states: bool = False,
    peepholes: bool = False,
) -> tuple[list[Array], list[Array | None]]:
    """The data of a network, and its other inputs, which are constants."""
    rows = GATES[op] * SIZE
    constants: list[Array | None] = [
        floats(directions, rows, INPUTS),
        floats(directions, rows, SIZE),
        floats(directions, 2 * rows) if bias else None,
        np.array([5, 2, 3], np.int32) if lengths else None,
        floats(directions, BATCH, SIZE) if states else None,
    ]
    if op == "LSTM":
        constants.append(floats(directions, BATCH, SIZE) if states else None)
        constants.append(floats(directions, 3 * SIZE) if peepholes else None)
    return [floats(LENGTH, BATCH, INPUTS)], constants


def check_network(op: str, direction: str = "forward", **options: Any) -> None:
    inputs = {
        key: options.pop(key)
        for key in ("bias", "lengths", "states", "peepholes")
        if key in options
    }
    data, constants = network(op, 1 + (direction == "bidirectional"), **inputs)
    outputs = 3 if op == "LSTM" else 2
    options = {"hidden_size": SIZE, "direction": direction, "opset": 14, **options}
    check(op, data, constants, outputs=outputs, **options)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [False, True])
def test_directions(op: str, direction: str, lengths: bool):
    check_network(op, direction, lengths=lengths, states=True)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [False, True])
def test_many_steps_are_a_loop(
    op: str, direction: str, lengths: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recurrent, "MOST_UNROLLED", LENGTH - 1)
    check_network(op, direction, lengths=lengths, states=True)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("most", [1, 100])
def test_no_step_leaves_the_states(op: str, most: int, monkeypatch: pytest.MonkeyPatch):
    """onnxruntime gives zeros; see docs/onnx.md."""
    monkeypatch.setattr(recurrent, "MOST_UNROLLED", most)
    data, constants = network(op, lengths=True, states=True)
    constants[3] = np.array([0, LENGTH, 1], np.int32)
    model = one_node(op, data, constants, opset=14, outputs=2, hidden_size=SIZE)
    (start,) = [each for each in constants[4:5] if each is not None]
    every, last = xrelay.interpret(model, {"in0": data[0]}).values()
    assert not every[:, 0, 0].any()
    assert np.array_equal(last[0, 0], start[0, 0])
    assert not np.array_equal(last[0, 1], start[0, 1])


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("lengths", [False, True])
def test_empty_sequences(op: str, direction: str, lengths: bool):
    directions = 1 + (direction == "bidirectional")
    _, constants = network(op, directions, lengths=lengths, states=True)
    if lengths:
        constants[3] = np.zeros(BATCH, np.int32)
    options = {"opset": 14, "outputs": 2, "hidden_size": SIZE, "direction": direction}
    model = one_node(op, [floats(0, BATCH, INPUTS)], constants, **options)
    data = {"in0": floats(0, BATCH, INPUTS)}
    for found in (xrelay.interpret(model, data), xrelay.compile(model, cache=False).run(data)):
        every, last = found.values()
        assert every.shape == (0, directions, BATCH, SIZE)
        assert constants[4] is not None
        np.testing.assert_array_equal(last, constants[4])


def test_one_step_more_than_is_unrolled_makes_a_loop():
    for steps, loops in ((recurrent.MOST_UNROLLED, 0), (recurrent.MOST_UNROLLED + 1, 1)):
        _, constants = network("GRU")
        model = one_node("GRU", [floats(steps, 1, INPUTS)], constants, opset=14, hidden_size=SIZE)
        assert str(import_model(model)).count("scf.for") == loops
        assert "scf.for" not in str(import_model(model, unrolled=True))
        assert "scf.for" not in str(import_every_value(model))


def test_more_steps_than_loops_are_unrolled_for():
    _, constants = network("RNN")
    data = floats(MAX_ROUNDS + 1, 1, INPUTS)
    model = one_node("RNN", [data], constants, opset=14, hidden_size=SIZE)
    assert "scf.for" in str(import_model(model, unrolled=True))


@pytest.mark.parametrize("op", GATES)
def test_nothing_optional(op: str):
    check_network(op, bias=False)


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("bias", [False, True])
def test_gru_reset(before: int, bias: bool):
    check_network("GRU", linear_before_reset=before, bias=bias)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_lstm_peepholes(direction: str):
    check_network("LSTM", direction, peepholes=True, states=True)


def test_lstm_with_coupled_gates():
    check_network("LSTM", input_forget=1)


@pytest.mark.parametrize("op", GATES)
def test_clip(op: str):
    check_network(op, clip=0.25)


ACTIVATIONS = [
    *("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh"),
    *("HardSigmoid", "Elu", "Softsign", "Softplus"),
]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str):
    parameters: dict[str, list[float]] = {}
    if name in ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"):
        parameters["activation_alpha"] = [0.5]
    if name in ("Affine", "ScaledTanh", "HardSigmoid"):
        parameters["activation_beta"] = [0.75]
    check_network("RNN", activations=[name], **parameters)


def test_softplus_of_large_numbers():
    """onnxruntime's overflows; see docs/onnx.md."""
    data = np.full((1, 1, 1), 100, np.float32)
    weights: list[Array] = [np.ones((1, 1, 1), np.float32), np.zeros((1, 1, 1), np.float32)]
    check("RNN", [data], weights, data[None], opset=14, hidden_size=1, activations=["Softplus"])


def test_parameters_of_activations_are_consumed_in_order():
    names = ["HardSigmoid", "Tanh", "Tanh", "Sigmoid", "LeakyRelu", "Tanh"]
    parameters = {"activation_alpha": [0.3, 0.1], "activation_beta": [0.4]}
    check_network("LSTM", "bidirectional", activations=names, **parameters)


@pytest.mark.parametrize("op", GATES)
def test_batch_first_is_transposed(op: str):
    """onnxruntime has this layout not; the reference of onnx has."""
    from onnx.reference import ReferenceEvaluator

    (data,), constants = network(op)
    batch_first = data.transpose(1, 0, 2).copy()
    model = one_node(op, [batch_first], constants, opset=14, outputs=2, hidden_size=SIZE, layout=1)
    expected = ReferenceEvaluator(model).run(None, {"in0": batch_first})
    assert isinstance(expected, list)
    check(op, [batch_first], constants, expected, opset=14, outputs=2, hidden_size=SIZE, layout=1)


@pytest.mark.parametrize("op", GATES)
def test_states_are_batch_first_too(op: str):
    """Neither onnxruntime nor the reference of onnx has this: it is what onnxruntime says of the other layout, transposed."""
    (data,), constants = network(op, 2, states=True)
    options: dict[str, Any] = {"opset": 14, "outputs": 2, "hidden_size": SIZE}
    options["direction"] = "bidirectional"
    steps, last = by_onnxruntime(one_node(op, [data], constants, **options), [data])
    expected = [steps.transpose(2, 0, 1, 3), last.transpose(1, 0, 2)]
    swapped = [
        each if i not in (4, 5) or each is None else each.transpose(1, 0, 2).copy()
        for i, each in enumerate(constants)
    ]
    batch_first = data.transpose(1, 0, 2).copy()
    check(op, [batch_first], swapped, expected, layout=1, **options)


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("rank", [2, 4])
def test_ranks(layout: int, rank: int):
    data, constants = network("LSTM", states=True)
    options = {"opset": 14, "hidden_size": SIZE, "layout": layout}
    with pytest.raises(OnnxImportError, match=r"input 0 \('X'\) has the shape"):
        import_model(one_node("LSTM", [floats(*range(1, 1 + rank))], constants, **options))
    constants[4] = floats(*range(1, 1 + rank))
    shape = f"{BATCH}, 1, {SIZE}" if layout else f"1, {BATCH}, {SIZE}"
    if layout:
        data = [each.transpose(1, 0, 2).copy() for each in data]
    with pytest.raises(OnnxImportError, match=rf"\('initial_h'\) .* expected \[{shape}\]"):
        import_model(one_node("LSTM", data, constants, **options))


def test_weights_of_the_state_are_made_once():
    data, constants = network("GRU")
    module = import_model(one_node("GRU", data, constants, opset=14, hidden_size=SIZE))
    # One product for the inputs of all steps; that of the first state, which is zeros, is a constant.
    assert str(module).count("nn.dense") == 1 + 2 * LENGTH - 1
    assert kinds(one_node("GRU", data, constants, opset=14, hidden_size=SIZE))[0] == "reshape"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "sideways"}, "'direction' is \"sideways\""),
        ({"activations": ["Frobnicate"]}, '"Frobnicate" is not supported'),
        ({"activations": ["Tanh", "Tanh"]}, "expected 1 names"),
    ],
)
def test_refusals(options: dict[str, Any], message: str):
    data, constants = network("RNN")
    with pytest.raises(OnnxImportError, match=message):
        import_model(one_node("RNN", data, constants, opset=14, hidden_size=SIZE, **options))
