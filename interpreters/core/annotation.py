"""Annotations in NumPy: identities."""

from typing import Any

from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.core import annotation
from xrelay.interpreters.base import meaning


@register_impls
class AnnotationFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.annotation`."""

    @meaning
    def run_stop_fusion(self, op: annotation.StopFusionOp, data: Any) -> Any:
        return data

    @meaning
    def run_cast_hint(self, op: annotation.CastHintOp, data: Any) -> Any:
        return data

    @meaning
    def run_checkpoint(self, op: annotation.CheckpointOp, data: Any) -> Any:
        return data

    @meaning
    def run_compiler_begin(self, op: annotation.CompilerBeginOp, data: Any) -> Any:
        return data

    @meaning
    def run_compiler_end(self, op: annotation.CompilerEndOp, data: Any) -> Any:
        return data
