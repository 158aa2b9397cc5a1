"""
Random ONNX graphs, against onnxruntime, the interpreter and compiled code.

Three comparisons, of which each has what it needs to have no false alarms:

1. every node in the interpreter with the same node in an outside engine, which gets the same operands;
2. compiled code, which fuses the whole graph, with the interpreter;
3. compiled code on two threads with that on one, bit by bit.

LLVM makes fast code of a quarter of the graphs, which are compiled for one thread alone, too. Of the others, whose
kernels are ours in the same way, it makes plain code, in a third of the time.

In 1 and 2, what roundings can do is found by `roundings.py`. What is known to differ, and documented, is
listed in `exceptions.py`.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import numpy as np
from guard_pages import guarded_run
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, defs, helper, numpy_helper, printer
from raw_calls import RawCode
from xdsl.dialects.builtin import ModuleOp

from tests.fuzz.fuzzer import Difference, Fuzzer, Reductions
from tests.fuzz.onnx.exceptions import documented_elements, is_documented, is_documented_refusal
from tests.fuzz.onnx.growth import Growth, Tensor
from tests.fuzz.onnx.oracle import IR_VERSION, NoOracle, node_model, run_node
from tests.fuzz.onnx.templates import TEMPLATES
from tests.fuzz.onnx.values import Array
from tests.fuzz.roundings import CLOSE, Noise, noisy_results, unexplained
from xrelay.compiler import compile_code
from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.interpreters.relay import interpret
from xrelay.options import CompileOptions
from xrelay.runtime.code import ModelCode
from xrelay.runtime.model import Model

NEWEST = 28
OLDEST = 9
DATA = "data:"
"""What the keys of the metadata begin with that hold the data of an input."""

USUAL = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Relu",
    "Sigmoid",
    "Tanh",
    "Exp",
    "Sqrt",
    "Clip",
    "Neg",
    "Abs",
    "Transpose",
    "Reshape",
    "Slice",
    "Concat",
    "Split",
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "Softmax",
    "MatMul",
    "Gemm",
    "Conv",
    "Cast",
    "Where",
    "Max",
    "Min",
    "Pad",
    "Unsqueeze",
    "Squeeze",
    "Gather",
    "Expand",
    "LayerNormalization",
    "BatchNormalization",
    "Pow",
    "Identity",
]
"""What most models consist of, and most rules of fusion are about."""


class OnnxGraphFuzzer(Fuzzer):
    """Graphs of all operators that are imported."""

    name = "onnx-graphs"
    suffix = ".onnx"
    refusals = ()
    seconds = 60
    megabytes = 4096
    quick = 8

    def generate(self, random: Random) -> bytes:
        """A model with the data of its inputs."""
        return random_model(random).SerializeToString()

    def check(self, payload: bytes, folder: Path) -> None:
        """Raises Difference when results differ, or the model is refused without a reason."""
        model = ModelProto.FromString(payload)
        feeds = data_of(model)
        try:
            check_nodes(model, feeds)
            check_compiled(model, feeds)
        except OnnxImportError as error:
            if not is_documented_refusal(str(error)):
                raise Difference(
                    f"refused: {_reason(error)}\n{error}\n{described(model)}"
                ) from error

    def reductions(self, payload: bytes) -> Reductions:
        """Fewer outputs, then nodes whose results become inputs."""
        model = yield from with_one_output(ModelProto.FromString(payload))
        model = yield from with_cut_nodes(model)
        return model.SerializeToString()


def _reason(error: Exception) -> str:
    """The last part of a message, without the names of nodes."""
    return str(error).splitlines()[-1].rpartition("): ")[2]


# -- making graphs --------------------------------------------------------------------------------


def random_model(random: Random) -> ModelProto:
    """A graph of 5 to 60 nodes, most of them small, of an operator set that has a chosen operator."""
    focus = random.choice(list(TEMPLATES))
    opset = random.choice(operator_sets(focus))
    size = random.randint(5, 12) if random.random() < 0.85 else random.randint(13, 60)
    growth = Growth(random, opset)
    growth.start(random.randint(1, 3))
    for attempt in range(5 * size):
        kind = random.random()
        op = focus if attempt == size // 2 or kind < 0.03 else ""
        op = op or random.choice(USUAL if kind < 0.45 else list(TEMPLATES))
        growth.try_template(TEMPLATES[op], op)
        if len(growth.nodes) >= size:
            break
    return model_of(growth)


def operator_sets(op: str) -> list[int]:
    """The operator sets that have an operator. The newest ones have few kernels elsewhere."""
    usual = [13, 14, 16, 17, 17, 18, 18, 19, 20, 20, 21, 21, 22, 23, 24]
    sets = [opset for opset in (*usual, OLDEST, 11, 25, 26, 27, NEWEST) if _has(op, opset)]
    return sets or usual


def _has(op: str, opset: int) -> bool:
    try:
        return not defs.get_schema(op, opset).deprecated
    except defs.SchemaError:
        return False


def model_of(growth: Growth) -> ModelProto:
    """The graph as a model. What nothing uses is an output, and some of the rest."""
    used = {name for node in growth.nodes for name in node.input} | growth.used
    known = {tensor.name: tensor for tensor in growth.tensors}
    made = [known[name] for node in growth.nodes for name in node.output if name in known]
    shown = [each for each in made if each.name not in used or growth.chance(0.05)]
    graph = helper.make_graph(
        growth.nodes,
        "graph",
        [value_info(tensor) for tensor in growth.inputs],
        [value_info(tensor) for tensor in shown or made[-1:]],
        [numpy_helper.from_array(tensor.array, tensor.name) for tensor in growth.constants],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", growth.opset)], ir_version=IR_VERSION
    )
    for tensor in growth.inputs:
        set_data(model, tensor.name, tensor.array)
    return model


def value_info(tensor: Tensor) -> Any:
    """The type of a tensor."""
    code = helper.np_dtype_to_tensor_dtype(tensor.dtype)
    return helper.make_tensor_value_info(tensor.name, code, tensor.shape)


def set_data(model: ModelProto, name: str, array: Array) -> None:
    """Keeps the data of an input in the model's metadata: a finding is one file."""
    text = base64.b64encode(numpy_helper.from_array(array, name).SerializeToString()).decode()
    model.metadata_props.add(key=DATA + name, value=text)


