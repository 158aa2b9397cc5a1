"""
Converts the nodes of a graph, of a subgraph (a branch, the body of a loop), or of a function.

A depth-first walk over names, from the outputs through the inputs of each node in order, visits the
nodes that the outputs need. Each is converted once all of its inputs are. The walk keeps its own
stack, so that deep models need no recursion; only bodies inside of bodies recurse.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onnx import FunctionProto, NodeProto, TensorProto
from xdsl.dialects.builtin import TupleType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import InterpretationError, VerifyException

from xrelay.frontends.onnx.errors import (
    BodiesTooDeep,
    DependsOnData,
    OnnxImportError,
    ProgramTooLarge,
    UnknownOperand,
    UnknownValue,
    UnsupportedNode,
)
from xrelay.frontends.onnx.importer.converters import DOMAINS, NEWEST_OPSET
from xrelay.frontends.onnx.importer.core import sequences
from xrelay.frontends.onnx.importer.flags import require_flags
from xrelay.frontends.onnx.importer.functions import (
    FunctionKey,
    captured_names,
    default_domain,
    graph_attributes,
    model_function,
    operator_sets,
)
from xrelay.frontends.onnx.importer.node import Body, Builder, Converter, Node
from xrelay.frontends.onnx.importer.refusals import REFUSED
from xrelay.frontends.onnx.importer.schemas import require_types
from xrelay.runtime.arguments import few

MAX_DEPTH = 32
"""How deep bodies may lie in each other: functions that call themselves end here."""


CONVERSIONS = frozenset(("Cast", "CastLike", "DequantizeLinear", "QuantizeLinear"))
"""Operators that take element types of 8 bits or fewer which programs only hold."""
MOVES = frozenset(
    (
        *("Concat", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity"),
        *("Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
    )
)
"""Operators that move such elements."""
OF_SEQUENCES = frozenset((*sequences.CONVERTERS, "If", "Loop", "Scan", "Identity"))
"""Operators that take sequences; of If, Loop and Scan the bodies are looked at on their own."""


@dataclass(frozen=True)
class Surroundings:
    """What all scopes of one import share."""

    builder: Builder
    base_dir: Path | None
    functions: Mapping[FunctionKey, FunctionProto]
    """The functions that the model defines itself."""
    unknown: list[UnknownValue] = field(default_factory=list[UnknownValue])
    """The operands whose elements converters asked for in vain."""


class Scope:
    """The names of a graph, and what they stand for so far."""

    def __init__(
        self, body: Body, shared: Surroundings, outer: "Scope | None" = None, prefix: str = ""
    ):
        self.shared = shared
        self.nodes = body.nodes
        self.opsets: Mapping[str, int] = {}
        if body.opsets is not None:
            self.opsets = body.opsets
        elif outer is not None:
            self.opsets = outer.opsets
        self.outer = outer if body.opsets is None else None
        """The scope whose names this one sees."""
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.prefix = prefix
        """What the labels of operations begin with: the node that the body belongs to."""
        self.values: dict[str, SSAValue | None] = dict(body.inputs)
        """The value of each ONNX name so far; None where a node is not supported."""
        self.initializers = _initializers(body.initializers)
        self.producers = _producers(body.nodes, self.initializers)
        self.problems: list[str] = []
        """One line for each node that is not supported, or wrong."""
        self.wrong: list[str] = []
        """Those of nodes that are wrong."""
        self.failed: list[tuple[NodeProto, UnknownValue]] = []
        """The nodes that ask for elements of values that are not constant."""
        self.refused: list[NodeProto] = []
        """The nodes that are not supported."""
        self._only_data = True
        """Whether they are so for nothing but what depends on inputs of the graph."""
        self._missing: dict[str, str] = {}
        """The problem with each output that no converter computes, until something uses it."""
        self._finished: set[int] = set()
        self._started: set[int] = set()

    def compute(self, outputs: Sequence[str]) -> list[SSAValue | None]:
        """The values of some names; None for those that `problems` leave unknown."""
        for output in outputs:
            for node in self._needed_nodes(output):
                self._convert(node)
        for output in outputs:
            self._report_missing(output)
        return [self.values[output] for output in outputs]

    def _needed_nodes(self, output: str) -> Iterator[NodeProto]:
        """
        The nodes that an output needs, each after the ones that compute its inputs. Looks up
        initializers on the way.
        """
        stack: list[tuple[int, Iterator[str]]] = []
        self._enter(output, "the graph", stack)
        while stack:
            index, names = stack[-1]
            node = self.nodes[index]
            for name in names:
                if self._enter(name, what(node), stack):
                    break
            else:
                stack.pop()
                self._finished.add(index)
                yield node

    def _enter(self, name: str, user: str, stack: list[tuple[int, Iterator[str]]]) -> bool:
        """Pushes the node that computes `name`, when it is not yet visited."""
        if name in self.values:
            return False
        index = self.producers.get(name)
        if index is None:
            self.values[name] = self._given(name, user)
            return False
        if index in self._finished:
            return False
        if index in self._started:
            raise OnnxImportError(f"the graph has a cycle through '{name}'")
        self._started.add(index)
        stack.append((index, self._needed_names(self.nodes[index])))
        return True

    def _needed_names(self, node: NodeProto) -> Iterator[str]:
        """
        The names that a node uses: its inputs and, once these are converted, what the graphs in it
        take from around them. Of an If whose condition is known only one branch is needed.
        """
        yield from filter(None, node.input)
        graphs = {attribute.name: attribute.g for attribute in graph_attributes(node)}
        if node.op_type == "If" and node.input:
            condition = self.values.get(node.input[0])
            known = None if condition is None else self.shared.builder.known(condition)
            if known is not None and known.size == 1:
                graphs.pop("else_branch" if known.item() else "then_branch", None)
        for graph in graphs.values():
            yield from captured_names(graph)

    def _given(self, name: str, user: str) -> SSAValue | None:
        """The value of a name that no node computes."""
        tensor = self.initializers.get(name)
        if tensor is not None:
            return self.shared.builder.tensor(tensor, self.shared.base_dir, self.prefix + name)
        scope = self.outer
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise OnnxImportError(
            f"{user} uses '{name}', which is no input, initializer or output of a node"
        )

    def _convert(self, proto: NodeProto) -> None:
        """Emits the operations of a node and enters its outputs, or its problem."""
        for name in self._needed_names(proto):
            self._report_missing(name)
        outputs: Sequence[SSAValue | None] = ()
        asked = len(self.shared.unknown)
        try:
            converter = self._converter(proto)
            node = self.node(proto)
            self._require_wide(proto)
            result = converter(node)
            node.require_known_attributes()
            outputs = [result] if isinstance(result, SSAValue) else result
            self._keep_narrow(proto, outputs)
            for position, name in enumerate(proto.output):
                if name and position >= len(outputs):
                    self._missing[name] = self._problem(
                        proto, f"its output {position} ('{name}') is not supported"
                    )
        except UnknownOperand:
            pass
        except UnsupportedNode as error:
            if isinstance(error, UnknownValue):
                if error.takes_branch or error.takes_rounds:
                    del self.shared.unknown[asked:]
                self.shared.unknown.append(error)
                self.failed.append((proto, error))
            self._only_data &= isinstance(error, DependsOnData)
            self.refused.append(proto)
            self.problems.append(self._problem(proto, str(error)))
        except BodiesTooDeep as error:
            if self.depth > 0:
                raise
            raise OnnxImportError(f"{error}: {what(proto)} ({proto.op_type})") from None
        except (OnnxImportError, VerifyException, InterpretationError, MemoryError) as error:
            reason = f"not enough memory: {error}" if isinstance(error, MemoryError) else str(error)
            line = f"{what(proto)} ({proto.op_type}): {reason}"
            if isinstance(error, ProgramTooLarge):
                raise ProgramTooLarge(line) from None
            if self.depth > 0:
                raise OnnxImportError(line) from None
            self.problems.append(line)
            self.wrong.append(line)
        for position, name in enumerate(proto.output):
            if name:
                self.values[name] = outputs[position] if position < len(outputs) else None

    def node(self, proto: NodeProto) -> Node:
        """A node as its converter sees it."""
        return Node(
            proto,
            self.opsets.get(default_domain(proto.domain), 0),
            self.values,
            self.shared.builder,
            self.shared.base_dir,
            self.prefix,
            self._inlined,
        )

    def _require_wide(self, proto: NodeProto) -> None:
        """Refuses arithmetic on sequences, and on element types that programs only hold."""
        values = [(index, self.values.get(name)) for index, name in enumerate(proto.input)]
        if proto.domain or proto.op_type not in OF_SEQUENCES:
            for index, value in values:
                if value is not None and isinstance(value.type, TupleType):
                    raise UnsupportedNode(f"input {index} is a sequence, expected a tensor")
        if proto.domain or proto.op_type in CONVERSIONS | MOVES | OF_SEQUENCES:
            return
        for index, value in values:
            narrow = None if value is None else self.shared.builder.narrow.get(value)
            if narrow is not None:
                raise UnsupportedNode(
                    f"input {index} has elements of type {narrow.name}, which are moved and converted only"
                )

    def _keep_narrow(self, proto: NodeProto, outputs: Sequence[SSAValue | None]) -> None:
        """What an operator moves keeps its element type."""
        first = self.values.get(proto.input[0]) if proto.input else None
        narrow = None if first is None else self.shared.builder.narrow.get(first)
        if narrow is not None and not proto.domain and proto.op_type in MOVES:
            self.shared.builder.narrow.update(
                (output, narrow) for output in outputs if output is not None
            )

    def _inlined(self, body: Body, label: str) -> list[SSAValue]:
        """The outputs of a body that belongs to the node of a label."""
        if self.depth == MAX_DEPTH:
            raise BodiesTooDeep(
                f"bodies lie in each other more than {MAX_DEPTH} deep, as in a function that calls itself"
            )
        scope = Scope(body, self.shared, self, label + "/")
        values = scope.compute(body.outputs)
        if scope.problems:
            raise scope.refusal("in its body, " + few(scope.problems, "; "))
        outputs = [value for value in values if value is not None]
        if len(outputs) < len(values):
            raise UnknownOperand
        return outputs

    def without_converter(
        self, outputs: Iterable[str], looked_at: set[tuple[FunctionKey, tuple[str, ...]]]
    ) -> list[str]:
        """
        One line for each node that outputs need, not through bodies that may not run, whose operator is not supported.
        Functions of the model are looked into, each once for some of its outputs: functions can call each other.
        """
        problems: dict[int, str] = {}
        pending, seen = [*outputs], set[str]()
        while pending:
            name = pending.pop()
            index = self.producers.get(name)
            if index is None or name in seen:
                continue
            proto = self.nodes[index]
            seen.update(proto.output)
            pending.extend(proto.input)
            try:
                self._supported(proto)
                self._require_supported_body(proto, looked_at)
            except UnsupportedNode as error:
                problems[index] = self._problem(proto, str(error))
        return [problems[index] for index in sorted(problems)]

    def _require_supported_body(
        self, proto: NodeProto, looked_at: set[tuple[FunctionKey, tuple[str, ...]]]
    ) -> None:
        """Raises UnsupportedNode for a call of a function of the model that needs an operator which is not supported."""
        function = self._function(proto)
        if function is None or self.depth == MAX_DEPTH:
            return
        named = zip(function.output, proto.output, strict=False)
        wanted = tuple(name for name, used in named if used)
        key = (default_domain(proto.domain), proto.op_type, proto.overload), wanted
        if key in looked_at:
            return
        looked_at.add(key)
        body = Body(function.node, opsets=operator_sets(function.opset_import))
        problems = Scope(body, self.shared, self).without_converter(wanted, looked_at)
        if problems:
            raise UnsupportedNode("in its body, " + few(problems, "; "))

    def _converter(self, proto: NodeProto) -> Converter:
        """The converter for the operator set that the graph imports. Raises OnnxImportError for flags that are none."""
        converter = self._supported(proto)
        if self._function(proto) is None:
            domain = default_domain(proto.domain)
            require_flags(proto)
            require_types(
                proto, domain, self.opsets[domain], self.values, self.shared.builder.narrow
            )
        return converter

    def _function(self, proto: NodeProto) -> FunctionProto | None:
        """The function of the model that a node calls: what that defines of another domain than ONNX's is what it means."""
        domain = default_domain(proto.domain)
        known = proto.op_type in DOMAINS.get(domain, {})
        if domain not in self.opsets or (known and not domain):
            return None
        return self.shared.functions.get((domain, proto.op_type, proto.overload))

    def _supported(self, proto: NodeProto) -> Converter:
        """The converter, whatever attributes and operands are. Raises UnsupportedNode where there is none."""
        domain = default_domain(proto.domain)
        opset = self.opsets.get(domain)
        function = self._function(proto)
        if function is not None:
            return model_function(function)
        versions = DOMAINS.get(domain, {}).get(proto.op_type)
        if versions is None:
            reason = REFUSED.get(proto.op_type) if domain == "" else None
            raise UnsupportedNode(reason or "the operator is not supported")
        if opset is None:
            raise UnsupportedNode("the model does not import its operator set")
        if not domain and opset > NEWEST_OPSET:
            raise UnsupportedNode(f"the newest supported operator set is {NEWEST_OPSET}")
        suitable = [since for since in versions if since <= opset]
        if not suitable:
            raise UnsupportedNode(f"the operator is supported since operator set {min(versions)}")
        return versions[max(suitable)]

    def _problem(self, proto: NodeProto, reason: str) -> str:
        domain = default_domain(proto.domain)
        return (
            f"{what(proto)}: op type {proto.op_type}, domain '{domain or 'ai.onnx'}', "
            f"opset {self.opsets.get(domain, 'unknown')}: {reason}"
        )

    def refusal(self, reason: str) -> UnsupportedNode:
        """What the node whose body this is is refused with."""
        return DependsOnData(reason, inside=True) if self._only_data else UnsupportedNode(reason)

    def _report_missing(self, name: str) -> None:
        if name in self._missing:
            self._only_data = False
            self.problems.append(self._missing.pop(name))


def what(node: NodeProto) -> str:
    """A node as messages name it: many models name none."""
    if node.name:
        return f"node '{node.name}'"
    output = next(filter(None, node.output), None)
    return "a node without outputs" if output is None else f"the node that computes '{output}'"


def _initializers(tensors: Sequence[TensorProto]) -> dict[str, TensorProto]:
    """The initializers by their names."""
    named: dict[str, TensorProto] = {}
    for tensor in tensors:
        if tensor.name in named:
            raise OnnxImportError(f"two initializers have the name '{tensor.name}'")
        named[tensor.name] = tensor
    return named


def _producers(
    nodes: Sequence[NodeProto], initializers: Mapping[str, TensorProto]
) -> dict[str, int]:
    """The index of the node that computes each name."""
    producers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in producers or name in initializers:
                raise OnnxImportError(f"'{name}' is defined twice, by {what(node)} again")
            producers[name] = index
    return producers
