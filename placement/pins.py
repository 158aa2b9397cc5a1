"""Pins: operators that a person gives to an engine, `nn.conv2d=onnxruntime` or `/conv1/Conv=default`."""

from collections.abc import Mapping, Sequence

from xrelay.analysis.facts.suggestions import did_you_mean
from xrelay.dialects.model_names import model_name
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph, Node
from xrelay.placement.graph.index_set import union_of
from xrelay.placement.rules.base import is_call
from xrelay.placement.rules.candidate import Candidate


def parse_pins(texts: Sequence[str]) -> dict[str, str]:
    """
    The engine of each operator or node in entries `op=engine`.

    Raises PlacementError for entries of another form, and for two engines for one.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, engine = text.rpartition("=")
        if not equals or not name or not engine:
            raise PlacementError(f"the pin is '{text}', expected OPERATOR=ENGINE or NODE=ENGINE")
        if found.setdefault(name.removeprefix("relay."), engine) != engine:
            raise PlacementError(f"'{name}' is pinned to '{found[name]}' and to '{engine}'")
    return found


def names_of(node: Node) -> tuple[str, ...]:
    """What a node may be called: its operator, its node in the model, its value."""
    op = node.op
    if op is None or not is_call(op):
        return ()
    hints = (result.name_hint for result in op.results)
    return tuple(name for name in (node.label, model_name(op), *hints) if name)


def pinned(graph: Graph, pins: Mapping[str, str], engines: Sequence[str]) -> dict[int, str]:
    """
    The engine of each node that is pinned; the name of a node counts more than that of its operator.

    Raises PlacementError for unknown names and engines.
    """
    by_name: dict[str, list[int]] = {}
    for node in graph.nodes:
        for name in names_of(node):
            by_name.setdefault(name, []).append(node.index)
    labels = {node.label for node in graph.nodes}
    found: dict[int, str] = {}
    for name, engine in sorted(pins.items(), key=lambda pin: pin[0] not in labels):
        if engine not in engines:
            raise PlacementError(
                f"'{name}' is pinned to '{engine}', expected one of {', '.join(engines)}"
                f"{did_you_mean(engine, engines)}"
            )
        if name not in by_name:
            raise PlacementError(
                f"'{name}' is pinned, but the model has no such operator or node{did_you_mean(name, by_name)}"
            )
        found.update(dict.fromkeys(by_name[name], engine))
    return found


def keeps_pins(candidate: Candidate, pins: Mapping[int, str]) -> bool:
    """Whether a candidate has no node that is pinned to another engine."""
    inside, engine = candidate.inside, candidate.engine
    return all(pinned == engine or not inside >> index & 1 for index, pinned in pins.items())


def keeping_pins(
    graph: Graph, candidates: Sequence[Candidate], pins: Mapping[int, str]
) -> list[Candidate]:
    """
    The candidates that keep to pins.

    Raises PlacementError for an operator that its engine does not run.
    """
    kept = [each for each in candidates if keeps_pins(each, pins)]
    covered = union_of(each.inside for each in kept)
    for index, engine in pins.items():
        if not covered >> index & 1:
            name = "' or '".join(dict.fromkeys(names_of(graph[index])))
            raise PlacementError(f"'{name}' is pinned to '{engine}', which does not run it")
    return kept