def data_of(model: ModelProto) -> dict[str, Array]:
    """The data of the inputs, in their order."""
    known = {
        each.key.removeprefix(DATA): TensorProto.FromString(base64.b64decode(each.value))
        for each in model.metadata_props
        if each.key.startswith(DATA)
    }
    return {value.name: numpy_helper.to_array(known[value.name]) for value in model.graph.input}


# -- comparing ------------------------------------------------------------------------------------


def all_values(model: ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The values of all tensors by the interpreter, inputs and constants among them."""
    exposed = ModelProto()
    exposed.CopyFrom(model)
    names = [name for node in model.graph.node for name in node.output if name]
    del exposed.graph.output[:]
    exposed.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    module = import_model(exposed)
    module.verify()
    with np.errstate(all="ignore"):
        results = interpret(module, list(feeds.values()))
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    return {**constants, **feeds, **dict(zip(names, results, strict=True))}


def constants_of(model: ModelProto) -> set[str]:
    """The names of what does not depend on inputs."""
    constants = {each.name for each in model.graph.initializer}
    for node in model.graph.node:
        is_open = any(attribute.HasField("g") for attribute in node.attribute)
        if not is_open and all(not name or name in constants for name in node.input):
            constants.update(node.output)
    return constants


def check_nodes(model: ModelProto, feeds: Mapping[str, Array]) -> None:
    """Compares each node in the interpreter with an outside engine. Raises Difference."""
    values = all_values(model, feeds)
    constants = constants_of(model)
    opset = model.opset_import[0].version
    for node in model.graph.node:
        operands = {name: values[name] for name in operand_names(node, values)}
        if any(array.dtype.name == "bfloat16" for array in operands.values()):
            continue
        try:
            expected = run_node(node, operands, opset, constants)
        except NoOracle:
            continue
        names = [name for name in node.output if name]
        found = [values[name] for name in names]
        check_types(node, found, expected)
        if is_documented(node, operands, found, expected):
            continue
        run = partial(_noisy_node, node, operands, opset, constants)
        # Attributes, and constants of other engines, have single precision.
        single_precision = any(array.dtype == np.float64 for array in expected)
        units = 2.0**29 if single_precision else CLOSE
        for number, differs in unexplained(expected, found, run, units):
            mask = differs & ~documented_elements(node, operands)
            if mask.any():
                what = f"{node.op_type}: the interpreter differs from the oracle"
                raise difference(
                    what, node, operands, number, mask, found[number], expected[number]
                )


def operand_names(node: NodeProto, values: Mapping[str, Array]) -> list[str]:
    """What a node and the graphs in it use, each once."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            names.extend(name for each in attribute.g.node for name in each.input)
    return [name for name in dict.fromkeys(names) if name in values]


def noisy_model(
    node: NodeProto, operands: Mapping[str, Array], opset: int, constants: set[str]
) -> tuple[ModuleOp, list[Array]]:
    """
    A node as a program, and the data of its inputs. Numbers with fractions are inputs, where the
    importer does not need to know them: what it computes of constants has roundings, too.
    """
    fixed = {name for name in constants if name in operands and operands[name].dtype.kind != "f"}
    try:
        module = import_model(node_model(node, operands, opset, fixed))
    except OnnxImportError:
        fixed = {name for name in constants if name in operands}
        module = import_model(node_model(node, operands, opset, fixed))
    return module, [array for name, array in operands.items() if name not in fixed]


def _noisy_node(
    node: NodeProto, operands: Mapping[str, Array], opset: int, constants: set[str], noise: Noise
) -> Sequence[Array]:
    return noisy_results(*noisy_model(node, operands, opset, constants), noise)


def check_types(node: NodeProto, found: Sequence[Array], expected: Sequence[Array]) -> None:
    """Raises Difference unless shapes and dtypes are the same."""
    for number, (array, wanted) in enumerate(zip(found, expected, strict=True)):
        if (array.shape, array.dtype) != (wanted.shape, wanted.dtype):
            raise Difference(
                f"{node.op_type}: the type differs from the oracle's\nresult {number} is "
                f"{array.dtype}{array.shape}, expected {wanted.dtype}{wanted.shape}\n"
                f"{printer.to_text(node)}"
            )


def check_compiled(model: ModelProto, feeds: Mapping[str, Array]) -> None:
    """
    Compares compiled code with the interpreter, and threads with each other, between pages that fault on access.
    Raises Difference.
    """
    module = import_model(model)
    given = list(feeds.values())
    with np.errstate(all="ignore"):
        expected = interpret(module, given)
    is_fast = crc32(model.SerializeToString(deterministic=True)) % 4 == 0
    # One code serves teams of both sizes; what is made for one thread alone is another code.
    code = RawCode(compiled(module, 2), optimized=is_fast)
    arrays = [feeds[spec.name] for spec in code.signature.inputs]
    runs = [guarded_run(code, arrays, team, at_end=team == 2) for team in (2, 1)]
    if is_fast:
        alone = Model.from_code(compiled(module, 1))
        runs.append(list(alone.run(dict(feeds)).values()))
    for number, (two, *others) in enumerate(zip(*runs, strict=True)):
        if any(bits(other) != bits(two) for other in others):
            op = producer(model, number)
            raise Difference(f"{op}: two threads differ from one\n{described(model)}")
    found = runs[0]
    run = partial(noisy_results, module, given)
    for number, mask in unexplained(found, expected, run):
        op = producer(model, number)
        what = f"{op}: compiled code differs from the interpreter"
        raise Difference(
            f"{what}\n{elements(mask, found[number], expected[number])}\n{described(model)}"
        )


def compiled(module: ModuleOp, threads: int) -> ModelCode:
    """The code of a program, which stays as it is."""
    return compile_code(module.clone(), "model", CompileOptions(threads))


def bits(array: Array) -> bytes:
    """The elements of an array. Which of the NaNs a result is, docs/numerics.md leaves open."""
    if array.dtype.kind != "f":
        return array.tobytes()
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array).tobytes()


