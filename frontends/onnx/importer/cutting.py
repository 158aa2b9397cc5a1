"""
Cuts a model behind the nodes whose operands depend on data where the importer must know them.

    x ── Relu ──┬── NonZero ── Transpose ── y        the importer stops at NonZero
                └── GatherND(…) ── z

    first:   x ── Relu ── NonZero (bounded) ──► rows, their number, relu
    second:  rows, relu ──► Cast, Transpose, …  ──► y, z

Such a node stays in the first model where it has a form with a bound (`bounded.py`), and becomes a part of the second, to which its
operands are inputs, where it has none: a Reshape to a shape that is computed. What depends on neither such nodes nor on constants
alone is computed in the first and handed over; what constants and shapes decide both models compute while they are imported.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper
from xdsl.ir import OpResult, SSAValue

from xrelay.dialects.shapes import is_tensor_type, tensor_type
from xrelay.frontends.onnx.errors import OnnxImportError, UnknownValue
from xrelay.frontends.onnx.importer.bounded import BOUNDED, DOMAIN, Bounded, Kind
from xrelay.frontends.onnx.importer.branches import given_tensor, unused
from xrelay.frontends.onnx.importer.functions import default_domain, used_names
from xrelay.frontends.onnx.importer.inputs import described_ports
from xrelay.frontends.onnx.importer.rounds import ListedLoop, round_of, without_lists
from xrelay.frontends.onnx.importer.scope import Scope, what
from xrelay.frontends.onnx.messages import names
from xrelay.frontends.onnx.narrow import NARROW
from xrelay.frontends.onnx.tensors import data_type_of, loaded_tensor
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.runtime.signature import InputValue
from xrelay.runtime.staged import Rounds, Stages


def has_bound(node: NodeProto) -> bool:
    """Whether the sizes of a node's results have bounds."""
    return default_domain(node.domain) == "" and node.op_type in BOUNDED


