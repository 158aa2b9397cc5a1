"""
`round-block-data`: products with matrices in blocks of few bits take their data in 8 bits, and multiply integers.

    relay.qnn.dense_blocks %x, %w, %s, %z {bits = 4}  ──►  relay.qnn.dense_blocks %x, %w, %s, %z {bits = 4, data_bits = 8}

Each block of a row of the data gets a scale (`relay.qnn.dense_blocks`), as for onnxruntime's MatMulNBits with `accuracy_level`
of 4, and OpenVINO's dynamic quantization. Results change within the rounding to 8 bits. Left alone: matrices whose zero points are no
integers, blocks of more than 65,536 numbers, and functions for other compilers. Run it behind `legalize-quantized-products`,
which makes such products of dequantised weights.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.scopes import Within, belongs_to_backend
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp


@dataclass(frozen=True)
class RoundBlockDataPass(RelayPass):
    """Lets products with matrices in blocks take data of 8 bits."""

    name = "round-block-data"

    def rewrite(self, op: ModuleOp) -> None:
        is_within = Within(belongs_to_backend)
        for each in walk(op):
            if isinstance(each, QnnDenseBlocksOp) and not is_within(each):
                each.round_data()
