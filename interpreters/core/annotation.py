"""Annotations in NumPy: identities."""

from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.core import annotation
from xrelay.interpreters.base import identity


@register_impls
class AnnotationFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.core.annotation`."""

    run_stop_fusion = identity(annotation.StopFusionOp)
    run_cast_hint = identity(annotation.CastHintOp)
    run_checkpoint = identity(annotation.CheckpointOp)
    run_compiler_begin = identity(annotation.CompilerBeginOp)
    run_compiler_end = identity(annotation.CompilerEndOp)
