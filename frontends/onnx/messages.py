"""What is in an ONNX model: its messages, in graphs of nodes and in functions as well, and their texts."""

from collections.abc import Iterable, Iterator
from typing import cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto

_REMARKS = ("doc_string", "producer_name", "producer_version")
"""Texts that mean nothing to the importer; the pairs in `metadata_props` do not either."""


def names(model: ModelProto) -> Iterator[str | bytes]:
    """All texts that the importer may read; bytes for those that are no UTF-8, as protobuf returns them."""
    for message in _messages(model):
        if isinstance(message, TensorProto):
            yield message.name
            continue
        for field, value in message.ListFields():
            if field.type == FieldDescriptor.TYPE_STRING and field.name not in _REMARKS:
                yield from [value] if isinstance(value, str | bytes) else value


def external_locations(model: ModelProto) -> set[str]:
    """The places of external data that the tensors of a model name."""
    tensors = (each for each in _messages(model) if isinstance(each, TensorProto))
    return {
        entry.value
        for tensor in tensors
        if tensor.data_location == TensorProto.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location"
    }


def _messages(model: ModelProto) -> Iterator[Message]:
    pending: list[Message] = [model]
    while pending:
        message = pending.pop()
        yield message
        if isinstance(message, TensorProto):
            # `ListFields` would copy its elements.
            pending.extend(message.external_data)
            continue
        for field, value in message.ListFields():
            if field.message_type is not None and field.name != "metadata_props":
                inner = [value] if isinstance(value, Message) else cast(Iterable[Message], value)
                pending.extend(inner)
