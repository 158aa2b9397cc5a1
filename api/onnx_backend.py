"""
xrelay as an ONNX backend: `import xrelay.onnx_backend as backend; backend.prepare(model)`.

Source: `onnx.backend.base`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest import SkipTest

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType
from onnx.defs import onnx_opset_version
from xdsl.utils.exceptions import DiagnosticException

from xrelay.cached import compile_model
from xrelay.runtime.errors import ModelError
from xrelay.runtime.model import Array, Model
from xrelay.runtime.partitioned import PartitionedModel


class CompiledRep(BackendRep):
    """A compiled model that is run on arrays in the order of its inputs, or by name."""

    def __init__(self, model: Model | PartitionedModel):
        self.model = model

    def run(
        self, inputs: Sequence[Any] | Mapping[str, Any] | Array, **kwargs: Any
    ) -> tuple[Array, ...]:
        """
        The outputs in order.

        Raises ModelError for other names, shapes or dtypes, TypeError for options.
        """
        if kwargs:
            raise TypeError(f"unknown options: {', '.join(kwargs)}")
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if not isinstance(inputs, Mapping):
            names = [spec.name for spec in self.model.signature.inputs]
            if len(names) != len(inputs):
                raise TypeError(f"{len(inputs)} inputs given, the model takes {len(names)}")
            inputs = dict(zip(names, inputs, strict=True))
        return tuple(self.model.run(inputs).values())


class XRelayBackend(Backend):
    """Compiles ONNX models for the CPU."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> CompiledRep:
        """
        Compiles a model. Options are those of `xrelay.compile`.

        Raises unittest.SkipTest, as ONNX's test runner expects, for what is not supported.
        """
        if not cls.supports_device(device):
            raise SkipTest(f"device {device} is not supported")
        try:
            return CompiledRep(compile_model(model, **kwargs))
        except ModelError:
            # LLVM or the system's tools refuse what we generate: a failure, not a lack of support.
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
        """
        del outputs_info
        opset = kwargs.pop("opset_version", onnx_opset_version())
        names = [name for name in node.input if name]
        arrays = [np.asarray(each) for each in inputs]
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
        except (AttributeError, ValueError):
            return False


prepare = XRelayBackend.prepare
is_compatible = XRelayBackend.is_compatible
run_model = XRelayBackend.run_model
run_node = XRelayBackend.run_node
supports_device = XRelayBackend.supports_device
