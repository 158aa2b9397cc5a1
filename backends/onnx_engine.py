"""What engines share that take ONNX models: which operators can be expressed, and which are wanted."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Attribute, Operation

from xrelay.analysis.facts.names import short_name
from xrelay.analysis.facts.suggestions import did_you_mean
from xrelay.backends.base import Backend, BackendError, No, RegionOptions, Support
from xrelay.dialects.relay import Relay
from xrelay.frontends.onnx.exporter.model import export_model, reason_not_exported


class OnnxEngine(Backend, ABC):
    """An engine that runs what ONNX can express. Its argument may list the operators that it is to take."""

    def __init__(self, argument: str = ""):
        """`argument` has names of operators with commas between them; by default it takes all."""
        super().__init__()
        self.wanted = tuple(name.removeprefix("relay.") for name in argument.split(",") if name)
        # Nodes are not what the list names.
        self.takes_onnx = not self.wanted
        known = {op.name.removeprefix("relay.") for op in Relay.operations}
        for name in self.wanted:
            if name not in known:
                raise BackendError(
                    f"backend '{self.name}': there is no operator '{name}'"
                    f"{did_you_mean(name, known)}"
                )
        try:
            self.engine: Any = import_module(self.name)
        except ImportError as error:
            raise BackendError(
                f"backend '{self.name}' needs the package {self.name}, which is not installed"
            ) from error

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        if self.wanted and short_name(op) not in self.wanted:
            return No("it is not among the operators that the backend is to take")
        reason = reason_not_exported(op)
        return self.runs(op, types) if reason is None else No(reason)

    @abstractmethod
    def runs(self, op: Operation, types: Sequence[Attribute]) -> Support:
        """Whether the engine runs an operator that ONNX can express."""

    def onnx(self, function: func.FuncOp, options: RegionOptions) -> bytes:
        """A region as an ONNX model: the nodes that it was, or those that it is now."""
        if options.onnx is not None:
            return options.onnx
        return export_model(function, function.sym_name.data).SerializeToString()