def producer(model: ModelProto, number: int) -> str:
    """The operator that computes an output."""
    name = model.graph.output[number].name
    return next((node.op_type for node in model.graph.node if name in node.output), "input")


def elements(mask: Array, found: Array, expected: Array) -> str:
    """What differs, with the first few elements."""
    lines = [
        f"{int(mask.sum())} of {mask.size} elements of {found.dtype}{list(found.shape)} differ"
    ]
    for place in np.argwhere(mask)[:4].tolist():
        where = tuple(place)
        lines.append(f"  at {place}: {found[where]!r}, expected {expected[where]!r}")
    return "\n".join(lines)


def difference(
    what: str,
    node: NodeProto,
    operands: Mapping[str, Array],
    number: int,
    mask: Array,
    found: Array,
    expected: Array,
) -> Difference:
    """A Difference that shows a node with its operands."""
    lines = [what, f"result {number}: {elements(mask, found, expected)}"]
    lines.append(printer.to_text(node)[:2000])
    with np.printoptions(threshold=40):
        lines.extend(f"{n}: {a.dtype}{list(a.shape)} {a}" for n, a in operands.items())
    return Difference("\n".join(lines))


def described(model: ModelProto) -> str:
    """The nodes of a model."""
    graph = GraphProto()
    graph.CopyFrom(model.graph)
    del graph.initializer[:]
    return printer.to_text(graph)[:4000]


