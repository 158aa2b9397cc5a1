"""The parser of programs in MLIR's syntax."""

from collections.abc import Iterable
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    RankedStructure,
)
from xdsl.ir import Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.utils.lexer import Span

from xrelay.dialects.shapes import element_count
from xrelay.places import Places


class ProgramParser(Parser):
    """
    xDSL's parser, but for three things: it notes where operations stand, takes no copy of all values for
    each region, and takes a hexadecimal element of a dense attribute of floats for its bits, as MLIR does
    and as xDSL prints infinities, NaN and large whole numbers. xDSL reads it as a whole number.
    """

    def __init__(self, ctx: Context, text: str, name: str, places: Places | None = None):
        super().__init__(ctx, text, name)
        self.ssa_values = self._values = _ScopedValues()
        self._places = {} if places is None else places
        self._elements: list[Span[str]] = []
        """Where the elements of the present dense attribute stand."""

    def parse_optional_region(
        self, arguments: Iterable[Parser.Argument] | None = None
    ) -> Region | None:
        region = super().parse_optional_region(arguments)
        if region is not None:
            self._values.end_scope()
        return region

    def parse_operation(self) -> Operation:
        place = self._current_token.span
        op = super().parse_operation()
        self._places[op] = place
        return op

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        self._elements = []
        attribute = super().parse_dense_int_or_fp_elements_attr(type)
        dtype = attribute.get_element_type()
        if not isinstance(dtype, AnyFloat) or not any(map(_is_hexadecimal, self._elements)):
            return attribute
        values = [
            self._float(element, dtype) if _is_hexadecimal(element) else value
            for element, value in zip(self._elements, attribute.get_values(), strict=False)
        ]
        type_ = cast(RankedStructure[AnyFloat], attribute.type)
        if len(values) == 1:
            values *= element_count(type_.get_shape())
        return DenseIntOrFPElementsAttr.from_list(type_, cast(list[float], values))

    def _parse_tensor_literal_element(self) -> Parser._TensorLiteralElement:
        element = super()._parse_tensor_literal_element()
        self._elements.append(element.span)
        return element

    def _float(self, element: Span[str], dtype: AnyFloat) -> float:
        """The number of these bits."""
        if element.text.startswith("-"):
            self.raise_error(f"'{element.text}' has a sign, expected bits of {dtype}", element)
        bits = int(element.text, 16)
        if bits.bit_length() > dtype.bitwidth:
            self.raise_error(f"{element.text} has more bits than {dtype}", element)
        return dtype.unpack(bits.to_bytes(dtype.compile_time_size, "little"), 1)[0]


class _ScopedValues(dict[str, tuple[SSAValue, ...]]):
    """
    The values of names. xDSL's parser copies all of them for each region, which takes quadratic time and
    memory; here a copy is a mark in a list of what was added.
    """

    def __init__(self):
        super().__init__()
        self.names: list[str] = []
        """The names, in the order in which they were defined: each only once, says the parser."""
        self.marks: list[int] = []
        """How many names there were at the begin of each open scope."""

    def __setitem__(self, name: str, values: tuple[SSAValue, ...]) -> None:
        super().__setitem__(name, values)
        self.names.append(name)

    def copy(self) -> "_ScopedValues":
        """Begins a scope."""
        self.marks.append(len(self.names))
        return self

    def end_scope(self) -> None:
        """Forgets what was defined since the last scope began."""
        first = self.marks.pop()
        for name in self.names[first:]:
            del self[name]
        del self.names[first:]


def _is_hexadecimal(element: Span[str]) -> bool:
    return "0x" in element.text
