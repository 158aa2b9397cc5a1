"""
The metadata section of Relay text: TVM's `SaveJSON` format, a graph of objects with a list of
arrays beside it.

    {"root": 1, "nodes": [{"type_key": "Map", "keys": ["relay.Constant"], "data": [2]}, …],
     "b64ndarrays": ["P6G0lvBA…"], "attrs": {"tvm_version": "0.10.0"}}

The root maps kinds of entries ("relay.Constant") to lists of them. An object refers to others by
their index in `nodes`; object 0 is the null pointer. Every field is a string: whether it holds a
number or an index depends on the class, which `PLAIN_FIELDS` and `OBJECT_FIELDS` tell.

An array is stored as TVM's `NDArray::Save` does it, in base64: a magic number, a reserved word,
the device, the number of dimensions, the element type (code, bits, lanes), the shape, the number
of bytes and the bytes, all little-endian.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from math import prod
from struct import Struct
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.core.device import VirtualDeviceAttr
from xrelay.dialects.shapes import is_integer_type
from xrelay.frontends.relay_text.errors import RelayTextError, Source
from xrelay.frontends.relay_text.literals import INT64, WIDTHS, int64
from xrelay.frontends.relay_text.object_graph import Node, read_graph
from xrelay.frontends.relay_text.syntax import MOST_NESTED, Constant, MetaRef
from xrelay.frontends.relay_text.types import element_type_name, element_type_named
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.constants import attribute_array, constant_attribute

MAGIC = 0xDD5E40F096B4A13F
HEADER = Struct("<QQiiiBBH")
"""Magic number, reserved, device type and number, dimensions, type code, bits and lanes."""
CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4}
"""How arrays name kinds of element types (DLPack's numbers)."""
CPU = 1

PLAIN_FIELDS = frozenset(
    {
        ("TargetKind", "device_type"),
        ("VirtualDevice", "device_type_int"),
        ("VirtualDevice", "virtual_device_id"),
    }
)
"""Fields of objects that hold a number, not the index of an object."""


class Metadata:
    """The entries of the section, decoded when they are asked for."""

    def __init__(self, source: Source, span: tuple[int, int] | None):
        self.source = source
        self.span = span
        self.constants: dict[int, Constant] = {}
        """The constants that were asked for: an entry is one expression, however often named."""
        self._entries: dict[str, list[int]] | None = None
        self._nodes: list[Node] = []
        self._arrays: list[str] = []

    def node(self, ref: MetaRef) -> Node:
        """
        The object that a reference names.

        Raises RelayTextError when the section is missing, broken, or has no such entry.
        """
        if self._entries is None:
            self._entries = self._read(ref)
        indices = self._entries.get(ref.key)
        if indices is None or ref.index >= len(indices):
            count = len(indices or ())
            raise self.error(
                ref, f"the metadata section has {count} entries of this kind", named=True
            )
        return self.at(indices[ref.index], ref)

    def at(self, index: int | str, ref: MetaRef) -> Node:
        """The object at an index, which a field or a list holds."""
        try:
            number = int64(str(index))
            if number >= 0:
                return self._nodes[number]
        except (ValueError, IndexError):
            pass
        raise self.error(ref, f"found {index!r}, expected the index of an object")

    def items(self, index: int | str, ref: MetaRef) -> list[Node]:
        """The objects in the list at an index."""
        node = self.at(index, ref)
        if node.get("type_key") != "Array":
            raise self.error(ref, f"found {node.get('type_key')!r}, expected 'Array'")
        return [self.at(item, ref) for item in node.get("data", [])]

    def attrs(self, node: Node) -> dict[str, str]:
        """The fields of an object."""
        return node.get("attrs", {})

    def integer(self, node: Node, ref: MetaRef) -> int:
        """The number in an `IntImm`."""
        if node.get("type_key") != "IntImm":
            raise self.error(ref, f"found {node.get('type_key')!r}, expected 'IntImm'")
        return self._number(node, "value", ref)

    def error(self, ref: MetaRef, message: str, *, named: bool = False) -> RelayTextError:
        """The diagnostic about an entry of the section."""
        place = f"meta[{ref.key}][{ref.index}]"
        text = f"{place}: {message}" if named else f"{place} does not decode: {message}"
        return self.source.error(ref.position, text)

    def _read(self, ref: MetaRef) -> dict[str, list[int]]:
        if self.span is None:
            raise self.error(ref, "the text has no #[metadata] section", named=True)
        begin, end = self.span
        try:
            graph = read_graph(self.source.text[begin:end])
        except json.JSONDecodeError as error:
            raise self.source.error(
                begin + error.pos, f"the metadata section is no JSON: {error.msg}"
            ) from error
        except RecursionError as error:
            raise self.source.error(begin, "the metadata section nests too deeply") from error
        except ValueError as error:
            raise self.source.error(
                begin, f"the metadata section is no graph of objects: {error}"
            ) from error
        self._nodes, self._arrays = graph.nodes, graph.arrays
        entries = self._fields_of_map(graph.root, ref)
        return {key: self.at(index, ref).get("data", []) for key, index in entries}

    def _fields_of_map(self, node: Node, ref: MetaRef) -> Iterator[tuple[str, int]]:
        """The keys of a `Map`, and the indices of its values."""
        keys, data = node.get("keys", []), node.get("data", [])
        if node.get("type_key") != "Map" or len(keys) != len(data):
            raise self.error(
                ref,
                f"found {node.get('type_key')!r} with {len(keys)} keys and {len(data)} values, "
                "expected 'Map' with as many",
            )
        return zip(keys, data, strict=True)

    def _number(self, node: Node, name: str, ref: MetaRef) -> int:
        """The number in a field of an object."""
        text = self._field(node, name, ref)
        try:
            return int64(text)
        except ValueError:
            raise self.error(
                ref, f"field '{name}' of {node.get('type_key')!r} is {text!r}, expected {INT64}"
            ) from None

    def _field(self, node: Node, name: str, ref: MetaRef) -> str:
        """What a field of an object holds."""
        text = self.attrs(node).get(name)
        if text is None:
            raise self.error(
                ref, f"found {node.get('type_key')!r} without '{name}', expected this field"
            )
        return text

    def plain(self, node: Node, ref: MetaRef) -> int | str | None:
        """The number or the string in an object; None for the null pointer."""
        match node.get("type_key"):
            case "":
                return None
            case "runtime.String":
                return str(node.get("repr_str", ""))
            case _:
                return self.integer(node, ref)

    def value(self, ref: MetaRef) -> Attribute:
        """
        What an entry stands for as the value of an attribute: a virtual device or a constant.

        Raises RelayTextError for other entries.
        """
        node = self.node(ref)
        if node.get("type_key") == "relay.Constant":
            return self.constant(ref)[0]
        if node.get("type_key") != "VirtualDevice":
            raise self.error(ref, f"found {node.get('type_key')!r}, expected 'VirtualDevice'")
        scope = self.plain(self.at(self._field(node, "memory_scope", ref), ref), ref)
        return VirtualDeviceAttr(
            self._number(node, "device_type_int", ref),
            self._number(node, "virtual_device_id", ref),
            str(scope or ""),
            self.tree(self._field(node, "target", ref), ref),
        )

    def tree(self, index: int | str, ref: MetaRef, depth: int = 0) -> Attribute:
        """An object and those that it refers to, as nested attributes; `unit` for null."""
        if depth > MOST_NESTED:
            raise self.error(ref, f"objects nest more than {MOST_NESTED} deep")
        node = self.at(index, ref)
        kind = str(node.get("type_key"))
        match kind:
            case "":
                return UnitAttr()
            case "runtime.String":
                return StringAttr(str(node.get("repr_str", "")))
            case "IntImm":
                return IntegerAttr(self.integer(node, ref), i64)
            case "Array":
                return ArrayAttr(self.tree(item, ref, depth + 1) for item in node.get("data", []))
            case "Map":
                items = self._fields_of_map(node, ref)
                return DictionaryAttr({key: self.tree(i, ref, depth + 1) for key, i in items})
            case _:
                fields: dict[str, Attribute] = {"type_key": StringAttr(kind)}
                for name, field in self.attrs(node).items():
                    if (kind, name) in PLAIN_FIELDS:
                        fields[name] = IntegerAttr(self._number(node, name, ref), i64)
                    else:
                        fields[name] = self.tree(field, ref, depth + 1)
                return DictionaryAttr(fields)

    def constant(self, ref: MetaRef) -> tuple[Attribute, Attribute]:
        """The value and the type of a `relay.Constant`."""
        node = self.node(ref)
        if node.get("type_key") != "relay.Constant":
            raise self.error(ref, f"found {node.get('type_key')!r}, expected 'relay.Constant'")
        index = self._number(node, "data", ref)
        if not 0 <= index < len(self._arrays):
            raise self.error(
                ref,
                f"field 'data' of 'relay.Constant' is {index}, expected the index of one of "
                f"{len(self._arrays)} arrays",
            )
        try:
            return array_constant(b64decode(self._arrays[index], validate=True))
        except ValueError as error:
            raise self.error(ref, str(error)) from error


def array_constant(data: bytes) -> tuple[Attribute, Attribute]:
    """
    The value and the type of a constant with the elements of an array in TVM's format.

    Raises ValueError that says what is wrong with the bytes.
    """
    if len(data) < HEADER.size:
        raise ValueError(f"an array of {len(data)} bytes, expected at least {HEADER.size}")
    magic, _, _, _, rank, code, bits, lanes = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise ValueError(f"an array begins with {magic:#x}, expected {MAGIC:#x}")
    names = {code: name for name, code in CODES.items()}
    name = f"{names.get(code, '?')}{bits}"
    element = element_type_named(name)
    if element is None or lanes != 1 or (is_integer_type(element) and str(bits) not in WIDTHS):
        raise ValueError(f"an array has elements of type {name}x{lanes} (code {code})")
    shape_end = HEADER.size + 8 * rank
    if rank < 0 or len(data) < shape_end + 8:
        raise ValueError(f"an array of {len(data)} bytes is too short for {rank} dimensions")
    *shape, size = Struct(f"<{rank + 1}q").unpack_from(data, HEADER.size)
    expected = prod(shape) * ((bits + 7) // 8)
    if min(shape, default=0) < 0 or size != expected or len(data) != shape_end + 8 + size:
        raise ValueError(
            f"an array of shape {shape} and type {name} has {size} bytes, expected {expected}; "
            f"{len(data) - shape_end - 8} are there"
        )
    dtype = dtype_of(element)
    # Any byte but 0 is true.
    stored = np.ndarray(shape, np.uint8 if dtype == np.bool_ else dtype, data, shape_end + 8)
    array = stored != 0 if dtype == np.bool_ else stored
    return constant_attribute(array), TensorType(element, shape)


class MetadataWriter:
    """The metadata section of a text that is being written."""

    def __init__(self) -> None:
        self.nodes: list[Node] = [{"type_key": ""}]
        self.entries: dict[str, list[int]] = {}
        self.arrays: list[str] = []
        self._devices: dict[VirtualDeviceAttr, str] = {}

    def add(self, node: Node) -> int:
        """Adds an object; returns its index."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def entry(self, key: str, index: int) -> str:
        """Lists an object under `key`; returns the reference to it."""
        indices = self.entries.setdefault(key, [])
        indices.append(index)
        return f"meta[{key}][{len(indices) - 1}]"

    def tree(self, attribute: Attribute) -> int:
        """Adds an object and those that it refers to; returns its index. See Metadata.tree."""
        match attribute:
            case UnitAttr():
                return 0
            case StringAttr():
                return self.add({"type_key": "runtime.String", "repr_str": attribute.data})
            case IntegerAttr():
                value = str(cast(IntegerAttr[Any], attribute).value.data)
                fields = {"dtype": "int32", "span": "0", "value": value}
                return self.add({"type_key": "IntImm", "attrs": fields})
            case ArrayAttr():
                items = [self.tree(item) for item in attribute]
                return self.add({"type_key": "Array", "data": items})
            case DictionaryAttr():
                kind = attribute.data.get("type_key")
                if not isinstance(kind, StringAttr):
                    indices = [self.tree(item) for item in attribute.data.values()]
                    keys = list(attribute.data)
                    return self.add({"type_key": "Map", "keys": keys, "data": indices})
                fields = {
                    name: str(
                        cast(IntegerAttr[Any], field).value.data
                        if (kind.data, name) in PLAIN_FIELDS
                        else self.tree(field)
                    )
                    for name, field in attribute.data.items()
                    if name != "type_key"
                }
                return self.add({"type_key": kind.data, "attrs": fields})
            case _:
                raise ValueError(f"TVM has no object for {attribute}")

    def virtual_device(self, device: VirtualDeviceAttr) -> str:
        """Adds a device, once; returns the reference to it."""
        known = self._devices.get(device)
        if known is None:
            fields = {
                "device_type_int": str(device.device_type.value.data),
                "memory_scope": str(self.tree(device.memory_scope)),
                "target": str(self.tree(device.target)),
                "virtual_device_id": str(device.device_id.value.data),
            }
            index = self.add({"type_key": "VirtualDevice", "attrs": fields})
            known = self._devices[device] = self.entry("VirtualDevice", index)
        return known

    def constant(self, value: Attribute, type_: TensorType[Attribute]) -> str:
        """Adds a constant; returns the reference to it."""
        self.arrays.append(b64encode(array_bytes(value, type_)).decode())
        fields = {
            "_checked_type_": "0",
            "data": str(len(self.arrays) - 1),
            "span": "0",
            "virtual_device_": "0",
        }
        return self.entry(
            "relay.Constant", self.add({"type_key": "relay.Constant", "attrs": fields})
        )

    def text(self) -> str:
        """The section; nothing when it has no entries."""
        if not self.entries:
            return ""
        lists = [self.add({"type_key": "Array", "data": ids}) for ids in self.entries.values()]
        root = self.add({"type_key": "Map", "keys": list(self.entries), "data": lists})
        content = {
            "root": root,
            "nodes": self.nodes,
            "b64ndarrays": self.arrays,
            "attrs": {"tvm_version": "0.10.0"},
        }
        return f"\n#[metadata]\n{json.dumps(content, indent=2)}\n"


def array_bytes(value: Attribute, type_: TensorType[Attribute]) -> bytes:
    """
    A constant in TVM's format of arrays.

    Raises ValueError when the bytes of a blob are absent, or TVM has no such element type.
    """
    shape = type_.get_shape()
    name = element_type_name(type_.element_type)
    if name is None:
        raise ValueError(f"TVM has no arrays with elements of type {type_.element_type}")
    try:
        array = attribute_array(value, type_)
    except InterpretationError as error:
        raise ValueError(str(error)) from error
    if array is None:
        raise ValueError(f"the bytes of constant {value} are not there")
    boolean = name == "bool"
    name = "uint1" if boolean else name
    letters = name.rstrip("0123456789")
    bits = int(name[len(letters) :])
    content = array.tobytes()
    header = HEADER.pack(MAGIC, 0, CPU, 0, len(shape), CODES[letters], bits, 1)
    return header + Struct(f"<{len(shape) + 1}q").pack(*shape, len(content)) + content
