"""Regions run by OpenVINO on the CPU."""

from collections import deque
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Attribute, Operation

from xrelay.backends.base import (
    Array,
    Backend,
    BackendError,
    CompiledRegion,
    No,
    RegionOptions,
    Support,
    Yes,
)
from xrelay.frontends.onnx.exporter import export_model, reason_not_exported


class OpenVinoBackend(Backend):
    """Runs what ONNX can express, in f32. Inputs and outputs share the memory of the arrays."""

    name = "openvino"

    def __init__(self, argument: str = ""):
        super().__init__(argument)
        try:
            self.engine: Any = import_module("openvino")
        except ImportError as error:
            raise BackendError(
                "backend 'openvino' needs the package openvino, which is not installed"
            ) from error
        self.core: Any = self.engine.Core()

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        reason = reason_not_exported(op)
        return Yes() if reason is None else No(reason)

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        settings = {
            "INFERENCE_NUM_THREADS": options.threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
        }
        model = self.core.read_model(export_model(function).SerializeToString())
        compiled = self.core.compile_model(model, "CPU", settings)
        idle = deque[Any]()
        """Requests that no run uses."""
        tensor = self.engine.Tensor

        def run(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            try:
                request = idle.pop()
            except IndexError:
                request = compiled.create_infer_request()
            try:
                for i, array in enumerate(inputs):
                    request.set_input_tensor(i, tensor(array, shared_memory=True))
                for i, array in enumerate(outputs):
                    request.set_output_tensor(i, tensor(array, shared_memory=True))
                request.infer()
            finally:
                idle.append(request)

        return run
