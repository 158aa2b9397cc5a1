"""Operators that mark places in a graph for passes. They return their operand."""

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators
from xrelay.dialects.fields import AnyValue, Dtype, Text, operand, prop
from xrelay.dialects.shapes import element_type
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind


class AnnotationOp(RelayOp):
    """An identity on `data`, opaque to fusion."""

    data: AnyValue = operand()
    result = result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        return self.data.type


@irdl_op_definition
class StopFusionOp(AnnotationOp):
    """
    No fusion crosses this operator; `fuse-ops` removes it.

    Source: Relay's `annotation.stop_fusion`.
    """

    name = "relay.annotation.stop_fusion"


class CompilerAnnotationOp(AnnotationOp):
    """
    Marks a border of a region for the compiler named `compiler`. It stays outside of kernels, so
    that regions can be merged and partitioned after fusion too.
    """

    compiler: Text = prop()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())
    assembly_format = "$data `compiler` $compiler attr-dict `:` functional-type(operands, results)"

    def infer_type(self) -> Attribute:
        if not self.compiler.data:
            raise VerifyException("'compiler' is empty, expected the name of a compiler")
        return super().infer_type()


@irdl_op_definition
class CompilerBeginOp(CompilerAnnotationOp):
    """
    An input of a region for `compiler`.

    Source: Relay's `annotation.compiler_begin`.
    """

    name = "relay.annotation.compiler_begin"


@irdl_op_definition
class CompilerEndOp(CompilerAnnotationOp):
    """
    An output of a region for `compiler`.

    Source: Relay's `annotation.compiler_end`.
    """

    name = "relay.annotation.compiler_end"


@irdl_op_definition
class CastHintOp(AnnotationOp):
    """
    Says that `data`, which stays as it is, is to become `dtype` when the program is quantised.

    Source: Relay's `annotation.cast_hint`.
    """

    name = "relay.annotation.cast_hint"
    dtype: Dtype = prop()

    def infer_type(self) -> Attribute:
        element_type(self.dtype, "dtype")
        return self.data.type


@irdl_op_definition
class CheckpointOp(AnnotationOp):
    """
    Says that `data`, a tensor or a tuple, is kept between the forward and the backward pass of
    training, and not computed again.

    Source: Relay's `annotation.checkpoint`.
    """

    name = "relay.annotation.checkpoint"


ANNOTATION_OPS = operators(__name__)
