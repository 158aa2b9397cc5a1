"""
`apply-fusion-plan`: fuses what somebody else has decided, by a file or by attributes.

    %0 = relay.exp %x {relay.fusion_group = "a"}          %1 = relay.fused %x {
    %1 = relay.tanh %0 {relay.fusion_group = "a"}   ──►   ^bb0(%p0):
                                                            …

A pipeline that has a policy of its own marks operators of one block with equal values of
`relay.fusion_group`, or writes a plan file, which `xrelay explain --plan-json` also does for the
decisions of `fuse-ops`. A plan is checked as a whole before anything changes
(`xrelay.analysis.fusion.policy`); operators in no group stay as they are. A group with several
outputs yields a tuple, and operations between its members move behind it where they need it.

Source: Relax's FuseOpsByPattern and the `kPrimitive` functions of Relay share the idea.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.scopes import has_flag
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.fusion.file import groups_of_data, linked_params
from xrelay.analysis.fusion.plan import FusionPlan, fusion_blocks
from xrelay.analysis.fusion.policy import GroupMembers, plan_of_groups
from xrelay.analysis.relay_pass import RelayPass
from xrelay.runtime.reading import read_source
from xrelay.transforms.rules.outline_groups import outline_groups

GROUP = "relay.fusion_group"
"""The attribute that operators of one group have with equal values."""
COPIES = "relay.fusion_copies"
"""
The attribute of an operation that is in no group and that groups compute for themselves: an array
of the values that these groups have in GROUP.
"""


@dataclass(frozen=True)
class ApplyFusionPlanPass(RelayPass):
    """
    Fuses the groups of a plan.

    A plan that is not legal, or not for this module, raises PassFailedException.
    """

    name = "apply-fusion-plan"

    file: str | None = None
    """A plan in JSON. When not given, attributes `relay.fusion_group` say what fuses."""
    multi_output: bool = False
    """Whether the results of several operators of a group may be used outside of it."""
    link_params: bool | None = None
    """
    Whether constants of all shapes move into the groups that use them. When not given, the options
    in the file say so, or the module's attribute `link-params`.
    """

    def rewrite(self, op: ModuleOp) -> None:
        if self.file is None:
            link_params, plans = self.link_params, self._plans(_marked_groups(op))
        else:
            try:
                data = _read(Path(self.file))
                plans = self._plans(groups_of_data(op, data))
                link_params = self.link_params
                if link_params is None:
                    link_params = linked_params(data)
            except PassFailedException as error:
                raise PassOptionError(f"'{self.file}': {error}") from error
        if link_params is None:
            link_params = has_flag(op, ("link-params",))
        for plan in plans:
            for each in plan.block.ops:
                each.attributes.pop(GROUP, None)
                each.attributes.pop(COPIES, None)
        outline_groups(op, plans, link_params=link_params)

    def _plans(self, groups: Iterable[tuple[Block, list[GroupMembers]]]) -> list[FusionPlan]:
        return [
            plan_of_groups(block, each, multi_output=self.multi_output) for block, each in groups
        ]


def _read(file: Path) -> object:
    try:
        return json.loads(read_source(file).decode())
    except OSError as error:
        raise PassFailedException(str(error.strerror)) from error
    except ValueError as error:
        raise PassFailedException(f"not JSON: {error}") from error
    except RecursionError as error:
        raise PassFailedException("not a plan: its lists or objects nest too deeply") from error


def _marked_groups(module: ModuleOp) -> list[tuple[Block, list[GroupMembers]]]:
    """The groups that attributes name, for each block."""
    result: list[tuple[Block, list[GroupMembers]]] = []
    for block in fusion_blocks(module):
        members: dict[Attribute, list[Operation]] = {}
        copies: dict[Attribute, list[Operation]] = {}
        for op in block.ops:
            if GROUP in op.attributes:
                members.setdefault(op.attributes[GROUP], []).append(op)
            for group in _copied_into(op):
                copies.setdefault(group, []).append(op)
        for group, ops in copies.items():
            if group not in members:
                raise PassFailedException(
                    f"'{COPIES}' of {operation_text(ops[0])} names the group {group}, which no operation "
                    f"of the block has as its '{GROUP}'"
                )
        result.append(
            (block, [GroupMembers(ops, copies.get(key, ())) for key, ops in members.items()])
        )
    return result


def _copied_into(op: Operation) -> tuple[Attribute, ...]:
    """The groups that an operation names as those that compute it for themselves."""
    groups = op.attributes.get(COPIES, ArrayAttr[Attribute](()))
    if not isinstance(groups, ArrayAttr):
        raise PassFailedException(
            f"'{COPIES}' of {operation_text(op)} is {groups}, expected an array of groups"
        )
    return cast(ArrayAttr[Attribute], groups).data
