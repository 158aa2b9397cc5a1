"""Bodies in the ONNX importer: functions, branches and loops."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx_models import (
    Array,
    Samples,
    build,
    by_import,
    by_onnxruntime,
    check,
    kinds,
    one_node,
    require_equal,
    untyped,
    value_info,
)

import xrelay
from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.frontends.onnx.importer import functions
from xrelay.frontends.onnx.importer.core import unrolling
from xrelay.frontends.onnx.importer.core.unrolling import MAX_OPERATIONS, MAX_ROUNDS

SAMPLES = Samples(13)
floats = SAMPLES.floats
FLOAT = TensorProto.FLOAT


def typed(name: str, *shape: int, dtype: int = FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def subgraph(nodes: list[NodeProto], inputs: list[str], outputs: list[str]) -> GraphProto:
    """A graph in a node; onnxruntime wants types of its inputs and outputs."""
    types = {"i": TensorProto.INT64, "go": TensorProto.BOOL, "on": TensorProto.BOOL}

    def value(name: str):
        kind = types.get(name, FLOAT)
        return typed(name, dtype=kind) if name in types else typed(name, 2)

    return helper.make_graph(nodes, "body", list(map(value, inputs)), list(map(value, outputs)))


# Functions


def calling(
    function: FunctionProto, nodes: list[NodeProto], data: Array, domain: str = "custom"
) -> ModelProto:
    graph = helper.make_graph(nodes, "g", [value_info("x", data)], [untyped("y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets, functions=[function])


def scaled_relu() -> FunctionProto:
    """alpha * relu(x), or alpha * x + bias where there is a bias."""
    alpha = NodeProto(op_type="Constant", output=["a"])
    alpha.attribute.add(name="value_float", type=1, ref_attr_name="alpha")
    return helper.make_function(
        "custom",
        "ScaledRelu",
        ["x", "low"],
        ["y", "other"],
        [
            alpha,
            helper.make_node("Clip", ["x", "low"], ["c"]),
            helper.make_node("Mul", ["c", "a"], ["y"]),
            helper.make_node("Frobnicate", ["c"], ["other"]),
        ],
        [helper.make_opsetid("", 13)],
        attributes=["alpha"],
    )


@pytest.mark.parametrize("low", [None, -0.25])
def test_functions_of_the_model(low: float | None):
    data = floats(3, 4)
    nodes = [
        NodeProto(op_type="Constant", output=["low"]),
        helper.make_node(
            "ScaledRelu", ["x", "low" if low is not None else ""], ["y"], domain="custom", alpha=2.5
        ),
    ]
    nodes[0].attribute.append(helper.make_attribute("value_float", low or 0.0))
    model = calling(scaled_relu(), nodes, data)
    clipped = data if low is None else np.maximum(data, np.float32(low))
    require_equal(by_import(model, [data]), [clipped * np.float32(2.5)])


def test_problems_in_functions_name_both_nodes():
    node = helper.make_node("ScaledRelu", ["x"], ["", "y"], "caller", domain="custom", alpha=1.0)
    model = calling(scaled_relu(), [node], floats(2))
    with pytest.raises(OnnxImportError, match=r"node 'caller': .* in its body, .*'other'.* Frobn"):
        import_model(model)


def test_functions_that_call_themselves_are_refused():
    call = helper.make_node("Again", ["x"], ["y"], domain="custom")
    opsets = [helper.make_opsetid("custom", 1)]
    function = helper.make_function("custom", "Again", ["x"], ["y"], [call], opsets)
    with pytest.raises(OnnxImportError) as raised:
        import_model(calling(function, [call], floats(2)))
    assert str(raised.value).partition(": ")[2] == (
        "bodies lie in each other more than 32 deep, as in a function that calls itself: "
        "the node that computes 'y' (Again)"
    )


@pytest.mark.parametrize("overload", ["", "other"])
def test_a_call_means_one_function(overload: str):
    """onnx.checker and onnxruntime refuse models with two functions of a domain, name and overload."""
    opsets, domains = [helper.make_opsetid("", 13)], ("custom", "custom", "ai.onnx", "")
    functions = [
        helper.make_function(
            domain, "F", ["x"], ["y"], [helper.make_node(op, ["x"], ["y"])], opsets, overload=name
        )
        for domain, op, name in zip(
            domains, ("Exp", "Neg", "Abs", "Relu"), (overload, "", overload, ""), strict=True
        )
    ]
    node = helper.make_node("F", ["x"], ["y"], domain="custom", overload=overload)
    data = floats(3)
    model = calling(functions[0], [node], data)
    model.functions.append(functions[1])
    if not overload:
        with pytest.raises(
            OnnxImportError, match="two functions have the name 'F' in domain 'cust"
        ):
            import_model(model)
        model.functions[1].overload = "other"
    require_equal(by_import(model, [data]), [np.exp(data)])
    model.functions.extend(functions[2:])
    model.functions[3].overload = overload
    what = f"'F' and overload '{overload}' in domain" if overload else "'F' in domain"
    with pytest.raises(OnnxImportError, match=f"two functions have the name {what}"):
        import_model(model)


@dataclass
class TwoBodies:
    """A schema as onnx has it, of an operator whose body is another one in later operator sets."""

    operators: Mapping[int, str]
    attributes: Mapping[str, object] = field(default_factory=dict[str, object])
    has_function: bool = True

    @property
    def function_opset_versions(self) -> list[int]:
        return list(self.operators)

    def get_function_with_opset_version(self, version: int) -> bytes:
        """One operator of the first input."""
        node = helper.make_node(self.operators[version], ["input"], ["loss"])
        opsets = [helper.make_opsetid("", version)]
        names = ["input", "target"]
        body = helper.make_function("", "Body", names, ["loss"], [node], opsets)
        return body.SerializeToString()


@pytest.mark.parametrize(("opset", "wanted"), [(12, 3), (13, 3), (14, 3), (15, -3), (17, -3)])
def test_the_newest_body_that_an_operator_set_has(
    opset: int, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For older sets it is the oldest one."""
    schema = TwoBodies({13: "Relu", 15: "Neg", 18: "Exp"})
    monkeypatch.setattr(functions, "defs", SimpleNamespace(get_schema=lambda *_: schema))
    data = [np.full((1, 1), 3, np.float32), np.zeros(1, np.int64)]
    model = one_node("NegativeLogLikelihoodLoss", data, opset=opset)
    require_equal(by_import(model, data), [np.full((1, 1), wanted, np.float32)])


