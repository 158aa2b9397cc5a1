"""
Branches and loops: an `scf.if`, `scf.for` or `scf.while`, or the operators themselves, where it is known while
importing which branch is taken, or where rounds are few.
"""

from collections.abc import Callable, Sequence
from functools import partial

from onnx import GraphProto
from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import element_count, is_tensor_type
from xrelay.frontends.onnx.errors import (
    BodiesTooDeep,
    DependsOnData,
    OnnxImportError,
    ProgramTooLarge,
    UnknownValue,
    UnsupportedNode,
)
from xrelay.frontends.onnx.importer.core.counting import counted_rounds
from xrelay.frontends.onnx.importer.core.loop_inputs import goes_on, scan_parts
from xrelay.frontends.onnx.importer.core.looping import (
    counted_loop,
    counted_scan,
    number,
    tested_loop,
)
from xrelay.frontends.onnx.importer.core.rows import appending_loop
from xrelay.frontends.onnx.importer.core.unrolling import unrolled_loop, unrolled_scan
from xrelay.frontends.onnx.importer.functions import graph_attributes, used_names
from xrelay.frontends.onnx.importer.node import ConverterTable, Node

MOST_UNROLLED = 128
"""Nodes that a loop is unrolled into at most, unless it cannot stay a loop."""

Way = Callable[[Node], Sequence[SSAValue]]
"""A way to import a node."""


def branch(node: Node) -> Sequence[SSAValue]:
    """If: one branch is imported where the condition is known, and else both, as an `scf.if`."""
    graphs = node.graph("then_branch"), node.graph("else_branch")
    found = element_count(node.shape_of(node.input(0)))
    if found != 1:
        raise OnnxImportError(f"input 0 ('cond') has {found} elements, expected one")
    known = node.known_value(node.input(0))
    if known is not None:
        return node.inline_graph(graphs[0] if known.item() else graphs[1], [])
    try:
        regions, types = _regions(node, graphs)
    except (ProgramTooLarge, BodiesTooDeep):
        raise
    except (UnsupportedNode, OnnxImportError) as error:
        # Where the condition is known, one branch may do, and what makes no sense in the other one is not looked at.
        raise UnknownValue(str(error), node.input(0), takes_branch=True) from None
    condition = number(node, node.input(0), i1)
    op = scf.IfOp(condition, types[0], regions[0], regions[1])
    node.add(op)
    return op.results


def _regions(
    node: Node, graphs: Sequence[GraphProto]
) -> tuple[list[Region], list[list[Attribute]]]:
    """Both branches, and the types of their results, which are the same tensors."""
    regions: list[Region] = []
    types: list[list[Attribute]] = []
    for graph in graphs:
        block, first = Block(), node.operation_count
        results = node.inline_graph(graph, [])
        types.append([result.type for result in results])
        node.close(block, scf.YieldOp(*results), first)
        regions.append(Region(block))
    if len(types[0]) != len(types[1]):
        raise OnnxImportError(f"its branches have {len(types[0])} and {len(types[1])} outputs")
    for position, pair in enumerate(zip(*types, strict=True)):
        if pair[0] != pair[1] or not is_tensor_type(pair[0]):
            raise UnsupportedNode(
                f"output {position} is {pair[0]} in one branch and {pair[1]} in the other, and the "
                "condition is not a constant"
            )
    return regions, types


