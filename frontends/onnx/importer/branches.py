"""Models in which something is known: the nodes of a branch in the place of the If that takes it, constants in that of inputs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from xrelay.frontends.onnx.importer.functions import graph_attribute, graph_attributes
from xrelay.frontends.onnx.messages import names
from xrelay.runtime.signature import InputValue


def with_branches(model: ModelProto, taken: Mapping[int, bool]) -> ModelProto:
    """A copy of a model without some of its If nodes, by their places in the graph: of each it has one branch."""
    used = set(names(model))
    made = ModelProto()
    made.CopyFrom(model)
    del made.graph.node[:]
    for number, node in enumerate(model.graph.node):
        if number in taken:
            which = "then_branch" if taken[number] else "else_branch"
            insert(
                made.graph, graph_attribute(node, which), node.output, partial(unused, used=used)
            )
        else:
            made.graph.node.append(node)
    return made


def with_constants(model: ModelProto, values: Mapping[str, InputValue]) -> ModelProto:
    """A copy of a model with constants in the place of some inputs."""
    made = ModelProto()
    made.CopyFrom(model)
    del made.graph.input[:]
    for each in model.graph.input:
        given = values.get(each.name)
        if given is None:
            made.graph.input.append(each)
        else:
            made.graph.initializer.append(given_tensor(each, given))
    return made


def given_tensor(value: ValueInfoProto, given: InputValue) -> TensorProto:
    """An input whose elements are given."""
    code = value.type.tensor_type.elem_type
    return helper.make_tensor(value.name, code, given.shape, given.content, raw=True)


def insert(
    graph: GraphProto,
    branch: GraphProto,
    results: Sequence[str],
    unused: Callable[[str], str],
) -> dict[str, str]:
    """
    Adds the nodes of a branch, or of another body, to a graph, under names that nothing has; its outputs are `results`.
    Returns the new names of the values that are its own.
    """
    new = {name: unused(name) for name in _defined(branch)}
    computed = {name for node in branch.node for name in node.output}
    # Graphs within the branch may have values of their own under the names of the results.
    taken = {name for node in branch.node for name in _defined_within(node)}
    for output, name in zip(branch.output, results, strict=False):
        is_free = name not in taken and new.get(output.name) not in results
        if name and is_free and output.name in computed:
            new[output.name] = name
    for tensor in branch.initializer:
        graph.initializer.append(tensor)
        graph.initializer[-1].name = new[tensor.name]
    for sparse in branch.sparse_initializer:
        graph.sparse_initializer.append(sparse)
        graph.sparse_initializer[-1].values.name = new[sparse.values.name]
    for node in branch.node:
        graph.node.append(node)
        _rename(graph.node[-1], new)
    for output, name in zip(branch.output, results, strict=False):
        source = new.get(output.name, output.name)
        if name and source != name:
            graph.node.append(helper.make_node("Identity", [source], [name]))
    return new


def _defined(graph: GraphProto) -> Iterator[str]:
    """The names that a graph gives to values of its own."""
    yield from (value.name for value in graph.input)
    yield from (tensor.name for tensor in graph.initializer)
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    yield from (name for node in graph.node for name in node.output if name)


def _defined_within(node: NodeProto) -> Iterator[str]:
    """The names that graphs in a node give to values of their own."""
    for attribute in graph_attributes(node):
        yield from _defined(attribute.g)
        for inner in attribute.g.node:
            yield from _defined_within(inner)


def unused(name: str, used: set[str | bytes]) -> str:
    """A name that is not in use yet, and is from now on."""
    while name in used:
        name += "_"
    used.add(name)
    return name


def _rename(node: NodeProto, new: Mapping[str, str]) -> None:
    """Gives values that a node, or a graph in it, uses their new names."""
    for places in (node.input, node.output):
        places[:] = [new.get(name, name) for name in places]
    for attribute in graph_attributes(node):
        graph = attribute.g
        own = set(_defined(graph))
        seen = {name: other for name, other in new.items() if name not in own}
        for inner in graph.node:
            _rename(inner, seen)
        for output in graph.output:
            output.name = seen.get(output.name, output.name)