def test_of_two_operator_sets_of_a_domain_the_highest_counts():
    """As the text of ONNX has it. The softmax of set 11 is that of all elements of an image."""
    data = floats(2, 3, 4)
    graph = helper.make_graph(
        [helper.make_node("Softmax", ["x"], ["y"])], "g", [value_info("x", data)], [untyped("y")]
    )
    for sets in ((13, 11), (11, 13)):
        opsets = [helper.make_opsetid(*each) for each in zip(("", "ai.onnx"), sets, strict=True)]
        model = helper.make_model(graph, ir_version=8, opset_imports=opsets)
        exponentials = np.exp(data)
        expected = exponentials / exponentials.sum(-1, keepdims=True)
        np.testing.assert_allclose(by_import(model, [data])[0], expected, rtol=1e-6)


def test_functions_take_no_more_inputs_than_they_have():
    node = helper.make_node("ScaledRelu", ["x", "x", "x"], ["y"], domain="custom", alpha=1.0)
    with pytest.raises(OnnxImportError, match="3 inputs and 1 outputs, the function"):
        import_model(calling(scaled_relu(), [node], floats(2)))


def test_operators_that_are_functions():
    """Those of ONNX, with an attribute that has a default, and with operator sets that lack one."""
    data = floats(2, 3, 4, 5)
    check("Shrink", [data], opset=9, lambd=0.3)
    check("MeanVarianceNormalization", [data], opset=9)
    check("MeanVarianceNormalization", [data], opset=13, axes=[1, 3])
    half = data.astype(np.float16)
    wide = half.astype(np.float64)
    mean, deviation = (f(axis=(0, 2, 3), keepdims=True) for f in (wide.mean, wide.std))
    expected = ((wide - mean) / deviation).astype(np.float16)
    check("MeanVarianceNormalization", [half], expected=expected, opset=13)
    check("DynamicQuantizeLinear", [data], outputs=3)
    assert kinds(one_node("SwiGLU", [data, data], opset=28)) == ["sigmoid", "multiply", "multiply"]


