"""
How values of data types lie in tensors.

    Option[T] = Some(T) | None           tuple<tensor<i32>, T>                  which constructor, the fields of all of them
    List[T] = Cons(T, List[T]) | Nil     tuple<tensor<?xi32>, tensor<?xT>>      a row for each constructor of the value

A type that holds no others of its kind is the number of the constructor, and its fields. Those that hold themselves, and those that hold such,
are cells in rows: of each value the first row has its own constructor and fields, and behind it are the rows of the values that it is
made of, in order. Where some are made of several, the rows say how many belong to each. Types that hold each other share their rows' format.
A blank row is the last one: there are two at least, as code for many lengths wants.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, TupleType, i32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from xrelay.dialects.base import tuple_type
from xrelay.dialects.core.adt import TypeDefOp
from xrelay.dialects.core.functional import AdtType, Instance, type_parts, types_inside, with_parts
from xrelay.dialects.shapes import is_tensor_type

MOST_INSTANCES = 16
"""For how many types a data type is found in fields alone: one that holds itself at ever larger types has no end of them."""


@dataclass(frozen=True)
class Slot:
    """A field that is a tensor: a part of the value, or of its first row."""

    number: int


@dataclass(frozen=True)
class Child:
    """A field that is in rows of its own, behind the first one."""

    number: int


@dataclass(frozen=True)
class Pack:
    """A field of several tensors: a tuple, or a data type that is in no rows."""

    parts: tuple["Place", ...]


Place: TypeAlias = Slot | Child | Pack
"""Where a field lies."""


@dataclass(frozen=True)
class Constructor:
    """How a constructor's values lie."""

    kind: int
    """The number that stands for it."""
    places: tuple[Place, ...]
    """Where its fields lie."""
    children: int
    """How many of them, and of their parts, have rows."""


@dataclass
class Layout:
    """How the values of a type lie, or of types that hold each other."""

    in_rows: bool
    constructors: dict[tuple[AdtType, str], Constructor] = field(
        default_factory=dict[tuple[AdtType, str], Constructor]
    )
    slots: dict[tuple[TensorType[Attribute], int], int] = field(
        default_factory=dict[tuple[TensorType[Attribute], int], int]
    )
    """The tensors that fields lie in, by their types and how many of the type a constructor has before."""

    @property
    def slot_types(self) -> list[TensorType[Attribute]]:
        """The types of the fields."""
        return [type_ for type_, _ in self.slots]

    @property
    def counts_rows(self) -> bool:
        """Whether rows say how many belong to the value that begins there."""
        return any(each.children > 1 for each in self.constructors.values())

    @property
    def type(self) -> TupleType:
        """The type of the tensors."""
        numbers = [TensorType(i32, [])] * (1 + (self.in_rows and self.counts_rows))
        parts: list[TensorType[Attribute]] = [*numbers, *self.slot_types]
        if self.in_rows:
            parts = [
                TensorType(each.element_type, [DYNAMIC_INDEX, *each.get_shape()]) for each in parts
            ]
        return tuple_type(parts)


