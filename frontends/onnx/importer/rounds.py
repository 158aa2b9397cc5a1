"""Loops whose rounds are runs of a model: the nodes of one round, under names that nothing else in the model has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

from xrelay.frontends.onnx.importer.bounded import Kind, Values
from xrelay.frontends.onnx.importer.branches import insert
from xrelay.frontends.onnx.importer.functions import graph_attribute, used_names
from xrelay.frontends.onnx.tensors import loaded_tensor
from xrelay.runtime.signature import Dimension
from xrelay.runtime.staged import Added, Carried, Join, Loop, Sliced

T = TypeVar("T")
MADE_OF_TENSORS = ("SequenceEmpty", "SequenceConstruct", "SequenceInsert")


@dataclass(frozen=True)
class Round:
    """One round of a loop."""

    nodes: Sequence[NodeProto]
    outputs: Sequence[ValueInfoProto]
    kinds: dict[str, Kind]
    """What is known of the inputs of a round, and of what the loop computes."""
    unranked: dict[str, int]
    """The codes of the element types of what else it computes, whose rank is not stated."""
    loop: Loop


@dataclass(frozen=True)
class ListedLoop:
    """A loop without the lists of tensors that it carries."""

    node: NodeProto
    """Its rounds add the tensors instead, for each node that joins a list once; the results are those of these nodes."""
    joins: dict[str, Join]
    """How each of these results is joined."""
    joining: list[NodeProto]
    lists: Sequence[str]
    """The lists that it gave."""

    @property
    def states_types(self) -> bool:
        """Whether the types of elements are known of all that rounds add."""
        count = len(self.node.input)
        # A body of a Loop gives the condition first, and of M and the condition that the loop takes nothing.
        first = max(count - 1, 1)
        if self.node.op_type == "Scan":
            first = count - _stated(self.node, "num_scan_inputs", 0)
        added = graph_attribute(self.node, "body").output[first:]
        return all(each.type.tensor_type.elem_type for each in added)

    @property
    def firsts(self) -> list[str]:
        """The tensors that lists begin with."""
        return [name for each in self.joins.values() for name in each.before]


def _parts_of(name: str, producers: Mapping[str, NodeProto]) -> list[str] | None:
    """The tensors of a list that is made of some that have names; None for what else a sequence comes from."""
    parts: list[str] = []
    while (node := producers.get(name)) is not None:
        if node.op_type == "SequenceEmpty":
            return parts
        if node.op_type == "SequenceConstruct":
            return [*node.input, *parts]
        if node.op_type != "SequenceInsert" or not _appends(node, node.input[0]):
            return None
        name = node.input[0]
        parts.insert(0, node.input[1])
    return None


def without_lists(loop: NodeProto, nodes: Sequence[NodeProto]) -> ListedLoop | None:
    """
    A Loop among some nodes of a graph, without lists, to each of which every round adds a tensor by SequenceInsert, and which nothing
    but ConcatFromSequence takes; None where it does something else with a sequence.
    """
    producers = {each.output[0]: each for each in nodes if each.op_type in MADE_OF_TENSORS}
    lists = [number for number, name in enumerate(loop.input) if name in producers]
    if loop.op_type != "Loop" or not lists:
        return ListedLoop(loop, {}, [], ())
    made = NodeProto()
    made.CopyFrom(loop)
    body = graph_attribute(made, "body")
    joins: dict[str, Join] = {}
    joining: list[NodeProto] = []
    added: list[tuple[str, ValueInfoProto]] = []
    for number in lists:
        insert = appending_node(body, number)
        first = _parts_of(loop.input[number], producers)
        if insert is None or first is None:
            return None
        body.node.remove(insert)
        part = next((each for each in body.value_info if each.name == insert.input[1]), None)
        if part is None:  # The list states what its tensors are.
            stated = body.input[number].type.sequence_type.elem_type
            part = ValueInfoProto(name=insert.input[1], type=stated)
        result = loop.output[number - 2] if number - 2 < len(loop.output) else ""
        for user in (each for each in nodes if result and result in used_names(each)):
            if user.op_type != "ConcatFromSequence":
                return None
            joins[user.output[0]] = Join(
                _stated(user, "axis", 0),
                before=tuple(first),
                concatenates=not _stated(user, "new_axis", 0),
                is_list=True,
            )
            joining.append(user)
            added.append((user.output[0], part))
    outputs = list(made.output) + [""] * (len(body.output) - 1 - len(made.output))
    given = [outputs[number - 2] for number in lists]
    for number in reversed(lists):
        del made.input[number], body.input[number], body.output[number - 1], outputs[number - 2]
    made.output[:] = [*outputs, *(name for name, _ in added)]
    body.output.extend(part for _, part in added)
    return ListedLoop(made, joins, joining, given)


def appending_node(body: GraphProto, number: int) -> NodeProto | None:
    """
    What adds a tensor to the end of a sequence that the body of a Loop carries, as its input of a number, where nothing else has
    to do with the sequence in the body; None for another sequence.
    """
    if number >= len(body.input) or number > len(body.output):
        return None
    before, after = body.input[number].name, body.output[number - 1].name
    inserts = [each for each in body.node if after in each.output]
    users = [each for each in body.node if {before, after}.intersection(used_names(each))]
    is_alone = len(inserts) == 1 and users == inserts and _appends(inserts[0], before)
    return inserts[0] if is_alone else None


def _appends(node: NodeProto, sequence: str) -> bool:
    """Whether a node adds a tensor to the end of a sequence."""
    takes = [name for name in node.input if name]
    return node.op_type == "SequenceInsert" and len(takes) == 2 and takes[0] == sequence


def _stated(node: NodeProto, name: str, default: T) -> T:
    """An attribute of a node, of the type of its default."""
    given = (helper.get_attribute_value(each) for each in node.attribute if each.name == name)
    return cast(T, next(given, default))


def round_of(listed: ListedLoop, values: Values, base_dir: Path | None) -> Round:
    """One round of a Loop or Scan that the importer knows to be right, and that states types."""
    node, body = listed.node, graph_attribute(listed.node, "body")
    graph = GraphProto()
    results = [values.unused(output.name) for output in body.output]
    new = insert(graph, body, results, values.unused)
    inputs = [new[each.name] for each in body.input]
    given, named = list(node.input), list(node.output) + [""] * len(results)
    count = going = goes_on = limit = condition = ""
    scanned: list[str] = []
    if node.op_type == "Loop":
        limit, condition = [*given, "", ""][:2]
        (count, going), (goes_on, *results) = inputs[:2], results
        given, inputs = given[2:], inputs[2:]
        stated = body.output[1:]
    else:
        states = len(given) - _stated(node, "num_scan_inputs", 0)
        given, scanned = given[:states], given[states:]
        stated = body.output
    states = len(given)
    carried = tuple(map(Carried, given, inputs, results, named))
    axes, directions = (
        _stated(node, f"scan_input_{each}", [0] * len(scanned)) for each in ("axes", "directions")
    )
    sliced = tuple(map(Sliced, scanned, inputs[states:], axes, map(bool, directions)))
    axes, directions = (
        _stated(node, f"scan_output_{each}", [0] * (len(results) - states))
        for each in ("axes", "directions")
    )
    added = tuple(
        Added(name, result, listed.joins.get(result) or Join(axis, bool(backwards)))
        for name, result, axis, backwards in zip(
            results[states:], named[states:], axes, directions, strict=False
        )
    )
    kinds: dict[str, Kind] = {}
    unranked: dict[str, int] = {}
    if count:
        kinds |= {count: (TensorProto.INT64, []), going: (TensorProto.BOOL, [])}
    scope = values.unused(body.name.replace(".", "_"))
    first = len(body.input) - len(inputs)
    for each, before, after in zip(carried, body.input[first:], stated, strict=False):
        code, dims = values.kind(each.given)
        kinds[each.result] = code, [""] * len(dims)
        kinds[each.before] = code, _stated_dims(before, after, dims, scope)
    for each in sliced:
        code, dims = values.kind(each.given)
        kinds[each.name] = code, [""] * (len(dims) - 1)
    for each, output in zip(added, stated[states:], strict=True):
        type_ = output.type.tensor_type
        if not each.result:
            continue
        if type_.HasField("shape"):
            rank = len(type_.shape.dim) + (not each.join.concatenates)
            kinds[each.result] = type_.elem_type, [""] * rank
        else:
            unranked[each.result] = type_.elem_type
    kinds.pop("", None)
    if goes_on:
        results = [goes_on, *results]
    return Round(
        [
            *(
                helper.make_node("Constant", [], [each.name], value=loaded_tensor(each, base_dir))
                for each in graph.initializer
            ),
            *graph.node,
        ],
        [_port(*each) for each in zip(body.output, results, strict=True)],
        kinds,
        unranked,
        Loop(limit, condition, count, going, goes_on, carried, sliced, added),
    )


def _stated_dims(
    before: ValueInfoProto, after: ValueInfoProto, given: Sequence[Dimension], scope: str
) -> list[Dimension]:
    """
    The dimensions that a round takes of what is carried: the lengths and names that are stated of both what it takes and what it
    gives. Names are those of a scope, the body.
    """
    takes, gives = (list(each.type.tensor_type.shape.dim) for each in (before, after))
    if not len(takes) == len(gives) == len(given):
        return [""] * len(given)
    found: list[Dimension] = []
    for dim, next_dim, known in zip(takes, gives, given, strict=True):
        if dim != next_dim or dim.dim_value and known not in ("", dim.dim_value):
            found.append("")
        elif dim.dim_value:
            found.append(dim.dim_value)
        else:
            found.append(f"{scope}.{dim.dim_param}" if dim.dim_param else "")
    return found


def _port(output: ValueInfoProto, name: str) -> ValueInfoProto:
    """An output of a body under another name."""
    made = ValueInfoProto()
    made.CopyFrom(output)
    made.name = name
    return made
