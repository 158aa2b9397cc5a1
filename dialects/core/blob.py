"""What constants keep: large ones their bytes, once."""

from hashlib import blake2b

from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.core.dense import is_dense


class Blob:
    """
    The bytes of a large constant: little-endian elements in row-major order, kept once.

    `data` is None when the constant was read from text that names it without its bytes.
    Two blobs are equal when their digests are.
    """

    __slots__ = ("_key", "data")

    def __init__(self, data: bytes | memoryview | None, key: str | None = None):
        if data is None and key is None:
            raise ValueError("a blob has bytes or a key")
        self.data = data
        self._key = key

    @property
    def key(self) -> str:
        """The name under which text and side files know these bytes: their BLAKE2b digest."""
        if self._key is None:
            assert self.data is not None
            self._key = blake2b(self.data, digest_size=16).hexdigest()
        return self._key

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Blob) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)


@irdl_attr_definition
class BlobAttr(Data[Blob]):
    """
    The value of a large constant, `#relay.blob<"digest">`. The text names the bytes and does not
    contain them; they travel in a side file (`xrelay compile -o model.mlir` writes one).
    """

    name = "relay.blob"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Blob:
        with parser.in_angle_brackets():
            return Blob(None, parser.parse_str_literal("digest of the constant's bytes"))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.key)


def stored_content(value: Attribute) -> bytes | memoryview | None:
    """
    The bytes that a constant keeps: those of all elements, or of one that fills the tensor. None when
    the text that names them came without them.
    """
    return value.data.data if isinstance(value, BlobAttr) or is_dense(value) else None


def stored_bytes(value: Attribute) -> int:
    """The size of what a constant keeps."""
    content = stored_content(value)
    return 0 if content is None else memoryview(content).nbytes


def element_bytes(dtype: Attribute) -> int:
    """Bytes that one element takes in a constant or a buffer. Bools take one byte."""
    size = getattr(dtype, "size", None)
    if not isinstance(size, int):
        raise VerifyException(f"element type {dtype} has no size")
    return size
