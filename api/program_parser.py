"""The parser of programs in MLIR's syntax."""

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    RankedStructure,
)
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.lexer import Span

from xrelay.dialects.shapes import element_count
from xrelay.places import Places


class ProgramParser(Parser):
    """
    xDSL's parser, but for two things: it notes where operations stand, and takes a hexadecimal
    element of a dense attribute of floats for its bits, as MLIR does and as xDSL prints infinities,
    NaN and large whole numbers. xDSL reads it as a whole number.
    """

    def __init__(self, ctx: Context, text: str, name: str, places: Places | None = None):
        super().__init__(ctx, text, name)
        self._places = {} if places is None else places
        self._elements: list[Span[str]] = []
        """Where the elements of the present dense attribute stand."""

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


def _is_hexadecimal(element: Span[str]) -> bool:
    return "0x" in element.text
