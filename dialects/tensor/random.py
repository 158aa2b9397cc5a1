"""
Random numbers from keys: an operator that consumes randomness takes a key and returns, with its
result, the key for the next one.

A key is a tensor of 10 words of ui64, the state of a splittable generator:

    words   0 1 2 3   4 5    6 7       8 9
            key       path   counter   place of the next step in the path: a single bit, or 0 when
                                       the path is full

The generator encrypts blocks of four words with Threefry-4x64, 20 rounds, here without the addition
of the key after the last round. Block i of a state is that of path and counter with i added to each
of their four words.

Source: Relay's `random` operators; Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy
as 1, 2, 3", 2011; Claessen and Palka, "Splittable Pseudorandom Number Generators using
Cryptographic Hashing", 2013.
"""

from abc import ABC

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerType,
    Signedness,
    TensorType,
    TupleType,
    f32,
    f64,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.fields import Integer, Integers, OptionalDtype, Tensor, operand, prop
from xrelay.dialects.shapes import compatible, is_float, tensor_type
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

WORD = IntegerType(64, Signedness.UNSIGNED)
"""What keys and blocks consist of."""
KEY = TensorType(WORD, [10])
"""The type of keys."""
BLOCK = 4
"""The number of words in a block."""

ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
"""By how many bits the words 1 and 3 are rotated in each round, repeated after eight rounds."""
ROUNDS = 20
"""How many rounds a block takes; the key is added before the first of every four."""
PARITY = 0x1BD11BDAA9FC1A22
"""The fifth word of a key is that of the other four and this one, by exclusive or."""


def require_key(value: SSAValue) -> None:
    """Raises VerifyException unless an operand is a key."""
    if not compatible(value.type, KEY):
        raise VerifyException(f"'key' is {value.type}, expected {KEY}")


def require_shape(shape: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The numbers of 'out_shape', none of which may be negative."""
    dims = tuple(shape.get_values())
    if any(dim < 0 for dim in dims):
        raise VerifyException(f"'out_shape' is {list(dims)}, expected no negative number")
    return dims


@irdl_op_definition
class ThreefryGenerateOp(RelayOp):
    """
    A tuple of the next key and a tensor of `out_shape` with random words of ui64: the words of the
    blocks of `key` in order. The n words of the last block that is not complete are those of the
    block with the number of words before it added to the last word of the counter.

    When the last word of the counter has no room for as many numbers as there are words, the path
    is extended by a one and the counter starts at 0; when the path is full, the key becomes the
    block of ones under the old key, path and counter start at 0. The last word of the counter of
    the next key is larger by the number of words, rounded up to blocks.

    Source: Relay's `random.threefry_generate`.
    """

    name = "relay.random.threefry_generate"

    key: Tensor = operand()
    out_shape: Integers = prop()
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        require_key(self.key)
        return tuple_type((KEY, TensorType(WORD, require_shape(self.out_shape))))


@irdl_op_definition
class ThreefrySplitOp(RelayOp):
    """
    A tuple of two keys that give unrelated numbers: the path of `key` extended by a zero, and by a
    one. When the path is full, their key is the block of path and counter under the old key, their
    counters start at 0, and their paths are a zero and a one.

    Source: Relay's `random.threefry_split`.
    """

    name = "relay.random.threefry_split"

    key: Tensor = operand()
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        require_key(self.key)
        return tuple_type((KEY, KEY))


class DistributionOp(RelayOp, ABC):
    """
    A tuple of the next key and random numbers of `out_shape` in f32 or f64: `out_dtype`, by default
    the dtype of the two scalar parameters, which must be the same.
    """

    out_shape: Integers = prop(kw_only=True)
    out_dtype: OptionalDtype = prop(default=None)
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_numbers(self, first: str, second: str) -> Attribute:
        """The type of the result; the arguments are the names of the parameters."""
        key, *parameters = self.operands
        require_key(key)
        dtype = self.out_dtype or tensor_type(parameters[0], f"'{first}'").element_type
        if dtype not in (f32, f64):
            what = "'out_dtype'" if self.out_dtype else f"the dtype of '{first}'"
            raise VerifyException(f"{what} is {dtype}, accepted are f32 and f64")
        for name, value in zip((first, second), parameters, strict=True):
            if value.type != TensorType(dtype, []):
                raise VerifyException(
                    f"'{name}' is {value.type}, expected a scalar tensor of {dtype}"
                )
        return tuple_type((KEY, TensorType(dtype, require_shape(self.out_shape))))


@irdl_op_definition
class UniformOp(DistributionOp):
    """
    A tuple of the next key and numbers u * (high - low) + low, where u is evenly distributed in
    [0, 1): the upper 23 bits of the lower half of a word for f32, the upper 52 bits of a word for
    f64, divided by 2**23 or 2**52. The words are those of `relay.random.threefry_generate`.

    Source: Relay's `random.uniform`.
    """

    name = "relay.random.uniform"

    key: Tensor = operand()
    low: Tensor = operand()
    high: Tensor = operand()

    def infer_type(self) -> Attribute:
        return self.infer_numbers("low", "high")


@irdl_op_definition
class NormalOp(DistributionOp):
    """
    A tuple of the next key and numbers sqrt(-2 log(1 - u)) * sin(2 pi v) * scale + mean, which are
    normally distributed: u and v are the first and the second half of as many numbers again as
    `relay.random.uniform` gives between 0 and 1.

    Source: Relay's `random.normal`; Box and Muller, "A Note on the Generation of Random Normal
    Deviates", 1958.
    """

    name = "relay.random.normal"

    key: Tensor = operand()
    mean: Tensor = operand()
    scale: Tensor = operand()

    def infer_type(self) -> Attribute:
        return self.infer_numbers("mean", "scale")


@irdl_op_definition
class MultinomialOp(RelayOp):
    """
    A tuple of the next key and `num_samples` indices of i32 for each row of `probs` [..., N], drawn
    with probabilities in proportion to its elements; negative ones and NaN count as 0. An index is
    the first whose cumulative sum is above u times the sum of the row, where u is a number of f32
    between 0 and 1 as `relay.random.uniform` gives one for each index; sums are those of f64, in
    order. 0 where there is none.

    Source: Relay's `random.multinomial`.
    """

    name = "relay.random.multinomial"

    key: Tensor = operand()
    probs: Tensor = operand()
    num_samples: Integer = prop(default=1)
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        require_key(self.key)
        probs = tensor_type(self.probs, "'probs'")
        if not is_float(probs.element_type) or not probs.get_num_dims():
            raise VerifyException(
                f"'probs' is {probs}, expected floating-point elements and at least rank 1"
            )
        count = self.num_samples.value.data
        if count < 0:
            raise VerifyException(f"'num_samples' is {count}, expected no negative number")
        return tuple_type((KEY, TensorType(i32, [*probs.get_shape()[:-1], count])))
