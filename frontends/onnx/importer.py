"""
Imports an ONNX model as a `func.func @main` of relay operations.

1. A depth-first walk over names, from the graph outputs through the inputs of each node in order,
   visits the nodes that the outputs need. Each is converted once all of its inputs are.
2. Converters create operations outside of any block. A second walk, over these, puts them into
   the function in post-DFS order from the returned values through the operands in order: program
   order is then the index that Relay's passes number nodes by. What it does not reach is dropped.

Both walks keep their own stack, so that deep models need no recursion.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.core import ONNX_NAME, ConstantOp
from xrelay.dialects.shapes import tensor_type
from xrelay.frontends.onnx.converters import CONVERTERS, NEWEST_OPSET
from xrelay.frontends.onnx.errors import OnnxImportError, UnknownOperand, UnsupportedNode
from xrelay.frontends.onnx.inputs import input_types
from xrelay.frontends.onnx.loading import check_model, load_model
from xrelay.frontends.onnx.names import identifier
from xrelay.frontends.onnx.node import Builder, Converter, Node
from xrelay.frontends.onnx.tensors import element_type_of, tensor_array


def import_model(
    model: ModelProto | str | Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    base_dir: Path | None = None,
) -> ModuleOp:
    """
    A module whose function `@main` computes the graph of `model`.

    Its arguments are the graph inputs that are not initializers, its results the graph outputs;
    their attribute `onnx.name` holds the ONNX name. `shapes` gives the shapes of inputs, by name,
    whose dimensions the model leaves open. `base_dir` is the folder that external data are read
    from; for a path it is the folder of the file.

    Raises OnnxImportError when the model is broken or not supported; one error lists all nodes
    that are not supported.
    """
    if isinstance(model, ModelProto):
        title = f"model '{model.graph.name}'" if model.graph.name else "the model"
        check_model(model, title)
    else:
        title = f"model '{model}'"
        base_dir = Path(model).parent if base_dir is None else base_dir
        model = load_model(model)
    try:
        return _Importer(model, base_dir).run(shapes or {})
    except OnnxImportError as error:
        raise OnnxImportError(f"cannot import {title}: {error}") from None


class _Importer:
    """The state of one import."""

    def __init__(self, model: ModelProto, base_dir: Path | None):
        self.graph: GraphProto = model.graph
        self.base_dir = base_dir
        self.opsets = {_domain(entry.domain): entry.version for entry in model.opset_import}
        if model.ir_version < 3:
            self.opsets.setdefault("", 1)
        self.builder = Builder()
        self.values: dict[str, SSAValue | None] = {}
        """The value of each ONNX name so far; None where a node is not supported."""
        self.initializers = {tensor.name: tensor for tensor in model.graph.initializer}
        self.producers = _producers(model.graph)
        self.problems: list[str] = []
        """One line for each node that is not supported."""
        self.missing: dict[str, str] = {}
        """The problem with each output that no converter computes, until something uses it."""

    def run(self, shapes: Mapping[str, Sequence[int]]) -> ModuleOp:
        """Imports the graph."""
        inputs = [value for value in self.graph.input if value.name not in self.initializers]
        types = input_types(inputs, shapes)
        block = Block(arg_types=types)
        for value, arg in zip(inputs, block.args, strict=True):
            if value.name in self.values:
                raise OnnxImportError(f"two inputs have the name '{value.name}'")
            if value.name in self.producers:
                raise OnnxImportError(f"'{value.name}' is an input and the output of a node")
            arg.name_hint = identifier(value.name)
            arg.location = NameLoc(StringAttr(value.name), arg.location)
            self.values[value.name] = arg

        for node in self._needed_nodes():
            self._convert(node)
        for output in self.graph.output:
            self._report_missing(output.name)
        if self.problems:
            count = len(self.problems)
            lines = "".join(f"\n  {problem}" for problem in self.problems)
            raise OnnxImportError(
                f"{count} node{'s are' if count > 1 else ' is'} not supported:{lines}"
            )

        results = [self._result(output) for output in self.graph.output]
        return_op = ReturnOp(*results)
        place_in_post_dfs_order(block, return_op)
        _drop_unplaced(self.builder.created)
        names = [
            ArrayAttr([DictionaryAttr({ONNX_NAME: StringAttr(value.name)}) for value in side])
            for side in (inputs, self.graph.output)
        ]
        function = FuncOp(
            "main",
            (types, [result.type for result in results]),
            Region(block),
            arg_attrs=names[0],
            res_attrs=names[1],
        )
        return ModuleOp([function])

    def _needed_nodes(self) -> Iterator[NodeProto]:
        """
        The nodes that the outputs need, each after the ones that compute its inputs. Looks up
        initializers on the way.
        """
        finished: set[int] = set()
        started: set[int] = set()
        for output in self.graph.output:
            stack: list[tuple[int, Iterator[str]]] = []
            self._enter(output.name, "the graph", started, finished, stack)
            while stack:
                index, names = stack[-1]
                node = self.graph.node[index]
                for name in names:
                    if self._enter(name, _what(node), started, finished, stack):
                        break
                else:
                    stack.pop()
                    finished.add(index)
                    yield node

    def _enter(
        self,
        name: str,
        user: str,
        started: set[int],
        finished: set[int],
        stack: list[tuple[int, Iterator[str]]],
    ) -> bool:
        """Pushes the node that computes `name`, when it is not yet visited."""
        if name in self.values:
            return False
        index = self.producers.get(name)
        if index is None:
            self.values[name] = self._initializer(name, user)
            return False
        if index in finished:
            return False
        if index in started:
            raise OnnxImportError(f"the graph has a cycle through '{name}'")
        started.add(index)
        stack.append((index, filter(None, self.graph.node[index].input)))
        return True

    def _initializer(self, name: str, user: str) -> SSAValue:
        tensor = self.initializers.get(name)
        if tensor is None:
            raise OnnxImportError(
                f"{user} uses '{name}', which is no input, initializer or output of a node"
            )
        return self.builder.constant(tensor_array(tensor, self.base_dir), name)

    def _convert(self, proto: NodeProto) -> None:
        """Emits the operations of a node and enters its outputs, or its problem."""
        for name in proto.input:
            self._report_missing(name)
        outputs: Sequence[SSAValue] = ()
        try:
            converter = self._converter(proto)
            opset = self.opsets[_domain(proto.domain)]
            node = Node(proto, opset, self.values, self.builder, self.base_dir)
            result = converter(node)
            node.require_known_attributes()
            outputs = [result] if isinstance(result, SSAValue) else result
            for position, name in enumerate(proto.output):
                if name and position >= len(outputs):
                    self.missing[name] = self._problem(
                        proto, f"its output {position} ('{name}') is not supported"
                    )
        except UnknownOperand:
            pass
        except UnsupportedNode as error:
            self.problems.append(self._problem(proto, str(error)))
        except (OnnxImportError, VerifyException) as error:
            raise OnnxImportError(f"{_what(proto)} ({proto.op_type}): {error}") from None
        for position, name in enumerate(proto.output):
            if name:
                self.values[name] = outputs[position] if position < len(outputs) else None

    def _converter(self, proto: NodeProto) -> Converter:
        """The converter for the operator set that the model imports."""
        domain = _domain(proto.domain)
        opset = self.opsets.get(domain)
        versions = CONVERTERS.get(proto.op_type) if domain == "" else None
        if versions is None:
            raise UnsupportedNode("the operator is not supported")
        if opset is None:
            raise UnsupportedNode("the model does not import its operator set")
        if opset > NEWEST_OPSET:
            raise UnsupportedNode(f"the newest supported operator set is {NEWEST_OPSET}")
        suitable = [since for since in versions if since <= opset]
        if not suitable:
            raise UnsupportedNode(f"the operator is supported since operator set {min(versions)}")
        return versions[max(suitable)]

    def _problem(self, proto: NodeProto, reason: str) -> str:
        domain = _domain(proto.domain)
        return (
            f"{_what(proto)}: op type {proto.op_type}, domain '{domain or 'ai.onnx'}', "
            f"opset {self.opsets.get(domain, 'unknown')}: {reason}"
        )

    def _report_missing(self, name: str) -> None:
        if name in self.missing:
            self.problems.append(self.missing.pop(name))

    def _result(self, output: ValueInfoProto) -> SSAValue:
        """The value of a graph output, whose dtype must be the stated one."""
        value = self.values[output.name]
        assert value is not None
        if output.type.WhichOneof("value") == "tensor_type":
            stated = element_type_of(output.type.tensor_type.elem_type, f"output '{output.name}'")
            if tensor_type(value, "the value").element_type != stated:
                raise OnnxImportError(
                    f"output '{output.name}' is stated with elements of type {stated}, "
                    f"but is {value.type}"
                )
        return value


def _domain(domain: str) -> str:
    """The default operator set has two names."""
    return "" if domain == "ai.onnx" else domain


def _what(node: NodeProto) -> str:
    """A node as messages name it: many models name none."""
    if node.name:
        return f"node '{node.name}'"
    output = next(filter(None, node.output), None)
    return "a node without outputs" if output is None else f"the node that computes '{output}'"


def _producers(graph: GraphProto) -> dict[str, int]:
    """The index of the node that computes each name."""
    producers: dict[str, int] = {}
    initializers = {tensor.name for tensor in graph.initializer}
    for index, node in enumerate(graph.node):
        for name in filter(None, node.output):
            if name in producers or name in initializers:
                raise OnnxImportError(f"'{name}' is defined twice, by {_what(node)} again")
            producers[name] = index
    return producers


def place_in_post_dfs_order(block: Block, root: Operation) -> None:
    """
    Adds `root`, and the operations without a block that it needs, to the end of `block`: each
    operation after its operands, operands in order. A scalar constant gets a copy for each use,
    because one that is shared by two users could not be fused into both.
    """
    placed: set[Operation] = set()
    stack: list[tuple[Operation, int]] = [(root, 0)]
    while stack:
        op, position = stack.pop()
        if position == len(op.operands):
            block.add_op(op)
            placed.add(op)
            continue
        stack.append((op, position + 1))
        owner = op.operands[position].owner
        if isinstance(owner, Block):
            continue
        if owner not in placed:
            stack.append((owner, 0))
        elif isinstance(owner, ConstantOp) and not owner.result.type.get_shape():
            copy = owner.clone()
            op.operands[position] = copy.result
            stack.append((copy, 0))


def _drop_unplaced(created: Sequence[Operation]) -> None:
    """Ends the uses that operations which were never placed make of others."""
    for op in created:
        if op.parent is None:
            op.drop_all_references()