class DataLayouts:
    """
    How the data types of a program lie.

    Raises PassFailedException for those that hold something else than tensors, or rows of tensors of unknown dimensions.
    """

    def __init__(self, definitions: dict[str, TypeDefOp], types: Iterable[Attribute]):
        self.definitions = definitions
        self.fields: dict[AdtType, dict[str, list[Attribute]]] = {}
        """The types of the fields of the constructors of each type."""
        self.layouts: dict[AdtType, Layout] = {}
        self.converted: dict[int, tuple[Attribute, Attribute]] = {}
        """What types become, by identity: tuples may share very many parts."""
        self._find(types)
        self._lay_out()

    def convert(self, type_: Attribute) -> Attribute:
        """A type with tensors in the place of data."""
        known = self.converted.get(id(type_))
        if known is None:
            if isinstance(type_, AdtType):
                new: Attribute = self.layouts[type_].type
            else:
                new = with_parts(type_, tuple(map(self.convert, type_parts(type_))))
            known = self.converted[id(type_)] = type_, new
        return known[1]

    def constructor(self, type_: AdtType, name: str) -> Constructor:
        """How the values of a constructor of a type lie."""
        return self.layouts[type_].constructors[type_, name]

    def _find(self, types: Iterable[Attribute]) -> None:
        """Finds the data types within some types, and the types of their fields."""
        pending = [each for each in types_inside(types) if isinstance(each, AdtType)]
        stated = set(pending)
        others = Counter[str]()
        while pending:
            type_ = pending.pop()
            if type_ in self.fields:
                continue
            name = type_.definition.string_value()
            others[name] += type_ not in stated
            if others[name] > MOST_INSTANCES:
                raise PassFailedException(f"data type @{name} holds itself at ever larger types")
            self.fields[type_] = self._fields(type_)
            pending.extend(self._held(type_))

    def _fields(self, type_: AdtType) -> dict[str, list[Attribute]]:
        definition = self.definitions.get(type_.definition.string_value())
        if definition is None or definition.constructors is None:
            raise PassFailedException(f"{type_} has no constructors here")
        instance = Instance(definition.param_names)
        instance.chosen.update(zip(definition.param_names, type_.args, strict=True))
        return {
            name: list(map(instance.apply, each.fields))
            for name, each in definition.by_name.items()
        }

    def _held(self, type_: AdtType) -> list[AdtType]:
        """The data types that one has in its fields."""
        fields = types_inside(each for found in self.fields[type_].values() for each in found)
        return [each for each in fields if isinstance(each, AdtType)]

    def _lay_out(self) -> None:
        """Those that hold no others come first, then those that hold these. What is left holds itself, or such."""
        held = {type_: dict.fromkeys(self._held(type_)) for type_ in self.fields}
        holders: dict[AdtType, list[AdtType]] = {type_: [] for type_ in self.fields}
        for type_, inside in held.items():
            for each in inside:
                holders[each].append(type_)
        left = {type_: len(inside) for type_, inside in held.items()}
        ready = deque(type_ for type_, count in left.items() if not count)
        while ready:
            type_ = ready.popleft()
            self._add(Layout(in_rows=False), [type_])
            del left[type_]
            for each in holders[type_]:
                left[each] -= 1
                if not left[each]:
                    ready.append(each)
        rest = dict.fromkeys(type_ for type_ in self.fields if type_ in left)
        while rest:
            # Whoever holds, or is held by, one of a group is in it: they share rows.
            group, pending = list[AdtType](), [next(iter(rest))]
            while pending:
                type_ = pending.pop()
                if type_ in rest:
                    del rest[type_]
                    group.append(type_)
                    pending.extend((*held[type_], *holders[type_]))
            self._add(Layout(in_rows=True), group)

    def _add(self, layout: Layout, types: Sequence[AdtType]) -> None:
        """Gives types a layout."""
        self.layouts.update(dict.fromkeys(types, layout))
        for type_ in types:
            for name, fields in self.fields[type_].items():
                placing = _Placing(self, layout, f"{type_}: {name}")
                places = tuple(map(placing.place, fields))
                made = Constructor(len(layout.constructors), places, placing.children)
                layout.constructors[type_, name] = made


@dataclass
class _Placing:
    """Where the fields of one constructor lie."""

    layouts: DataLayouts
    layout: Layout
    name: str
    used: Counter[Attribute] = field(default_factory=Counter[Attribute])
    children: int = 0

    def place(self, type_: Attribute) -> Place:
        """The place of a field, or of a part of one."""
        if is_tensor_type(type_):
            if self.layout.in_rows and not type_.has_static_shape():
                raise PassFailedException(
                    f"{self.name} has {type_}, expected known dimensions: the values lie in rows"
                )
            slot = type_, self.used[type_]
            self.used[type_] += 1
            return Slot(self.layout.slots.setdefault(slot, len(self.layout.slots)))
        if isinstance(type_, TupleType):
            return Pack(tuple(map(self.place, type_.types.data)))
        if not isinstance(type_, AdtType):
            raise PassFailedException(f"{self.name} has {type_}, expected tensors")
        if self.layouts.layouts[type_].in_rows:
            self.children += 1
            return Child(self.children - 1)
        return Pack(tuple(map(self.place, self.layouts.layouts[type_].type.types.data)))
