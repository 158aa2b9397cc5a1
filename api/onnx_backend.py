"""
xrelay as an ONNX backend: `import xrelay.onnx_backend as backend; backend.prepare(model)`.

Source: `onnx.backend.base`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from reprlib import repr as shown
from typing import Any, cast
from unittest import SkipTest

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType
from onnx.defs import onnx_opset_version
from xdsl.utils.exceptions import DiagnosticException

from xrelay.compile_model import compile_model
from xrelay.errors import OptionError
from xrelay.runtime.arguments import count_given, few, kind_of, number_argument
from xrelay.runtime.errors import ModelError
from xrelay.runtime.model import Array
from xrelay.runtime.staged import AnyModel


class CompiledRep(BackendRep):
    """A compiled model that is run on arrays in the order of its inputs, or by name."""

    def __init__(self, model: AnyModel, sequences: Collection[str] = ()):
        """`sequences` names the outputs that are lists of arrays."""
        self.model = model
        self._sequences = sequences

    def run(
        self, inputs: Sequence[Any] | Mapping[str, Any] | Array, **kwargs: Any
    ) -> tuple[Array, ...]:
        """
        The outputs in order.

        Raises ModelError for another number of inputs, other names, shapes or dtypes, TypeError for
        options, of which there are none.
        """
        if kwargs:
            raise TypeError(f"unknown options: {', '.join(kwargs)}")
        if not isinstance(inputs, Mapping):
            specs = self.model.signature.inputs
            arrays = _in_order(inputs, len(specs), few(specs))
            inputs = {spec.name: array for spec, array in zip(specs, arrays, strict=True)}
        return grouped(self.model.run(inputs), self._sequences)


def output_sequences(model: ModelProto) -> frozenset[str]:
    """The outputs of a model that are sequences."""
    return frozenset(
        each.name
        for each in model.graph.output
        if each.type.HasField("sequence_type")
        or each.type.optional_type.elem_type.HasField("sequence_type")
    )


def grouped(arrays: Mapping[str, Array], sequences: Collection[str]) -> tuple[Any, ...]:
    """The outputs in order; those of a sequence, `name.0`, `name.1`, …, become one list."""
    found: dict[str, Any] = dict.fromkeys(sequences) if not arrays else {}
    for name, array in arrays.items():
        whole = name.rpartition(".")[0]
        if whole in sequences:
            found.setdefault(whole, []).append(array)
        else:
            found[name] = array
    return tuple([] if each is None else each for each in found.values())


def _in_order(inputs: object, count: int, expected: str) -> Sequence[Any]:
    """
    Inputs in order, of which one array may stand for itself.

    Raises ModelError when there are more or fewer, and when it is not given a list.
    """
    if isinstance(inputs, np.ndarray):
        given: Sequence[Any] = [cast(Array, inputs)]
    elif isinstance(inputs, list | tuple):
        given = cast(Sequence[Any], inputs)
    else:
        raise ModelError(f"the inputs are {kind_of(inputs)}, expected a list of {expected}")
    if len(given) != count:
        raise ModelError(f"{count_given(len(given), 'input')}, expected {expected}")
    return given


class XRelayBackend(Backend):
    """Compiles ONNX models for the CPU."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> CompiledRep:
        """
        Compiles a model. Options are those of `xrelay.compile`.

        Raises unittest.SkipTest, as ONNX's test runner expects, for what is not supported, and
        OptionError for options that are none.
        """
        if not cls.supports_device(device):
            raise SkipTest(f"device {device} is not supported")
        given = cast(object, model)
        if not isinstance(given, ModelProto | str | Path):
            raise ModelError(f"the model is {shown(model)}, expected an onnx.ModelProto")
        try:
            sequences = output_sequences(given) if isinstance(given, ModelProto) else ()
            return CompiledRep(compile_model(model, **kwargs), sequences)
        except (ModelError, OptionError):
            # LLVM or the system's tools refuse what we generate, or the caller asks for something
            # that does not exist: a failure, not a lack of support.
            raise
        except DiagnosticException as error:
            raise SkipTest(str(error)) from error

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...] | None:
        """
        The outputs of a single node, run as a model. `opset_version=` says of which operator set
        it is; other options are those of `xrelay.compile`.

        Raises ModelError when `node` or its inputs are of a wrong kind, and what `prepare` and `run` raise.
        """
        del outputs_info
        if not isinstance(cast(object, node), NodeProto):
            raise ModelError(f"the node is {shown(node)}, expected an onnx.NodeProto")
        newest = onnx_opset_version()
        opset = kwargs.pop("opset_version", newest)
        opset = number_argument("opset_version", opset, 1, newest, ModelError)
        names = [name for name in node.input if name]
        given = _in_order(inputs, len(names), f"{len(names)}: {few(names)}")
        arrays = [_array(name, each) for name, each in zip(names, given, strict=True)]
        graph = helper.make_graph(
            [node],
            node.op_type,
            [
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
                )
                for name, array in zip(names, arrays, strict=True)
            ],
            [ValueInfoProto(name=name) for name in node.output if name],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])
        return cls.prepare(model, device, **kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether `device` is a CPU."""
        try:
            return Device(device).type == DeviceType.CPU
        except (AttributeError, TypeError, ValueError):
            return False


def _array(name: str, value: object) -> Array:
    """An input of a node. Raises ModelError for what ONNX has no type for."""
    try:
        array = np.asarray(value)
        helper.np_dtype_to_tensor_dtype(array.dtype)
    except (TypeError, ValueError) as error:
        raise ModelError(f"input '{name}' is no array of a type that ONNX has: {error}") from error
    return array


prepare = XRelayBackend.prepare
is_compatible = XRelayBackend.is_compatible
run_model = XRelayBackend.run_model
run_node = XRelayBackend.run_node
supports_device = XRelayBackend.supports_device
