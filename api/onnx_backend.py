"""
xrelay as an ONNX backend: `import xrelay.onnx_backend as backend; backend.prepare(model)`.

Source: `onnx.backend.base`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest import SkipTest

import numpy as np
from onnx import ModelProto, NodeProto
from onnx.backend.base import Backend, BackendRep, Device, DeviceType
from xdsl.utils.exceptions import DiagnosticException

from xrelay.compiler import compile_model
from xrelay.runtime.model import Array, Model


class CompiledRep(BackendRep):
    """A compiled model that is run on arrays in the order of its inputs, or by name."""

    def __init__(self, model: Model):
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
        """Single nodes are run as models."""
        raise SkipTest("nodes are run as models: use run_model")

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether `device` is a CPU."""
        try:
            return Device(device).type == DeviceType.CPU
        except (AttributeError, ValueError):
            return False


prepare = XRelayBackend.prepare
run_model = XRelayBackend.run_model
run_node = XRelayBackend.run_node
supports_device = XRelayBackend.supports_device
