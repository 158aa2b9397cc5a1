"""The parser of programs in MLIR's syntax."""

import re
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

from xrelay.dialects.shapes import element_count
from xrelay.places import Places

_ELEMENTS = re.compile(r"[^\s,\[\]<]+")
_HEXADECIMAL = re.compile("0x[0-9A-Fa-f]+")


class ProgramParser(Parser):
    """
    xDSL's parser, but for two things: it notes where operations stand, and takes a hexadecimal
    element of a dense attribute of floats for its bits, as MLIR does and as xDSL prints infinities,
    NaN and large whole numbers. xDSL reads it as a whole number.
    """

    def __init__(self, ctx: Context, text: str, name: str, places: Places | None = None):
        super().__init__(ctx, text, name)
        self._places = {} if places is None else places

    def parse_operation(self) -> Operation:
        place = self._current_token.span
        op = super().parse_operation()
        self._places[op] = place
        return op

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        start = self.pos
        attribute = super().parse_dense_int_or_fp_elements_attr(type)
        dtype = attribute.get_element_type()
        literal = self.lexer.input.content[start : self.pos].partition(">")[0]
        elements = _ELEMENTS.findall(re.sub("//.*", "", literal))
        if not isinstance(dtype, AnyFloat) or not any(map(_HEXADECIMAL.match, elements)):
            return attribute
        values = [
            self._float(element, dtype) if _HEXADECIMAL.match(element) else value
            for element, value in zip(elements, attribute.get_values(), strict=False)
        ]
        type_ = cast(RankedStructure[AnyFloat], attribute.type)
        if len(elements) == 1:
            values *= element_count(type_.get_shape())
        return DenseIntOrFPElementsAttr.from_list(type_, cast(list[float], values))

    def _float(self, element: str, dtype: AnyFloat) -> float:
        """The number of these bits."""
        bits = int(element, 16)
        if bits.bit_length() > dtype.bitwidth:
            self.raise_error(f"{element} has more bits than {dtype}")
        return dtype.unpack(bits.to_bytes(dtype.compile_time_size, "little"), 1)[0]
