"""
What an engine has to provide to run parts of programs ("bring your own codegen").

    class Rectifier(Backend):
        name = "rectifier"

        def supports(self, op, types):
            return Yes() if isinstance(op, ReluOp) else No("the engine rectifies only")

        def compile(self, function, options):
            return lambda inputs, outputs: [np.maximum(inputs[0], 0)] * len(outputs)

A *region* is a function of a partitioned program: a part that one backend runs. Its parameters and
results are tensors, tuples flattened from the left, and come as C-contiguous NumPy arrays.

Source: Relay's BYOC (`relay.ext.<name>`, `target.<name>`, `register_pattern_table`, `RelayToTIR`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.partition.compilers import Compiler, No, Support, Yes
from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.interpreters.arrays import Array

__all__ = [
    "Array",
    "Backend",
    "BackendError",
    "CompiledRegion",
    "CompositePattern",
    "FusionStyle",
    "No",
    "ObjectFile",
    "PartitionRule",
    "RegionOptions",
    "Support",
    "Yes",
]

CompiledRegion: TypeAlias = Callable[[Sequence[Array], Sequence[Array]], Sequence[Array] | None]
"""
Runs a region on its inputs. It either fills the outputs, arrays of the right shapes and dtypes, and
returns None, or returns arrays of its own in their place, which it does not change afterwards.
It may be called from several threads at once.
"""


class BackendError(DiagnosticException):
    """A backend is missing, or cannot compile or run what it was given."""


@dataclass(frozen=True)
class ObjectFile:
    """
    A region as machine code for this processor: a relocatable ELF file for Linux on 64-bit x86; other
    systems do not load object files. `symbol` is

        int <symbol>(const void *const *inputs, void *const *outputs)

    which returns 0, or another number when it fails.
    """

    content: bytes
    symbol: str


class FusionStyle(Enum):
    """Which operators of an engine may be one region, when placement makes candidates."""

    NONE = "none"
    """One operator, or one pattern: libraries of kernels."""
    RELAY = "relay"
    """What Relay's fusion makes one kernel."""
    ANY = "any"
    """Any that touch: engines that optimise graphs."""


class PartitionRule:
    """
    What a backend says itself about the parts of programs that it could run. Those that placement knows are
    in `xrelay.placement.rules`.
    """


@dataclass(frozen=True)
class RegionOptions:
    """What all regions of a program share."""

    threads: int = 1
    """How many threads a region may use."""
    onnx: bytes | None = None
    """
    The region as the nodes of the ONNX model that it comes from, when it is made of whole ones, for backends that
    take ONNX: its inputs and outputs are those of the region, in order. None otherwise.
    """


class Backend(ABC):
    """An engine. It is made once for each compilation."""

    name: str
    """Its name, in `Compiler` attributes, and in those of composites, `<name>.<pattern>`."""
    bind_constants: bool = True
    """Whether constants are in its regions; they are parameters otherwise."""

    special_numbers: bool = True
    """Whether NaN, infinities and -0 come out as IEEE 754 has them."""

    takes_onnx: bool = False
    """
    Whether it takes `RegionOptions.onnx`, where that is known, in place of the function that it is given, whose large constants may
    have no elements then.
    """

    fusion_style: FusionStyle = FusionStyle.ANY
    """Which of its operators placement considers as one region."""

    def __init__(self, argument: str = ""):
        """
        `argument` is what follows the colon in `name:argument`, the file of a configuration for
        example.

        Raises BackendError for an argument that makes no sense.
        """
        if argument:
            raise BackendError(f"backend '{self.name}' takes no argument, found '{argument}'")

    def patterns(self) -> Sequence[CompositePattern]:
        """Groups of operators that the engine runs as one, the preferred ones first."""
        return ()

    def partition_rule(self) -> PartitionRule | None:
        """
        Which parts of a program it could run, as a rule of `xrelay.placement.rules`. None leaves that to
        `patterns`, `supports` and `fusion_style`.
        """
        return None

    @abstractmethod
    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        """Whether the engine runs an operator on operands of these types, else the reason."""

    def optimize(self, module: ModuleOp) -> None:  # noqa: B027 an offer, not a demand
        """Rewrites a module that holds one region, in place, before it is compiled."""

    def lower(self, module: ModuleOp) -> bool:
        """
        Rewrites a module that holds one region, in place, into what xrelay's own code generator compiles, and returns
        True. False leaves the region, as it came, to `compile`.
        """
        return False

    def compiler(self) -> Compiler:
        """What the passes that cut programs into regions know of this engine."""
        return Compiler(
            self.name,
            self.supports,
            tuple(self.patterns()),
            self.optimize,
            self.lower,
            bind_constants=self.bind_constants,
        )

    @abstractmethod
    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion | ObjectFile:
        """
        Makes a region ready to run. What it raises is reported with the region, its operators and
        the backend.
        """