# Branches


def branching(condition: Array | None, other: NodeProto) -> ModelProto:
    """x + x if the condition holds, what `other` computes otherwise."""
    add = subgraph([helper.make_node("Add", ["x", "doubled"], ["t"])], [], ["t"])
    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=add, else_branch=subgraph([other], [], [other.output[0]])
    )
    inputs = [typed("x", 2)] + ([typed("c", dtype=TensorProto.BOOL)] if condition is None else [])
    constants = [] if condition is None else [numpy_helper.from_array(condition, "c")]
    nodes = [helper.make_node("Mul", ["x", "x"], ["doubled"]), node]
    return build(nodes, inputs, [typed("y", 2)], constants)


def test_one_branch_is_imported():
    data = floats(2)
    for condition in (True, False):
        model = branching(np.array(condition), helper.make_node("Neg", ["x"], ["e"]))
        require_equal(by_import(model, [data]), by_onnxruntime(model, [data]))


def test_the_other_branch_may_hold_anything():
    model = branching(np.array(True), helper.make_node("NonZero", ["x"], ["e"]))
    assert kinds(model) == ["multiply", "add"]
    with pytest.raises(OnnxImportError, match=r"\(If\)|op type If.*'X'\) is not a constant"):
        import_model(branching(np.array(False), helper.make_node("NonZero", ["x"], ["e"])))


@pytest.mark.parametrize("condition", [True, False])
def test_branches_by_a_condition_that_is_computed(condition: bool):
    model = branching(None, helper.make_node("Neg", ["x"], ["e"]))
    assert "scf.if" in str(import_model(model))
    data = [floats(2), np.array(condition)]
    require_equal(by_import(model, data), by_onnxruntime(model, data))


def test_branches_of_other_types_need_a_constant_condition():
    other = helper.make_node("Concat", ["x", "x"], ["e"], axis=0)
    message = r"op type If.*output 0 is tensor<2xf32> in one branch and tensor<4xf32> in the other"
    with pytest.raises(OnnxImportError, match=message):
        import_model(branching(None, other))
    two = numpy_helper.from_array(np.array([True, False]), "c")
    broken = branching(np.array(True), other)
    broken.graph.initializer[0].CopyFrom(two)
    with pytest.raises(OnnxImportError, match=r"input 0 \('cond'\) has 2 elements, expected one"):
        import_model(broken)


# Loops


def looping(trips: int | None, last: int | None = None) -> ModelProto:
    """h = h * w + i in each round; the outputs are the last h, and all of them."""
    nodes = [
        helper.make_node("Mul", ["h", "w"], ["hw"]),
        helper.make_node("Cast", ["i"], ["if"], to=FLOAT),
        helper.make_node("Add", ["hw", "if"], ["hn"]),
        helper.make_node("Identity", ["hn"], ["all"]),
        helper.make_node("Less", ["i", "last"], ["on"]),
    ]
    body = subgraph(nodes, ["i", "go", "h"], ["on", "hn", "all"])
    node = helper.make_node("Loop", ["" if trips is None else "n", "", "x"], ["y", "ys"], body=body)
    constants = [
        numpy_helper.from_array(np.array(trips or 0), "n"),
        numpy_helper.from_array(np.array(10**6 if last is None else last), "last"),
    ]
    inputs = [typed("x", 2), typed("w", 2)]
    outputs = [typed("y", 2), helper.make_tensor_value_info("ys", FLOAT, None)]
    return build([node], inputs, outputs, constants)


@pytest.mark.parametrize(("trips", "last"), [(0, None), (1, None), (4, None), (None, 2), (9, 3)])
def test_loop(trips: int | None, last: int | None):
    data = [floats(2), floats(2)]
    model = looping(trips, last)
    require_equal(by_import(model, data), by_onnxruntime(model, data))


@pytest.mark.slow
def test_loops_that_are_not_unrolled():
    model = looping(MAX_ROUNDS + 1)
    import_model(model)  # Its condition says how many rounds there are.
    compared = model.graph.node[0].attribute[0].g.node[-1]
    compared.op_type, compared.output[0] = "Mod", "rest"
    model.graph.node[0].attribute[0].g.node.append(helper.make_node("Equal", ["rest", "i"], ["on"]))
    with pytest.raises(OnnxImportError, match=f"more than {MAX_ROUNDS} rounds"):
        import_model(model)
    model = looping(0)
    model.graph.node[0].attribute[0].g.output[2].type.tensor_type.ClearField("shape")
    with pytest.raises(OnnxImportError, match="makes no round"):
        import_model(model)