class Cutter:
    """One cut of a model that was imported as far as that can be."""

    def __init__(
        self,
        model: ModelProto,
        base_dir: Path | None,
        scope: Scope,
        values: Mapping[str, InputValue],
    ):
        """`values` has the elements of inputs that are constants."""
        self.model, self.graph, self.base_dir = model, model.graph, base_dir
        self.scope, self.values = scope, values
        self.is_open = False
        self.inputs = {value.name: value for value in self.graph.input}
        self.kinds: dict[str, Kind] = {}
        """Of what nodes with a bound compute, and loops."""
        self.unranked: dict[str, int] = {}
        """The codes of the element types of what loops compute whose rank is not stated."""
        dims = (dim for value in self.graph.input for dim in value.type.tensor_type.shape.dim)
        # Names of lengths that loops around have handed on begin with what names them apart.
        self._names = {*names(model), *(dim.dim_param.partition(".")[0] for dim in dims)}
        self._outputs = {output.name for output in self.graph.output}

    def stages(
        self, failed: Sequence[tuple[NodeProto, UnknownValue]], is_open: bool
    ) -> Stages[ModelProto] | None:
        """
        Both models; None where a cut is no way on. With `is_open` shapes, and the elements of inputs that are constants, may be
        others at the next call: the models state the shapes that the whole states, and none of what is handed over.
        """
        self.is_open = is_open
        operands = self.cut_at(failed)
        if operands is None:
            return None
        loops = [node for node, error in failed if error.takes_rounds]
        if loops and not operands and not any(has_bound(node) for node, _ in failed):
            return self._rounds(loops[0])
        bounded: dict[int, Bounded] = {}
        first = [self.scope.producers[next(filter(None, node.output))] for node, _ in failed]
        for number, (node, _) in zip(first, failed, strict=True):
            if has_bound(node):
                bounded[number] = BOUNDED[node.op_type](node, self)
                self.kinds.update(bounded[number].results)
        return self._cut(bounded, operands, self._behind(first))

    def cut_at(self, failed: Sequence[tuple[NodeProto, UnknownValue]]) -> set[str] | None:
        """
        The computed operands that decide about nodes without a bound; None where a cut is no way on, as for what only inputs
        of the graph decide about in the body of a node. A loop whose rounds are to be runs of a model waits for all that it takes.
        """
        operands: set[str] = set()
        for node, error in failed:
            if has_bound(node):
                continue
            if error.takes_rounds:
                listed = self.listed(node)
                if listed is None:
                    return None
                operands |= self._computed(listed)
                continue
            deciding = self._deciding(node, error.value)
            if not deciding:
                return None
            operands |= deciding - self.inputs.keys()
        is_way = any(has_bound(node) or error.takes_rounds for node, error in failed)
        return operands if operands or is_way else None

    def listed(self, loop: NodeProto) -> ListedLoop | None:
        """A loop without lists; None for one whose rounds cannot be runs of a model."""
        found = without_lists(loop, self.graph.node)
        if found is None or not found.states_types or self._outputs.intersection(found.lists):
            return None
        return found

    # What converters of nodes with a bound ask for.

    def unused(self, beginning: str) -> str:
        """A name that is not in use yet."""
        return unused(beginning, self._names)

    def kind(self, name: str) -> Kind:
        """The element type and the dimensions of a tensor; those are unknown where they may be others at the next call."""
        if name in self.kinds:
            return self.kinds[name]
        value = self.scope.values[name]
        assert value is not None
        if not is_tensor_type(value.type):
            raise OnnxImportError(
                f"'{name}' is a sequence; what rounds carry that are not known beforehand are tensors"
            )
        type_ = tensor_type(value, f"'{name}'")
        narrow = self.scope.shared.builder.narrow.get(value)
        if narrow is None:
            code = data_type_of(dtype_of(type_.element_type))
        else:
            code = next(code for code, each in NARROW.items() if each == narrow)
        return code, ["" if self.is_open else dim for dim in type_.get_shape()]

    # The cut.

    def _operands(self, node: NodeProto) -> dict[str, SSAValue]:
        """The operands of a node, with those of graphs in it, that are no constants."""
        found = {name: self.scope.values.get(name) for name in used_names(node)}
        return {
            name: value
            for name, value in found.items()
            if value is not None and not self.scope.shared.builder.is_constant(value)
        }

    def _computed(self, loop: ListedLoop) -> set[str]:
        """What a loop takes of other nodes: values that are sizes, too, as they may be others at the next call."""
        given = [*filter(None, loop.node.input), *loop.firsts]
        pending = [name for name in given if not self._is_stated(name)]
        pending += self._operands(loop.node)
        found = set[str]()
        while pending:
            name = pending.pop()
            if name in found or name in self.inputs:
                continue
            if self._is_tensor(name):
                found.add(name)
                continue
            # What makes a sequence of tensors is in both models.
            maker = self.graph.node[self.scope.producers[name]]
            pending += [each for each in used_names(maker) if not self._is_stated(each)]
        return found

    def _deciding(self, node: NodeProto, value: SSAValue) -> set[str]:
        """The operands of a node, no constants, that decide about a value that its converter asks for."""
        operands = {operand: name for name, operand in self._operands(node).items()}
        seen, stack, deciding = {value}, [value], set[str]()
        while stack:
            each = stack.pop()
            if each in operands:
                deciding.add(operands[each])
            elif isinstance(each, OpResult):
                new = [operand for operand in each.op.operands if operand not in seen]
                seen.update(new)
                stack += new
        return deciding

    def _behind(self, first: Sequence[int]) -> set[int]:
        """Some nodes and those that use results of them."""
        users: dict[str, list[int]] = {}
        for number, node in enumerate(self.graph.node):
            for name in used_names(node):
                users.setdefault(name, []).append(number)
        found, stack = set(first), list(first)
        while stack:
            for name in filter(None, self.graph.node[stack.pop()].output):
                new = [each for each in users.get(name, ()) if each not in found]
                found.update(new)
                stack += new
        return found

    def _cut(
        self, bounded: Mapping[int, Bounded], operands: set[str], behind: set[int]
    ) -> Stages[ModelProto] | None:
        """Both models, when it is known which nodes the second has."""
        before = [node for n, node in enumerate(self.graph.node) if n not in behind]
        after = [self.graph.node[number] for number in sorted(behind - bounded.keys())]
        shared = [
            node for node in before if operands.isdisjoint(node.output) and self._shared(node)
        ]
        after += [node for each in bounded.values() for node in each.second]
        outputs = [output.name for output in self.graph.output]
        late = {name for node in after for name in node.output}
        wanted = [name for name in outputs if name in late]
        nodes, taken = self._needed(wanted, [*shared, *after])
        kept = [name for name in outputs if name not in late and name not in self.inputs]
        results = dict.fromkeys([*(name for name in taken if name not in self.inputs), *kept])
        parts = {
            name: part
            for each in bounded.values()
            for name, part in each.parts.items()
            if name in results
        }
        results.update(dict.fromkeys(part.count for part in parts.values()))
        before += [each.first for each in bounded.values()]
        first_nodes, first_taken = self._needed(list(results), before)
        if not all(map(self._is_tensor, results)):
            return None
        first = self._model(
            "first", first_nodes, first_taken, [self._port(each) for each in results]
        )
        if not wanted:
            return None if first is None else Stages(first, None, parts)
        stated = [output for output in self.graph.output if output.name in wanted]
        second = self._model("second", nodes, taken, stated)
        if first is None or second is None:
            return None
        return Stages(first, second, parts)

    def _rounds(self, loop: NodeProto) -> Stages[ModelProto] | None:
        """A loop that takes nothing that is computed, and a model of all other nodes."""
        listed = self.listed(loop)
        if listed is None:
            return None
        try:
            one = round_of(listed, self, self.base_dir)
        except OnnxImportError as error:
            place = f"cannot import model '{self.graph.name}': {what(loop)} ({loop.op_type})"
            raise OnnxImportError(f"{place}: {error}") from None
        self.kinds.update(one.kinds)
        self.unranked.update(one.unranked)
        done = [loop, *listed.joining]
        others = [node for node in self.graph.node if all(node is not each for each in done)]
        shared = list(filter(self._shared, others))
        nodes, taken = self._needed([each.name for each in one.outputs], [*shared, *one.nodes])
        body = self._model("round", nodes, taken, one.outputs)
        given = [*filter(None, listed.node.input), *listed.firsts]
        around = [*given, *(name for name in taken if name not in one.kinds)]
        around = [name for name in dict.fromkeys(around) if not self._is_stated(name)]
        late = {name for node in done for name in node.output}
        stated = [
            each
            for each in self.graph.output
            if each.name not in late and each.name not in self.inputs
        ]
        nodes, taken = self._needed([each.name for each in stated], others)
        second = self._model("second", nodes, taken, stated) if stated else None
        if body is None or stated and second is None or not all(map(self._is_tensor, around)):
            return None
        constants: dict[str, Array] = {}
        for name in filter(self._is_stated, given):
            value = self.scope.values.get(name)
            array = None if value is None else self.scope.shared.builder.known(value)
            if array is None:
                return None
            constants[name] = array
        operands, _ = described_ports([self._input(name) for name in around], ())
        return Stages(Rounds(one.loop, body, operands, constants), second, {})

    def _is_stated(self, name: str) -> bool:
        """Whether a value is an initializer, an input that is a constant, or what a Constant node states."""
        if name in self.scope.initializers or name in self.values and not self.is_open:
            return True
        number = self.scope.producers.get(name)
        node = None if number is None else self.graph.node[number]
        return node is not None and node.op_type == "Constant"

    def _shared(self, node: NodeProto) -> bool:
        """Whether each model that needs a node has it: it computes constants alone, or sequences, which are not handed over."""
        results = [self.scope.values.get(name) for name in filter(None, node.output)]
        is_sequence = any(each is not None and not is_tensor_type(each.type) for each in results)
        return is_sequence or all(map(self._is_constant, filter(None, node.output)))

    def _is_constant(self, name: str) -> bool:
        """Whether a value is computed, and depends on constants and shapes alone."""
        value = self.scope.values.get(name)
        return value is not None and self.scope.shared.builder.is_constant(value)

    def _needed(
        self, outputs: Sequence[str], nodes: Sequence[NodeProto]
    ) -> tuple[list[NodeProto], list[str]]:
        """The nodes of some that outputs need, each behind those whose results it uses, and what these take from elsewhere."""
        producers = {name: node for node in nodes for name in node.output if name}
        found: dict[int, NodeProto] = {}
        taken: dict[str, None] = {}
        seen: set[str] = set()
        stack: list[tuple[NodeProto | None, Iterator[str]]] = [(None, iter(outputs))]
        while stack:
            user, names_ = stack[-1]
            for name in names_:
                if name in seen:
                    continue
                seen.add(name)
                node = producers.get(name)
                if node is None:
                    taken[name] = None
                    continue
                stack.append((node, iter(list(used_names(node)))))
                break
            else:
                stack.pop()
                if user is not None:
                    found.setdefault(id(user), user)
        return list(found.values()), list(taken)

    def _model(
        self,
        which: str,
        nodes: Sequence[NodeProto],
        taken: Sequence[str],
        outputs: Sequence[ValueInfoProto],
    ) -> ModelProto | None:
        """A model of some nodes; None where it would take what is no tensor."""
        constants: list[TensorProto] = []
        inputs: list[ValueInfoProto] = []
        for name in taken:
            if name in self.scope.initializers:
                constants.append(loaded_tensor(self.scope.initializers[name], self.base_dir))
            elif name in self.values and not self.is_open:
                constants.append(given_tensor(self.inputs[name], self.values[name]))
            elif not self._is_tensor(name):
                return None
            else:
                inputs.append(self._input(name))
        graph = helper.make_graph(
            nodes, f"{self.graph.name or 'model'}_{which}", inputs, outputs, constants
        )
        made = helper.make_model(graph, functions=self.model.functions)
        made.ir_version = max(self.model.ir_version, 3)
        del made.opset_import[:]
        made.opset_import.extend(each for each in self.model.opset_import if each.domain != DOMAIN)
        made.opset_import.add(domain=DOMAIN, version=1)
        return made

    def _is_tensor(self, name: str) -> bool:
        value = self.scope.values.get(name)
        is_known = name in self.kinds or name in self.unranked
        return is_known or value is not None and is_tensor_type(value.type)

    def _input(self, name: str) -> ValueInfoProto:
        """An input of one of the models."""
        if name in self.inputs and self.is_open:
            return self.inputs[name]
        if name in self.unranked:
            return helper.make_tensor_value_info(name, self.unranked[name], None)
        code, dims = self.kind(name)
        return helper.make_tensor_value_info(
            name, code, [dim or None if isinstance(dim, str) else dim for dim in dims]
        )

    def _port(self, name: str) -> ValueInfoProto:
        """A result of the first model, of whatever shape."""
        if name in self.kinds:
            return ValueInfoProto(name=name)
        return helper.make_tensor_value_info(name, self.kind(name)[0], None)
