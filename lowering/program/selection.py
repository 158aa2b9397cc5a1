"""
What computes the operators of a program: chosen, written into it, and read from it.

    relay.fused ──► operators with loops of their own, the anchor        anchors.py
                ──► for each the best of its implementations             emit/strategy.py
                ──► the numbers of that implementation                   emit/parameters.py
                ──► attribute `strategies`  ◄── edited by people, written by `xrelay tune`
                ──► Choices: storage, kernels, tools

What a program states is kept when it can be done, and refused with the reason when not.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.names import operation_text
from xrelay.dialects.core.strategy import StatedStrategy, StrategyAttr
from xrelay.dialects.core.values import ConstantOp, FusedOp, YieldOp
from xrelay.lowering.emit.group import Group, group_of
from xrelay.lowering.emit.parameters import NO_NUMBERS, Numbers, ParameterError, Parameters
from xrelay.lowering.emit.strategy import Implementation, Selection, Site, refusal_of
from xrelay.lowering.program.anchors import (
    can_be_anchor,
    can_have_loops,
    complex_operators,
    needs_loops,
)
from xrelay.lowering.program.operations import calls_kernel, program_ops
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.registry import STRATEGIES, explain_selection
from xrelay.lowering.program.small import threads_of

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Choice:
    """What computes an operator."""

    site: Site
    implementation: Implementation
    numbers: Numbers
    """The parameters of the implementation, by name."""
    is_anchor: bool

    @staticmethod
    def of(
        site: Site,
        implementation: Implementation,
        stated: Numbers = NO_NUMBERS,
        *,
        is_anchor: bool,
    ) -> "Choice":
        """
        With the parameters that are stated, and the usual ones for others.

        Raises ParameterError for stated ones that the implementation does not have, or not so.
        """
        parameters = Parameters(stated)
        implementation.parameters(site.likely, parameters)
        parameters.require_known()
        return Choice(site, implementation, parameters.values, is_anchor)

    def by(self, name: str) -> "Choice":
        """The same operator, computed by the implementation of a name."""
        (implementation,) = (each for each in STRATEGIES[type(self.op)] if each.name == name)
        return Choice.of(self.site, implementation, is_anchor=self.is_anchor)

    @property
    def op(self) -> Operation:
        """The operator."""
        return self.site.op

    @property
    def key(self) -> Hashable:
        """Equal for operators of equal groups that are computed alike."""
        return self.implementation.name, tuple(self.numbers.items()), self.is_anchor

    @property
    def selection(self) -> Selection:
        """The choice beside the other implementations, which are judged for this."""
        return explain_selection(self.site).using(self.implementation)


Choices: TypeAlias = Mapping[Operation, tuple[Choice, ...]]
"""What computes the operators with loops of each `relay.fused`, in program order."""


def select_strategies(function: func.FuncOp, options: KernelOptions) -> Choices:
    """
    Writes what computes the operators of a function into its `relay.fused`, and returns it. Other
    operators that get loops are put into a `relay.fused` of their own. What is stated stays.

    Raises DiagnosticException for operators that no implementation can compute, and for a
    stated one that cannot, with the place.
    """
    choices: dict[Operation, tuple[Choice, ...]] = {}
    for op in list(program_ops(function.body.block)):
        if not calls_kernel(op):
            continue
        if not isinstance(op, FusedOp):
            if not complex_operators(group_of(op)):
                continue
            op = _fused_alone(op)
        if op.strategies is None:
            choices[op] = tuple(_chosen(group_of(op), options))
        else:
            choices[op] = tuple(_stated(op, op.strategies.data, options, function))
        write_strategies(op, choices[op])
    return choices


def choose_again(
    function: func.FuncOp, options: KernelOptions, tried: Mapping[str, str] = NOTHING
) -> None:
    """
    Writes what is best by the options, whatever the function states; but operators whose key is
    among those of `tried` (`Site.key`) are computed by the implementation of the name given there.
    """
    for op in program_ops(function.body.block):
        if isinstance(op, FusedOp):
            op.strategies = None
    for op, choices in select_strategies(function, options).items():
        names = [tried.get(each.site.key) for each in choices] if tried else []
        if isinstance(op, FusedOp) and any(names):
            pairs = zip(choices, names, strict=True)
            write_strategies(op, [each if not name else each.by(name) for each, name in pairs])


KnownParameters: TypeAlias = dict[Hashable, tuple[tuple[str, int], ...]]
"""The parameters of implementations, by them and the weights that they read."""


def use_known_parameters(
    function: func.FuncOp, options: KernelOptions, known: KnownParameters
) -> None:
    """
    States the parameters that are `known` for operators which the same implementation computes with the same weights, where
    they can have these: then they read the weights in the same order. Notes what is stated for others.
    """
    for op in program_ops(function.body.block):
        if not isinstance(op, FusedOp) or op.strategies is None:
            continue
        group, operators = group_of(op), op.operators
        stated: list[StrategyAttr] = []
        for each in (attr.data for attr in op.strategies.data):
            inner = operators[each.number]
            weights = _weights(inner, op)
            key = weights, each.operator, each.implementation
            parameters = known.setdefault(key, each.parameters) if weights else each.parameters
            if parameters != each.parameters:
                (way,) = (own for own in STRATEGIES[type(inner)] if own.name == each.implementation)
                site = site_of(inner, group, options)
                if _can_have(way, site, dict(parameters)):
                    each = replace(each, parameters=parameters)
            stated.append(StrategyAttr(each))
        op.strategies = ArrayAttr(stated)


def _can_have(implementation: Implementation, site: Site, parameters: Numbers) -> bool:
    try:
        Choice.of(site, implementation, parameters, is_anchor=False)
    except ParameterError:
        return False
    return True


def _weights(op: Operation, fused: FusedOp) -> tuple[Attribute, ...]:
    """The constants that an operator of a `relay.fused` takes."""
    found: list[Attribute] = []
    for operand in op.operands:
        if isinstance(operand, BlockArgument) and operand.block is fused.block:
            operand = fused.operands[operand.index]
        if isinstance(operand.owner, ConstantOp):
            found.append(operand.owner.value)
    return tuple(found)


def write_strategies(op: FusedOp, choices: Iterable[Choice]) -> None:
    """States what computes the operators of a `relay.fused`."""
    numbers = {inner: number for number, inner in enumerate(op.operators)}
    op.strategies = ArrayAttr(
        StrategyAttr(
            StatedStrategy(
                numbers[each.op],
                each.op.name,
                each.implementation.name,
                each.is_anchor,
                tuple(each.numbers.items()),
            )
        )
        for each in choices
    )


def site_of(op: Operation, group: Group, options: KernelOptions) -> Site:
    """An operator of a group as strategies see it."""
    constants = frozenset(value for value in op.operands if value in group.known)
    threads = threads_of(group, options)
    return Site(op, options.target, threads, constants, options.excluded, options.records)


def _chosen(group: Group, options: KernelOptions) -> Iterable[Choice]:
    """The best implementation for each operator that gets loops."""
    ops = complex_operators(group)
    for op in ops:
        site = site_of(op, group, options)
        is_anchor = op is ops[-1] and can_be_anchor(op, group)
        yield Choice.of(site, explain_selection(site).chosen, is_anchor=is_anchor)


def _stated(
    op: FusedOp, stated: Sequence[StrategyAttr], options: KernelOptions, function: func.FuncOp
) -> Iterable[Choice]:
    """What a `relay.fused` states, which has to be possible."""
    group, operators = group_of(op), op.operators
    place = f"function '{function.sym_name.data}': {operation_text(op)}"
    named = {operators[each.data.number] for each in stated}
    for inner in operators:
        if needs_loops(inner) and inner not in named:
            raise DiagnosticException(f"{place}: 'strategies' lacks one for {inner.name}")
    for each in (attr.data for attr in stated):
        inner = operators[each.number]
        what = f"'{each.implementation}' cannot compute {inner.name}"
        if not can_have_loops(inner):
            raise DiagnosticException(f"{place}: {what}: it has no loops of its own")
        site = site_of(inner, group, options)
        known = {known.name: known for known in STRATEGIES[type(inner)]}
        implementation = known.get(each.implementation)
        if implementation is None:
            raise DiagnosticException(
                f"{place}: {what}: its implementations are {', '.join(known)}"
            )
        reason = refusal_of(implementation, site)
        if reason is None and each.is_anchor and not can_be_anchor(inner, group):
            reason = "what comes behind it cannot run on its registers, so it is no anchor"
        if reason is not None:
            raise DiagnosticException(f"{place}: {what}: {reason}")
        try:
            choice = Choice.of(
                site, implementation, dict(each.parameters), is_anchor=each.is_anchor
            )
        except ParameterError as error:
            raise DiagnosticException(f"{place}: {what}: {error}") from error
        yield choice


def _fused_alone(op: Operation) -> FusedOp:
    """Puts an operator into a `relay.fused`."""
    args = tuple(dict.fromkeys(op.operands))
    block = Block(arg_types=[arg.type for arg in args])
    params = dict(zip(args, block.args, strict=True))
    for number, param in enumerate(block.args):
        param.name_hint = f"p{number}"
    fused = FusedOp(args, Region(block), op.results[0].type)
    fused.location = op.location
    fused.result.name_hint = op.results[0].name_hint
    Rewriter.insert_op(fused, InsertPoint.before(op))
    op.results[0].replace_all_uses_with(fused.result)
    op.detach()
    op.operands = [params[operand] for operand in op.operands]
    block.add_ops([op, YieldOp(op.results[0])])
    return fused