def nested(rounds: list[int], *, conditional: bool = False) -> ModelProto:
    """
    Loops in each other, of as many rounds from the outside to the inside, which add w in the innermost; with `conditional`
    they end where the sum is large.
    """
    body: GraphProto | None = None
    count = len(rounds)
    for level in reversed(range(count)):
        kept = helper.make_node("Identity", [f"go{level}"], [f"on{level}"])
        tests = [
            helper.make_node("ReduceMax", [f"hn{level}"], [f"largest{level}"], keepdims=0),
            helper.make_node("Less", [f"largest{level}", "limit"], [f"on{level}"]),
        ]
        step = helper.make_node("Add", [f"h{level}", "w"], [f"hn{level}"])
        if body is not None:
            inputs = [f"n{level + 1}", "", f"h{level}"]
            step = helper.make_node("Loop", inputs, [f"hn{level}"], f"loop{level + 1}", body=body)
        body = helper.make_graph(
            [step, *(tests if conditional else [kept])],
            f"body{level}",
            [
                typed(f"i{level}", dtype=TensorProto.INT64),
                typed(f"go{level}", dtype=TensorProto.BOOL),
                typed(f"h{level}", 2),
            ],
            [typed(f"on{level}", dtype=TensorProto.BOOL), typed(f"hn{level}", 2)],
        )
    node = helper.make_node("Loop", ["n0", "", "x"], ["y"], "loop0", body=body)
    constants = [numpy_helper.from_array(np.array(each), f"n{i}") for i, each in enumerate(rounds)]
    constants.append(numpy_helper.from_array(np.float32(1000), "limit"))
    return build([node], [typed("x", 2), typed("w", 2)], [typed("y", 2)], constants)


def whole() -> list[Array]:
    """Numbers whose sums are exact."""
    return [np.array([1, -2], np.float32), np.array([0.5, 0.25], np.float32)]


@pytest.mark.parametrize(
    ("rounds", "adds", "loops"),
    [
        ([3, 3, 3], 27, 0),
        ([4, 4, 4], 64, 0),
        ([20, 20, 20], 20, 40),
        ([2, 20, 20], 40, 2),
        ([20, 2, 2], 40, 20),
        ([2, 2, 100], 4, 4),
        ([9, 9, 9, 9], 9, 27),
        ([2] * 12, 64, 48),
    ],
)
def test_nested_loops_are_counted_by_the_product_of_their_rounds(
    rounds: list[int], adds: int, loops: int
):
    model = nested(rounds)
    text = str(import_model(model))
    assert (text.count("relay.add"), text.count("scf.for")) == (adds, loops)
    expected = by_onnxruntime(model, whole())
    require_equal(by_import(model, whole()), expected)


def test_nested_loops_as_code():
    model = nested([20, 20, 20])
    found = xrelay.compile(model, cache=False).run(dict(zip("xw", whole(), strict=True)))
    require_equal(list(found.values()), by_onnxruntime(model, whole()))


def test_nested_loops_with_conditions():
    """Loops that end by what they compute stay one loop each."""
    model = nested([20, 20, 20], conditional=True)
    text = str(import_model(model))
    assert (text.count("relay.add"), text.count("scf.while")) == (1, 3)
    require_equal(by_import(model, whole()), by_onnxruntime(model, whole()))


def test_nested_loops_are_refused_before_they_are_unrolled():
    add = helper.make_node("Concat", ["h", "w"], ["hn"], axis=0)
    inner = subgraph(
        [add, helper.make_node("Identity", ["go"], ["on"])], ["i", "go", "h"], ["on", "hn"]
    )
    nodes = [
        helper.make_node("Loop", ["n", "", "h"], ["hn"], "inner", body=inner),
        helper.make_node("Identity", ["go"], ["on"]),
    ]
    outer = subgraph(nodes, ["i", "go", "h"], ["on", "hn"])
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], "outer", body=outer)
    rounds = numpy_helper.from_array(np.array(MAX_ROUNDS), "n")
    message = (
        rf"outer.*its {MAX_ROUNDS} rounds of \d+ operations make \d+, more than {MAX_OPERATIONS}"
    )
    with pytest.raises(OnnxImportError, match=message):
        import_model(build([node], [typed("x", 2), typed("w", 1)], [untyped("y")], [rounds]))