def loop(node: Node) -> Sequence[SSAValue]:
    """
    Loop: unrolled where rounds are few and known, else by counting, where its condition says no more than how many there are, or by
    testing it.
    """
    body = node.graph("body")
    adds = len(body.output) > 1 + max(node.input_count - 2, 0)
    asks = not goes_on(body, node.known_around) or (
        node.has_input(1) and node.known_value(node.input(1)) is None
    )
    tests = asks or not node.has_input(0)
    rounds = counted = counted_rounds(node) if tests and not node.unrolls else None
    limit = node.known_value(node.input(0)) if node.has_input(0) else None
    if rounds is None and limit is not None and limit.size == 1:
        rounds = limit.item()
    few = rounds is not None and not is_open(rounds) and _few(node, body, rounds)
    if any(not is_tensor_type(node.input(i).type) for i in range(2, node.input_count)):
        return _listed(node, few=few)
    way = tested_loop if tests else counted_loop
    if counted is not None:
        way = partial(counted_loop, rounds=counted)
    if few and rounds is not None:
        return first_possible(node, [_copied(unrolled_loop, rounds), way])
    # How many rows rounds add to a result must be known, which unrolling may find out.
    unrolls = asks and adds and counted is None or node.unrolls
    return first_possible(node, [unrolled_loop, way] if unrolls else [way, unrolled_loop])


def _listed(node: Node, *, few: bool) -> Sequence[SSAValue]:
    """
    Loop that carries sequences, which grow: what its rounds append are rows that they add, else it is unrolled, unless runs of
    a model of its rounds may do.
    """
    if not few and not node.unrolls:
        try:
            found = appending_loop(node, loop)
        except (UnsupportedNode, VerifyException):
            # Rounds may append other shapes, which do not go together, or be known one by one.
            found = None
        if found is not None:
            return found
    try:
        return unrolled_loop(node)
    except DependsOnData as error:
        value = node.varying(used_names(node.proto))
        known = isinstance(error, UnknownValue) and not node.is_of_graph
        if value is None or known:
            raise
        otherwise = error if isinstance(error, UnknownValue) else None
        raise UnknownValue(
            str(error), value, decides_sizes=True, takes_rounds=True, otherwise=otherwise
        ) from None


def scan(node: Node) -> Sequence[SSAValue]:
    """Scan over axes of known length."""
    parts = scan_parts(node)
    if not is_open(parts.rounds) and _few(node, parts.body, parts.rounds):
        return first_possible(node, [_copied(unrolled_scan, parts.rounds), counted_scan])
    return first_possible(
        node, [unrolled_scan, counted_scan] if node.unrolls else [counted_scan, unrolled_scan]
    )


def _few(node: Node, body: GraphProto, rounds: int) -> bool:
    """Whether all rounds of a loop, each as often as small loops around it are unrolled, come to few nodes."""
    return rounds * node.copies * _nodes_in(body) <= MOST_UNROLLED


def _nodes_in(body: GraphProto) -> int:
    """The nodes of a body, with those of the bodies in it."""
    return sum(1 + sum(_nodes_in(each.g) for each in graph_attributes(n)) for n in body.node)


def _copied(way: Way, rounds: int) -> Way:
    """A way that imports the body once for each round."""

    def unrolled(node: Node) -> Sequence[SSAValue]:
        with node.copied(rounds):
            return way(node)

    return unrolled


def first_possible(node: Node, ways: Sequence[Way]) -> Sequence[SSAValue]:
    """
    The outputs by the first way that takes the node.

    Raises UnknownValue where what is not known in time is all that is in the way: an operand, or what a round makes.
    """
    errors: list[UnsupportedNode] = []
    for way in ways:
        try:
            return way(node)
        except UnsupportedNode as error:
            errors.append(error)
    reason = "; ".join(dict.fromkeys(map(str, errors)))
    dependent = [error for error in errors if isinstance(error, DependsOnData)]
    if not any(error.inside for error in dependent):
        for error in dependent:
            if isinstance(error, UnknownValue):
                raise UnknownValue(reason, error.value, decides_sizes=error.decides_sizes)
    value = node.varying(used_names(node.proto))
    if dependent and value is not None:
        raise UnknownValue(reason, value, decides_sizes=True, takes_rounds=True)
    raise UnsupportedNode(reason)


CONVERTERS: ConverterTable = {
    "If": {1: branch},
    "Loop": {1: loop},
    "Scan": {9: scan},
}
