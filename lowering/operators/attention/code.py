"""Kernel code of attention: see `xrelay.lowering.operators.attention.parts`."""

from xdsl.ir import Operation

from xrelay.dialects.core.values import CompositeOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, Strategy
from xrelay.lowering.operators.attention.block_code import BlockCode
from xrelay.lowering.operators.attention.cost import attention_of, kernel_seconds
from xrelay.lowering.operators.attention.key_block_code import KeyBlockCode
from xrelay.lowering.operators.attention.parts import Attention, cut_of, parts_of, refusal


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    parts = parts_of(op)
    assert isinstance(parts, Attention)
    cut = cut_of(parts, ctx.target, ctx.team.size, ctx.parameters)
    code = BlockCode if cut.key_blocks == 1 else KeyBlockCode
    code(ctx, parts, cut, sink).emit()


def _parameters(site: Site, parameters: Parameters) -> None:
    cut_of(attention_of(site), site.target, site.threads, parameters)


ATTENTION: Strategy = (
    Implementation(
        "blocks of rows", _emit, refusal=refusal, cost=kernel_seconds, parameters=_parameters
    ),
)

STRATEGIES: dict[type[Operation], Strategy] = {CompositeOp: ATTENTION}
