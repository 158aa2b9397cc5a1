"""
What computes an operator of a `relay.fused`: an attribute that a pass writes and people edit.

    %0 = relay.fused %x attributes {strategies = [
      #relay.strategy<anchor 0 "relay.nn.conv2d" by "blocked", rows = 2, columns = 7, vectors = 2>]} …
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class StatedStrategy:
    """The implementation of one operator, and the numbers that its loops are made with."""

    number: int
    """Which operation of the body it is, counted from 0."""
    operator: str
    """Its name, for the reader and the verifier."""
    implementation: str
    is_anchor: bool = False
    """Whether the operators behind it run on its registers. Others leave their results in memory."""
    parameters: tuple[tuple[str, int], ...] = ()
    """By name. Those that are not stated are chosen when code is generated."""


@irdl_attr_definition
class StrategyAttr(Data[StatedStrategy]):
    """
    `#relay.strategy<anchor 2 "relay.nn.dense" by "panels", rows = 8, vectors = 3>`: `anchor` or
    `operator`, the number and the name of an operator of the body, its implementation, and parameters.

    Source: IREE's `#iree_codegen.translation_info` and `lowering_config`.
    """

    name = "relay.strategy"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> StatedStrategy:
        with parser.in_angle_brackets():
            is_anchor = parser.parse_optional_keyword("anchor") is not None
            if not is_anchor:
                parser.parse_keyword("operator")
            number = parser.parse_integer(allow_boolean=False, allow_negative=False)
            operator = parser.parse_str_literal(" with the name of the operator")
            parser.parse_keyword("by")
            implementation = parser.parse_str_literal(" with the name of the implementation")
            parameters: list[tuple[str, int]] = []
            while parser.parse_optional_punctuation(",") is not None:
                name = parser.parse_identifier(" with the name of a parameter")
                parser.parse_punctuation("=")
                value = parser.parse_integer(allow_boolean=False, allow_negative=False)
                parameters.append((name, value))
        return StatedStrategy(number, operator, implementation, is_anchor, tuple(parameters))

    def print_parameter(self, printer: Printer) -> None:
        stated = self.data
        with printer.in_angle_brackets():
            printer.print_string("anchor " if stated.is_anchor else "operator ")
            printer.print_int(stated.number)
            printer.print_string(" ")
            printer.print_string_literal(stated.operator)
            printer.print_string(" by ")
            printer.print_string_literal(stated.implementation)
            for name, value in stated.parameters:
                printer.print_string(f", {name} = {value}")

    def verify(self) -> None:
        names = [name for name, _ in self.data.parameters]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise VerifyException(f"parameter '{twice}' is stated twice")


def verify_strategies(stated: Sequence[StrategyAttr], body: Sequence[Operation]) -> None:
    """Raises VerifyException unless strategies are those of operators of a body, in its order."""
    before = -1
    for each in (attr.data for attr in stated):
        if each.number >= len(body):
            raise VerifyException(
                f"'strategies' has operator {each.number}, the body has {len(body)} operators"
            )
        found = body[each.number].name
        if found != each.operator:
            raise VerifyException(
                f"'strategies' says that operator {each.number} is {each.operator}, it is {found}"
            )
        if each.number <= before:
            raise VerifyException(
                f"'strategies' has operator {each.number} behind operator {before}, "
                "expected each once and in order"
            )
        before = each.number
    if any(attr.data.is_anchor for attr in stated[:-1]):
        raise VerifyException("'strategies' has an anchor that is not the last operator")
