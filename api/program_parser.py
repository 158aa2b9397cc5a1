"""The parser of programs in MLIR's syntax."""

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    RankedStructure,
    TensorType,
)
from xdsl.ir import Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Span

from xrelay.dialects.core.dense import with_bits
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.dialects.shapes import element_count
from xrelay.places import Places

_PASSED_ON = (ParseError, RecursionError, MemoryError)
"""What has a place already, or is about more than one operation."""


class ProgramParser(Parser):
    """
    xDSL's parser, but for five things: it notes where operations stand, says where whatever it refuses stands, takes
    no copy of all values for each region, and takes a hexadecimal element of a dense attribute of floats for
    its bits, as MLIR does and as xDSL prints infinities, NaN and large whole numbers. xDSL reads it as a whole number.
    A number that stands for all elements of a tensor is repeated as bytes, and no more often than `limits` allows.
    """

    def __init__(
        self,
        ctx: Context,
        text: str,
        name: str,
        places: Places | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ):
        super().__init__(ctx, text, name)
        self._limits = limits
        self.ssa_values = self._values = _ScopedValues()
        self._places = {} if places is None else places
        self._is_splat = False
        """Whether it is one element without brackets."""
        self._repeated: RankedStructure[AnyDenseElement] | None = None
        """The type all of whose elements this one stands for."""

    def _parse_alias_def(self) -> None:
        place = self._current_token.span
        try:
            super()._parse_alias_def()
        except _PASSED_ON:
            raise
        except Exception as error:
            raise _placed(error, place) from error

    def parse_optional_region(
        self, arguments: Iterable[Parser.Argument] | None = None
    ) -> Region | None:
        region = super().parse_optional_region(arguments)
        if region is not None:
            self._values.end_scope()
        return region

    def parse_operation(self) -> Operation:
        place = self._current_token.span
        try:
            op = super().parse_operation()
        except _PASSED_ON:
            raise
        except Exception as error:
            # What the verifier says of properties, and assertions of the parser.
            raise _placed(error, place) from error
        self._places[op] = place
        return op

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        self._is_splat, self._repeated = False, None
        place = self._current_token.span
        try:
            attribute = super().parse_dense_int_or_fp_elements_attr(type)
            attribute = with_bits(attribute, self.lexer.input.content[place.start : self.pos])
            if self._repeated is None:
                return attribute
            content = attribute.data.data * element_count(self._repeated.get_shape())
        except MemoryError:
            self.raise_error("there is no memory for the elements of this attribute")
        except (ValueError, OverflowError, VerifyException) as error:
            raise _placed(error, place) from error
        return DenseIntOrFPElementsAttr(self._repeated, BytesAttr(content))

    def _parse_tensor_literal(self) -> tuple[list[Parser._TensorLiteralElement], list[int]]:
        elements, shape = super()._parse_tensor_literal()
        self._is_splat = not shape
        return elements, shape

    def _parse_dense_literal_type(self) -> RankedStructure[AnyDenseElement]:
        """The type of a tensor of one element, where xDSL would make a list of a number's repetitions."""
        begin = self.pos
        type_ = super()._parse_dense_literal_type()
        size = element_count(type_.get_shape()) * type_.element_type.compile_time_size
        excess = self._limits.bytes_excess(size)
        if excess is not None:
            self.raise_error(f"this attribute has {excess}", begin, self._current_token.span.start)
        if not self._is_splat:
            return type_
        self._repeated = type_
        return TensorType(type_.element_type, [])


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


def _placed(error: Exception, place: Span[str]) -> ParseError:
    """The same with a place, for what has none."""
    return ParseError(place, str(error) or "this cannot be parsed")
