"""Operators that are written down as graphs of ONNX's own."""

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
from onnx import NodeProto, helper
from xdsl.ir import SSAValue

from xrelay.frontends.onnx.importer.node import Body, Node
from xrelay.frontends.onnx.importer.shape_arithmetic import number_array
from xrelay.interpreters.arrays import Array

OPSET = 24
"""The operator set of the graphs."""


class Written:
    """A graph that stands for a node. Values go by names in it; "" is an absent one."""

    def __init__(self, node: Node):
        self.node = node
        self._nodes: list[NodeProto] = []
        self._values: dict[str, SSAValue] = {}

    def value(self, value: SSAValue | None) -> str:
        """The name of a value."""
        if value is None:
            return ""
        name = f"given{len(self._values)}"
        self._values[name] = value
        return name

    def input(self, index: int) -> str:
        """The name of an optional input of the node."""
        return self.value(self.node.optional(index))

    def constant(self, array: Array) -> str:
        """The name of a constant."""
        return self.value(self.node.constant(array))

    def number(self, value: float) -> str:
        """The name of a constant with the dtype of the first input of the node."""
        dtype = self.node.element_dtype(self.node.input(0))
        return self.constant(np.asarray(value).astype(dtype))

    def integers(self, *numbers: int) -> str:
        """The name of a constant of whole numbers, among which may be lengths."""
        return self.constant(number_array(numbers))

    def counting(self, length: int) -> str:
        """The name of the whole numbers from 0 up to a length."""
        return self.value(self.node.counting(length))

    @property
    def last(self) -> NodeProto:
        """The newest node."""
        return self._nodes[-1]

    def several(self, count: int, op_type: str, *inputs: str, **attributes: Any) -> list[str]:
        """The outputs of a node of ONNX's."""
        names = [f"t{len(self._nodes)}.{number}" for number in range(count)]
        given = {key: each for key, each in attributes.items() if each is not None}
        self._nodes.append(helper.make_node(op_type, inputs, names, **given))
        return names

    def one(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """The output of a node of ONNX's."""
        return self.several(1, op_type, *inputs, **attributes)[0]

    def sum(self, *names: str) -> str:
        """The sum of the names that are not absent; absent when there is none."""
        present = [name for name in names if name]
        return reduce(partial(self.one, "Add"), present) if present else ""

    def results(self, names: Sequence[str]) -> list[SSAValue]:
        """The values of the graph."""
        body = Body(self._nodes, inputs=self._values, outputs=names, opsets={"": OPSET})
        return self.node.inline(body)
