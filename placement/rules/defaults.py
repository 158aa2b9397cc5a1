"""
The rules of engines that state none: from their patterns, the operators that they support, and their style.

    own code    OnlyValid(Combine(kernels; A→B, B→R, I→I, tuples))       fused again, later
    others      Primitive(OnlyValid(Combine(Union(Composite(pattern)…, operators); style)))

and for all: what needs no kernel, the whole function, the largest regions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Operation

from xrelay.analysis.partition.compilers import No, Support, Yes
from xrelay.backends.base import Backend, BackendError, FusionStyle
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.rules.base import DFPattern, OpCallByKind, OpPredicate, Whole
from xrelay.placement.rules.candidate import HOST, Candidate
from xrelay.placement.rules.combinators import Combine, Composite, OnlyValid, Primitive, Union
from xrelay.placement.rules.combiners import ByKind, Combiner, TupleArg, TupleProj
from xrelay.placement.rules.largest import Largest
from xrelay.placement.rules.rule import Rule

OWN_DEPTH = 4
"""The most nodes on a way through a kernel of own code."""
ENGINE_DEPTH = 8
"""The most nodes on a way through a region of a graph engine, the largest ones apart."""

_A, _B = OpPatternKind.OUT_EWISE_FUSABLE, OpPatternKind.BROADCAST
_I, _R = OpPatternKind.INJECTIVE, OpPatternKind.COMM_REDUCE
FUSION = ByKind(((_A, _B), (_B, _R), (_I, _I)))
"""What Relay fuses."""
ANYTHING = ByKind(((OpPatternKind.OPAQUE, OpPatternKind.OPAQUE),))
"""Whatever touches."""

STYLES: dict[FusionStyle, tuple[Combiner, ...]] = {
    FusionStyle.NONE: (),
    FusionStyle.RELAY: (FUSION, TupleArg(), TupleProj()),
    FusionStyle.ANY: (ANYTHING, TupleArg(), TupleProj()),
}


def _is_opaque(op: Operation, types: Sequence[Attribute]) -> Support:
    """Own code runs operators that never fuse as well."""
    return Yes() if pattern_kind(op) is OpPatternKind.OPAQUE else No("it may fuse")


OWN_KERNELS = Union((OpCallByKind(), OpPredicate("opaque", _is_opaque)))
"""The operators of own code, one by one: enough where the costs of its kernels add up."""


def own_rule(max_depth: int = OWN_DEPTH) -> Rule:
    """The rule of this project's own code."""
    return OnlyValid(Combine(OWN_KERNELS, (FUSION, TupleArg(), TupleProj()), max_depth))


@dataclass(frozen=True)
class Stated(Rule):
    """The rule that a backend states, all of whose candidates are to be functions of it."""

    rule: Rule

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        found = self.rule.candidates(graph, engine)
        for each in found:
            named = [dict(nested.attributes).get("Compiler") for nested in each.part.nested]
            if each.engine != HOST and named != [engine]:
                raise BackendError(
                    f"backend '{engine}': partition_rule() has a candidate '{each.part.label}' that is no function of the engine: "
                    "expected Primitive(…) around its rules"
                )
        return found

    def __str__(self) -> str:
        return str(self.rule)


def operators_rule(backend: Backend) -> Rule:
    """What a backend runs as one: its patterns, then the operators that it supports."""
    patterns = (Composite(each.name, DFPattern.of(each)) for each in backend.patterns())
    return Union((*patterns, OpPredicate(backend.name, backend.supports)))


def default_rule(backend: Backend, max_depth: int = ENGINE_DEPTH) -> Rule:
    """The rule of a backend that states none."""
    combined = Combine(operators_rule(backend), STYLES[backend.fusion_style], max_depth)
    return Primitive(OnlyValid(combined))


def rule_of(backend: Backend, max_depth: int = ENGINE_DEPTH) -> Rule:
    """
    The rule of a backend: its own or the default one; the largest regions and the whole function.

    Raises BackendError when its own rule is none that placement knows.
    """
    stated = backend.partition_rule()
    if stated is not None and not isinstance(stated, Rule):
        raise BackendError(
            f"backend '{backend.name}': partition_rule() returns a {type(stated).__name__}, expected a rule "
            "of xrelay.placement.rules"
        )
    rules: list[Rule] = [default_rule(backend, max_depth) if stated is None else Stated(stated)]
    if backend.fusion_style is not FusionStyle.NONE:
        largest = Largest(operators_rule(backend))
        rules += [Primitive(largest), Primitive(Whole(backend.supports, backend.takes_onnx))]
    return Union(tuple(rules))