def test_scans_are_refused_before_they_are_unrolled(monkeypatch: pytest.MonkeyPatch):
    """A body that joins what it carries, of another shape in each round, is no loop of a program."""
    nodes = [helper.make_node("Concat", ["s", "e"], ["sum"], axis=0)]
    body = subgraph(nodes, ["s", "e"], ["sum"])
    node = helper.make_node("Scan", ["x", "xs"], ["y"], "scan", body=body, num_scan_inputs=1)
    inputs = [typed("x", 2), typed("xs", 5, 3)]
    model = build([node], inputs, [untyped("y")])
    import_model(model)
    # The round of one slice and one concatenation, with its operands.
    monkeypatch.setattr(unrolling, "MAX_OPERATIONS", 14)
    with pytest.raises(
        OnnxImportError, match=r"scan.*its 5 rounds of 4 operations make 20, more than 14"
    ):
        import_model(model)


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan(direction: int, axis: int):
    nodes = [
        helper.make_node("Add", ["s", "e"], ["sum"]),
        helper.make_node("Mul", ["sum", "w"], ["out"]),
    ]
    body = subgraph(nodes, ["s", "e"], ["sum", "out"])
    node = helper.make_node(
        "Scan",
        ["x", "xs"],
        ["y", "ys"],
        body=body,
        num_scan_inputs=1,
        scan_input_directions=[direction],
        scan_output_directions=[1 - direction],
        scan_input_axes=[axis],
        scan_output_axes=[axis],
    )
    data = [floats(2), floats(3, 2) if axis == 0 else floats(2, 3), floats(2)]
    inputs = [value_info(name, array) for name, array in zip(("x", "xs", "w"), data, strict=True)]
    outputs = [typed("y", 2), helper.make_tensor_value_info("ys", FLOAT, None)]
    model = build([node], inputs, outputs)
    require_equal(by_import(model, data), by_onnxruntime(model, data))


def branching_loop(rounds: int) -> ModelProto:
    """
    A loop of which each round takes one of two branches, by a value that is carried; the branches use values of the
    round, of the graph, and constants of their own. The outputs are the last value, and one of each round.
    """
    then = subgraph(
        [helper.make_node("Mul", ["h", "half"], ["a"]), helper.make_node("Sub", ["a", "w"], ["t"])],
        [],
        ["t"],
    )
    then.initializer.append(numpy_helper.from_array(np.float32(0.5), "half"))
    other = subgraph([helper.make_node("Add", ["scaled", "w"], ["e"])], [], ["e"])
    nodes = [
        helper.make_node("Mul", ["h", "two"], ["scaled"]),
        helper.make_node("ReduceSum", ["h"], ["total"], keepdims=0),
        helper.make_node("Less", ["two", "total"], ["large"]),
        helper.make_node("If", ["large"], ["hn"], "choice", then_branch=then, else_branch=other),
        helper.make_node("Identity", ["go"], ["on"]),
        helper.make_node("Neg", ["hn"], ["all"]),
    ]
    body = subgraph(nodes, ["i", "go", "h"], ["on", "hn", "all"])
    node = helper.make_node("Loop", ["n", "", "x"], ["y", "ys"], "rounds", body=body)
    constants = [
        numpy_helper.from_array(np.array(rounds), "n"),
        numpy_helper.from_array(np.float32(2), "two"),
    ]
    outputs = [typed("y", 2), helper.make_tensor_value_info("ys", FLOAT, None)]
    return build([node], [typed("x", 2), typed("w", 2)], outputs, constants)


@pytest.mark.parametrize("rounds", [3, 40])
def test_branches_in_loops(rounds: int):
    data = [np.abs(floats(2)), np.abs(floats(2))]
    model = branching_loop(rounds)
    expected = by_onnxruntime(model, data)
    require_equal(by_import(model, data), expected)
    inputs = dict(zip(("x", "w"), data, strict=True))
    for threads in (1, 2):
        found = xrelay.compile(model, threads=threads, cache=False).run(inputs)
        require_equal(list(found.values()), expected)
    assert str(import_model(model)).count("scf.for") == (rounds > 3)