# -- making findings smaller ----------------------------------------------------------------------


def pruned(model: ModelProto) -> ModelProto:
    """A model without the nodes, inputs and constants that its outputs do not need."""
    result = ModelProto()
    result.CopyFrom(model)
    needed = {value.name for value in model.graph.output}
    nodes: list[NodeProto] = []
    for node in reversed(model.graph.node):
        if needed.intersection(node.output):
            nodes.insert(0, node)
            needed.update(node.input)
            for attribute in node.attribute:
                needed.update(name for each in attribute.g.node for name in each.input)
    graph = result.graph
    _keep(graph.node, nodes)
    _keep(graph.input, [each for each in model.graph.input if each.name in needed])
    _keep(graph.initializer, [each for each in model.graph.initializer if each.name in needed])
    data = [each for each in model.metadata_props if each.key.removeprefix(DATA) in needed]
    _keep(result.metadata_props, data)
    return result


def _keep(field: Any, elements: Sequence[Any]) -> None:
    del field[:]
    field.extend(elements)


def _parts(field: Sequence[Any]) -> Iterator[list[Any]]:
    """All but one."""
    for number in range(len(field)):
        yield [each for i, each in enumerate(field) if i != number]


def with_one_output(model: ModelProto) -> Any:
    """The model with fewer outputs: one of them, or all but one."""
    outputs = list(model.graph.output)
    for output in outputs:
        smaller = ModelProto()
        smaller.CopyFrom(model)
        _keep(smaller.graph.output, [output])
        smaller = pruned(smaller)
        if (yield smaller.SerializeToString()):
            return smaller
    number = 0
    while number < len(model.graph.output) > 1:
        smaller = ModelProto()
        smaller.CopyFrom(model)
        del smaller.graph.output[number]
        smaller = pruned(smaller)
        if (yield smaller.SerializeToString()):
            model = smaller
        else:
            number += 1
    return model


def with_cut_nodes(model: ModelProto) -> Any:
    """The model in which results of nodes are inputs, with the values that the interpreter gives."""
    try:
        values = all_values(model, data_of(model))
    except OnnxImportError:
        # Without values only nodes that nothing needs can go.
        return model
    cut = True
    while cut:
        cut = False
        for node in list(model.graph.node):
            smaller = without_node(model, node, values)
            if smaller is not None and (yield smaller.SerializeToString()):
                model, cut = smaller, True
    return model


def without_node(
    model: ModelProto, node: NodeProto, values: Mapping[str, Array]
) -> ModelProto | None:
    """The model in which the results of a node are inputs; None when it has no other output."""
    if node not in model.graph.node:
        return None
    outputs = [each for each in model.graph.output if each.name not in node.output]
    if not outputs:
        return None
    smaller = ModelProto()
    smaller.CopyFrom(model)
    _keep(smaller.graph.output, outputs)
    _keep(smaller.graph.node, [each for each in model.graph.node if each != node])
    for name in node.output:
        if name:
            smaller.graph.input.append(value_info(Tensor(name, values[name])))
            set_data(smaller, name, values[name])
    return pruned(smaller)
