"""
Attributes of operators: from the text to the properties of the dialect and back.

The mapping follows from the definitions of the operators: names, types and defaults of their
properties, and the names of their operands. The tables at the end of the file are what differs.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrConstraint,
    IRDLOperation,
    OptOperandDef,
    OptPropertyDef,
    PropertyDef,
    VarOperandDef,
)
from xdsl.irdl.constraints import VerificationContext
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.relay import Relay
from xrelay.dialects.shapes import boolean, int_array, integer, real, string
from xrelay.frontends.relay_text.syntax import AttrValue
from xrelay.frontends.relay_text.types import element_type_name, element_type_named

NO_OPERATORS = frozenset(
    {
        "annotation", "apply", "closure", "composite", "constant", "construct", "constructor_var",
        "fused", "global_var", "instantiate", "let", "match", "ref_create", "ref_read", "ref_write", "tuple",
        "tuple_get_item", "type_def", "yield",
    }
)  # fmt: skip
"""Operations of the dialect that the text does not call by name."""


def _satisfies(attribute: Attribute, constraint: AttrConstraint) -> bool:
    try:
        constraint.verify(attribute, VerificationContext())
    except VerifyException:
        return False
    return True


class Schema:
    """What the text needs to know of an operator."""

    def __init__(self, op: type[RelayOp]):
        definition = cast(type[IRDLOperation], op).get_irdl_definition()
        self.op = op
        self.name = op.name.removeprefix("relay.")
        self.operands = tuple(name for name, _ in definition.operands)
        self.constraints = tuple(operand.constr for _, operand in definition.operands)
        self.kinds = tuple(_operand_kind(operand) for _, operand in definition.operands)
        """For each operand "one", "optional" or "many"."""
        self.fewest = self.kinds.count("one")
        self.most = None if "many" in self.kinds else len(self.kinds)
        self.segmented = self.fewest != self.most
        """Whether the numbers of its operands vary, so that a plain list does not do."""
        self.properties: Mapping[str, PropertyDef] = definition.properties
        self.defaults = {
            name: value.default_value
            for name, value in definition.properties.items()
            if value.default_value is not None
        }
        self.required = tuple(
            name
            for name, value in definition.properties.items()
            if value.default_value is None and not isinstance(value, OptPropertyDef)
        )
        self.nullable = frozenset(
            name
            for name, value in definition.properties.items()
            if isinstance(value, OptPropertyDef) and not _satisfies(f64, value.constr)
        )
        """Optional properties that are null objects in TVM, which wants them stated. An element
        type is no object."""
        self._known: dict[tuple[str, Any], Attribute] = {}
        self._accepted: dict[tuple[str, Attribute], bool] = {}

    def takes(self, index: int, type_: Attribute) -> bool:
        """Whether the operand at `index` can be of a type."""
        constraint = self.constraints[min(index, len(self.constraints) - 1)]
        try:
            constraint.verify((type_,), VerificationContext())
        except VerifyException:
            return False
        return True

    def accepts(self, name: str, sample: Attribute) -> bool:
        """Whether a property can have a value."""
        known = self._accepted.get((name, sample))
        if known is None:
            known = _satisfies(sample, self.properties[name].constr)
            self._accepted[name, sample] = known
        return known

    @property
    def arity(self) -> str:
        """How many operands it takes, in words."""
        names = f" ({', '.join(self.operands)})" if self.operands else ""
        if self.most is None:
            return f"at least {self.fewest}{names}"
        if self.most != self.fewest:
            return f"{self.fewest} to {self.most}{names}"
        return f"{self.fewest}{names}"

    def optional(self, name: str) -> bool:
        """Whether an operator may lack a property."""
        return isinstance(self.properties[name], OptPropertyDef)

    def property_of(self, name: str, value: AttrValue) -> Attribute | None:
        """
        The property that a value in the text stands for; None for the absence of an optional one.

        Raises ValueError with what the property accepts.
        """
        if self.optional(name) and (value is None or value == ""):
            return None
        if value is None and name in self.defaults:
            return self.defaults[name]
        key = name, _hashable(value)
        found = self._known.get(key)
        if found is None:
            constraint = self.properties[name].constr
            found = next((c for c in _candidates(value) if _satisfies(c, constraint)), None)
            if found is None:
                raise ValueError(f"expected {self.accepted(name)}")
            self._known[key] = found
        return found

    def accepted(self, name: str) -> str:
        """In words, what values a property takes."""
        constraint = self.properties[name].constr
        kinds = [word for word, sample in _SAMPLES if _satisfies(sample, constraint)]
        if self.optional(name):
            kinds.append("None")
        return " or ".join(kinds) or "something that text has no words for"


def _operand_kind(definition: object) -> str:
    if isinstance(definition, OptOperandDef):
        return "optional"
    return "many" if isinstance(definition, VarOperandDef) else "one"


SCHEMAS = {
    op.name.removeprefix("relay."): Schema(op)
    for op in Relay.operations
    if issubclass(op, RelayOp) and op.name.removeprefix("relay.") not in NO_OPERATORS
}
"""The operators that text can call, by their names there."""


def _hashable(value: AttrValue) -> Any:
    """A key for a value, which tells 1, 1.0 and True apart."""
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return type(value), value


NUMBER, INTEGER, BOOLEAN, INTEGERS = real(0.5), integer(1), boolean(True), int_array([1])
_SAMPLES: tuple[tuple[str, Attribute], ...] = (
    ("a number", NUMBER),
    ("an integer", INTEGER),
    ("True or False", BOOLEAN),
    ("an element type", f64),
    ("a string", string("")),
    ("a list of integers", INTEGERS),
    ("a list of numbers", DenseArrayBase.from_list(f64, [0.5])),
    ("a list of lists of integers", ArrayAttr([int_array([1])])),
    ("a list of strings", ArrayAttr([string("")])),
)


def _candidates(value: AttrValue) -> Iterator[Attribute]:
    """The attributes that a value in the text can stand for."""
    match value:
        case bool():
            yield boolean(value)
            yield integer(int(value))
        case int():
            yield integer(value)
            yield real(float(value))
            if value in (0, 1):
                yield boolean(bool(value))
            yield int_array([value])
        case float():
            yield real(value)
        case Attribute():
            yield value
        case str():
            yield string(value)
            element = element_type_named(value)
            if element is not None:
                yield element
        case list():
            if all(isinstance(item, int) and not isinstance(item, bool) for item in value):
                integers = cast(list[int], value)
                yield int_array(integers)
                yield ArrayAttr(map(integer, integers))
            if all(isinstance(item, int | float) for item in value):
                numbers = [float(item) for item in cast(list[float], value)]
                yield DenseArrayBase.from_list(f64, numbers)
                yield ArrayAttr(map(real, numbers))
            yield from _nested(value)
        case _:
            return


def _nested(values: list[AttrValue]) -> Iterator[Attribute]:
    """Lists of anything but numbers: every combination that has one kind of field."""
    fields = [list(_candidates(value)) for value in values]
    for kind in zip(*fields, strict=False):
        yield ArrayAttr(kind)


def text_of(attribute: Attribute) -> str | None:
    """A property as the text states it; None when it has no words for it."""
    match attribute:
        case IntegerAttr():
            number = cast(IntegerAttr[Any], attribute)
            if number.type == IntegerType(1):
                return "True" if number.value.data else "False"
            return str(number.value.data)
        case FloatAttr():
            return _float_text(cast(FloatAttr[Any], attribute).value.data)
        case StringAttr():
            return quoted(attribute.data)
        case DenseArrayBase():
            array = cast(DenseArrayBase[Any], attribute)
            values = cast(tuple[int | float, ...], array.get_values())
            texts = [_float_text(v) if isinstance(v, float) else str(v) for v in values]
            return f"[{', '.join(texts)}]"
        case ArrayAttr():
            fields = [text_of(item) for item in attribute]
            known = [item for item in fields if item is not None]
            return f"[{', '.join(known)}]" if len(known) == len(fields) else None
        case _:
            name = element_type_name(attribute)
            return None if name is None else f'"{name}"'


def _float_text(value: float) -> str:
    """A number with its shortest exact digits. Numbers in attributes are not rounded to `f`."""
    return f"{value!r}f"


_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def quoted(text: str) -> str:
    """A string in quotes."""
    return f'"{text.translate(_ESCAPED)}"'


BESIDE_OPERANDS: Mapping[str, Mapping[str, str | None]] = {
    "arange": dict.fromkeys(("start", "stop", "step")),
    "collapse_sum_to": {"shape": "None"},
    "dyn.broadcast_to": {"shape": "None"},
    "dyn.full": {"shape": "None"},
    "dyn.image.resize2d": dict.fromkeys(("size", "roi")),
    "dyn.nn.pad": {"pad_width": "[]"},
    "dyn.nn.upsampling": dict.fromkeys(("scale_h", "scale_w"), "0f"),
    "dyn.nn.upsampling3d": dict.fromkeys(("scale_d", "scale_h", "scale_w"), "0f"),
    "dyn.one_hot": {"depth": None},
    "dyn.ones": {"shape": "None"},
    "dyn.reshape": {"newshape": "[]"},
    "dyn.squeeze": {"axis": None},
    "dyn.strided_slice": dict.fromkeys(("begin", "end", "strides"), "None"),
    "dyn.tile": {"reps": "[]"},
    "dyn.topk": {"k": "None"},
    "dyn.zeros": {"shape": "None"},
}
"""
Attributes that Relay's operators have beside the operands that say the same. They say nothing, but TVM
wants those stated that have no default: with these values.
"""

OBJECT_FIELDS = frozenset(
    {
        ("relay.attrs.ScanopAttrs", "axis"),
        ("relay.attrs.ScanopAttrs", "exclusive"),
        ("relay.attrs.ScatterAddAttrs", "axis"),
        ("relay.attrs.ScatterAttrs", "axis"),
        ("relay.attrs.ScatterNDAttrs", "mode"),
    }
)
"""Fields of attributes in the metadata section that hold the index of an object with the value."""