def test_a_loop_whose_rounds_are_an_input():
    """Adds nothing in its rounds, so that their number may be computed; a condition ends it before."""
    nodes = [
        helper.make_node("Add", ["h", "w"], ["hn"]),
        helper.make_node("ReduceMax", ["hn"], ["largest"], keepdims=0),
        helper.make_node("Less", ["largest", "limit"], ["on"]),
    ]
    body = subgraph(nodes, ["i", "go", "h"], ["on", "hn"])
    node = helper.make_node("Loop", ["n", "first", "x"], ["y"], body=body)
    inputs = [
        *(typed("x", 2), typed("w", 2), typed("limit")),
        *(typed("n", dtype=TensorProto.INT64), typed("first", dtype=TensorProto.BOOL)),
    ]
    model = build([node], inputs, [typed("y", 2)])
    compiled = xrelay.compile(model, cache=False)
    for rounds, first, limit in (
        (0, True, 9),
        (3, True, 9),
        (50, True, 9),
        (50, False, 9),
        (-1, True, 9),
    ):
        data = [np.zeros(2, np.float32), np.ones(2, np.float32), np.array(limit, np.float32)]
        data += [np.array(rounds), np.array(first)]
        expected = by_onnxruntime(model, data)
        require_equal(by_import(model, data), expected)
        names = [value.name for value in inputs]
        found = compiled.run(dict(zip(names, data, strict=True)))
        require_equal(list(found.values()), expected)


@pytest.mark.parametrize("rounds", [3, 200])
@pytest.mark.parametrize("goes_on", [True, False])
def test_loops_whose_condition_is_a_constant(rounds: int, goes_on: bool):
    """A constant false ends a loop after its first round."""
    value = numpy_helper.from_array(np.array(goes_on))
    nodes = [
        helper.make_node("Add", ["h", "w"], ["hn"]),
        helper.make_node("Constant", [], ["still"], value=value),
        helper.make_node("Identity", ["still"], ["on"]),
    ]
    node = helper.make_node(
        "Loop", ["n", "", "x"], ["y"], body=subgraph(nodes, ["i", "go", "h"], ["on", "hn"])
    )
    constants = [numpy_helper.from_array(np.array(rounds), "n")]
    model = build([node], [typed("x", 2), typed("w", 2)], [typed("y", 2)], constants)
    data = [floats(2), np.ones(2, np.float32)]
    require_equal(by_import(model, data), by_onnxruntime(model, data))


def test_branches_have_as_many_outputs():
    model = branching(None, helper.make_node("Neg", ["x"], ["e"]))
    (then,) = [each.g for each in model.graph.node[1].attribute if each.name == "then_branch"]
    then.output.append(typed("t", 2))
    with pytest.raises(OnnxImportError, match="its branches have 2 and 1 outputs"):
        import_model(model)


def test_loops_that_cannot_stay_loops():
    """Results that grow, and as many as the data say."""
    body = subgraph(
        [
            helper.make_node("Concat", ["h", "h"], ["hn"], axis=0),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        ["i", "go", "h"],
        ["on", "hn"],
    )
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    inputs = [typed("x", 2), typed("n", dtype=TensorProto.INT64)]
    message = r"a round makes tensor<4xf32> of its carried value 0, which is tensor<2xf32> before"
    with pytest.raises(OnnxImportError, match=message):
        import_model(build([node], inputs, [untyped("y")]))
    model = branching_loop(3)
    del model.graph.initializer[0]
    model.graph.input.append(typed("n", dtype=TensorProto.INT64))
    with pytest.raises(OnnxImportError, match="the shape of what rounds add depends on it"):
        import_model(model)


def test_names_of_bodies_hide_no_names_around():
    """The name h of the body is another one than that of the graph."""
    model = looping(3)
    model.graph.node.append(helper.make_node("Neg", ["x"], ["h"]))
    model.graph.output.append(typed("h", 2))
    data = [floats(2), floats(2)]
    found = by_import(model, data)
    require_equal(found[:2], by_import(looping(3), data))
    require_equal(found[2:], [-data[0]])
