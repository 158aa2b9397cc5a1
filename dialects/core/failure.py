"""What ends a program that cannot go on."""

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import MemoryWriteEffect

from xrelay.dialects.base import RelayOp, operators
from xrelay.dialects.fields import Text, prop
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind


@irdl_op_definition
class FailOp(RelayOp):
    """
    Ends the program with an error that says `message`; there is no value. Where it is not reached, nothing happens. Machine code
    ends loops and calls, and tells the first failure of a run, which has no results; what it computes until then means nothing.

    Source: this project; Relay's virtual machine has an instruction `Fatal`, which it compiles incomplete matches to.
    """

    name = "relay.fail"

    message: Text = prop()
    result = result_def()
    assembly_format = "$message attr-dict `:` type($result)"
    # Nothing may bring it out of the branch that it stands in.
    traits = traits_def(
        MemoryWriteEffect(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational()
    )

    def __init__(self, message: str, result_type: Attribute):
        self.initialize([], {"message": StringAttr(message)}, result_type)

    def infer_type(self) -> Attribute:
        return self.result.type


FAILURE_OPS = operators(__name__)
