"""The short-time Fourier transform."""

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import Flag, Integer, Tensor, operand, prop
from xrelay.dialects.shapes import is_float, ranked, same_dimension
from xrelay.dialects.traits import HasPatternKind, OpPatternKind, ShapeDataDependent


@irdl_op_definition
class StftOp(RelayOp):
    """
    For the rows of `data` [B, L], frames m at every `hop_length` elements, and frequencies k: the
    real and the imaginary part of

        sum over n of window[n] * data[b, m * hop_length + n] * exp(-2 pi i k n / win_length)

    for the n below `win_length`, divided by sqrt(`n_fft`) when `normalized`. The result is
    [B, K, M, 2] with M = (L - n_fft) // hop_length + 1, and K = n_fft // 2 + 1 with `onesided`,
    n_fft otherwise. `window` is [win_length], with win_length at most n_fft.

    Source: Relay's `stft`, ONNX's STFT (whose result has frames before frequencies).
    """

    name = "relay.stft"

    data: Tensor = operand()
    window: Tensor = operand()
    n_fft: Integer = prop(default=-1, kw_only=False)
    hop_length: Integer = prop(default=-1, kw_only=False)
    win_length: Integer = prop(default=-1, kw_only=False)
    normalized: Flag = prop(default=False)
    onesided: Flag = prop(default=True)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), ShapeDataDependent())

    @property
    def lengths(self) -> tuple[int, int, int]:
        """`n_fft`, `hop_length` and `win_length`."""
        return self.n_fft.value.data, self.hop_length.value.data, self.win_length.value.data

    def infer_type(self) -> Attribute:
        data, window = ranked(self.data, "'data'", 2), ranked(self.window, "'window'", 1)
        if not is_float(data.element_type) or window.element_type != data.element_type:
            raise VerifyException(
                f"'data' is {data} and 'window' {window}, expected floating point of one dtype"
            )
        size, hop, length = self.lengths
        for name, value in (("n_fft", size), ("hop_length", hop), ("win_length", length)):
            if value < 1:
                raise VerifyException(f"'{name}' is {value}, expected at least 1")
        if length > size:
            raise VerifyException(f"'win_length' is {length}, 'n_fft' only {size}")
        if not same_dimension(window.get_shape()[0], length):
            raise VerifyException(f"'window' is {window}, 'win_length' {length}")
        batch, samples = data.get_shape()
        if samples == DYNAMIC_INDEX:
            frames = DYNAMIC_INDEX
        elif samples < size:
            raise VerifyException(f"'data' is {data}, shorter than 'n_fft' {size}")
        else:
            frames = (samples - size) // hop + 1
        bins = size // 2 + 1 if self.onesided.value.data else size
        return TensorType(data.element_type, [batch, bins, frames, 2])
