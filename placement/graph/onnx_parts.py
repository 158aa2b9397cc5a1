"""Sub-graphs that are made of whole nodes of the ONNX model that a graph comes from."""

from xdsl.dialects.builtin import TupleType
from xdsl.ir import BlockArgument, OpResult, SSAValue

from xrelay.backends.onnx_original import Border, OnnxPart
from xrelay.backends.regions import leaf_tensors
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.extraction import Extraction


def onnx_part(graph: Graph, found: Extraction) -> OnnxPart | None:
    """
    What an extracted sub-graph is in the ONNX model, with the parameters and results of its function in order; None
    when it has no such form: the graph comes from elsewhere, or a border lies within what a node became.
    """
    origin = graph.origin
    if origin is None:
        return None
    inputs: list[Border] = []
    for argument in found.arguments:
        borders = _borders(graph, argument.value)
        inputs += borders if argument.field is None else borders[argument.field :][:1]
    outputs = [each for value in found.results for each in _borders(graph, value)]
    if not all(each.name for each in (*inputs, *outputs)):
        return None
    return origin.original.between(inputs, outputs, origin.known)


def _borders(graph: Graph, value: SSAValue) -> list[Border]:
    """The tensors of a value; those that the model does not have are without a name."""
    assert graph.origin is not None
    tensors = list(leaf_tensors(value.type))
    if isinstance(value.type, TupleType):
        names = [_field_name(graph, value, index) for index in range(len(value.type.types))]
        # Fields that are tuples are nothing that ONNX has.
        names = names if len(names) == len(tensors) else [""] * len(tensors)
    else:
        names = [name_of(graph, value)]
    return [Border(name, tensor) for name, tensor in zip(names, tensors, strict=True)]


def name_of(graph: Graph, value: SSAValue) -> str:
    """What a value is called in the model; nothing when it is no value of the model."""
    if graph.origin is None:
        return ""
    if isinstance(value, OpResult):
        place = graph.numbers.get(value.op, -1), value.index
    else:
        assert isinstance(value, BlockArgument)
        place = graph.numbers.get(value, -1), 0
    return graph.origin.names.get(place, "")


def _field_name(graph: Graph, value: SSAValue, index: int) -> str:
    """What a field of a tuple is called: what was put into it, or is taken out of it."""
    if isinstance(value.owner, TupleOp):
        return name_of(graph, value.owner.fields[index])
    taken = (use.operation for use in value.uses)
    names = (
        name_of(graph, user.result)
        for user in taken
        if isinstance(user, TupleGetItemOp) and user.index.value.data == index
    )
    return next(filter(None, names), "")
