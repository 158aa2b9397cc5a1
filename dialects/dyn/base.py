"""
The base of operators whose result has a shape that operands decide.

Each is the operator of the same name without `dyn.`, with operands in place of attributes. Where
these operands are constants, the type of the result is the one of that operator; otherwise the
dimensions that they decide are unknown.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.constants import constant_numbers
from xrelay.dialects.shapes import integer_tensor, integer_vector, is_tensor_type, with_shape
from xrelay.dialects.traits import ShapeDataDependent

Number = int | float
UNKNOWN = DYNAMIC_INDEX


class DynamicOp(RelayOp, ABC):
    """An operator whose result has a shape that the elements of some operands decide. Subclasses state their pattern kind."""

    DECIDING: ClassVar[tuple[str, ...]]
    """The names of these operands."""

    traits = traits_def(Pure(), ShapeDataDependent())

    @abstractmethod
    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        """
        The operator that does the same for known elements of the deciding operands, on values in
        place of the other operands.

        Raises VerifyException for elements that make no sense.
        """

    @abstractmethod
    def unknown_type(self) -> Attribute:
        """The type of the result when nothing is known of the deciding operands' elements."""

    @property
    def deciding(self) -> tuple[SSAValue, ...]:
        """The operands whose elements decide."""
        return tuple(getattr(self, name) for name in self.DECIDING)

    @property
    def kept(self) -> tuple[SSAValue, ...]:
        """The other operands."""
        names = [name for name, _ in self.get_irdl_definition().operands]
        return tuple(getattr(self, name) for name in names if name not in self.DECIDING)

    def infer_type(self) -> Attribute:
        unknown = self.unknown_type()
        numbers: list[Sequence[Number]] = []
        for value in self.deciding:
            known = constant_numbers(value)
            if known is None:
                return unknown
            numbers.append(known)
        return type_of_result(lambda *kept: self.specialised(kept, numbers), self.kept)


def type_of_result(build: Callable[..., RelayOp], operands: Sequence[SSAValue]) -> Attribute:
    """
    The type of the result that an operator would have on these operands. It is built in a block of
    its own, on other values: type inference leaves the program as it is.
    """
    block = Block(arg_types=[value.type for value in operands])
    # An implicit builder further out would put the operator into the program.
    with ImplicitBuilder(block):
        return build(*block.args).results[0].type


def resized(type_: Attribute, layout: StringAttr, spatial: str) -> Attribute:
    """A type of this layout without knowledge of the spatial axes."""
    assert is_tensor_type(type_)
    shape = zip(type_.get_shape(), layout.data, strict=True)
    return with_shape(type_, [UNKNOWN if letter in spatial else dim for dim, letter in shape])


def integers(numbers: Sequence[Number]) -> list[int]:
    """Numbers of an integer operand."""
    return [int(number) for number in numbers]


def known_length(value: SSAValue, what: str) -> int:
    """The length of an operand of rank 1, which the type must state."""
    length = integer_vector(value, what)
    if length == UNKNOWN:
        raise VerifyException(f"'{what}' is {value.type}, expected a known length")
    return length


def one_integer(value: SSAValue, what: str) -> None:
    """Refuses operands that are not a scalar, or one element of rank 1."""
    type_ = integer_tensor(value, what)
    if tuple(type_.get_shape()) not in ((), (1,)):
        raise VerifyException(f"'{what}' is {type_}, expected one integer")
