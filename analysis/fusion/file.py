"""
Fusion plans as data: what a program decides today, to be read, compared, changed and applied.

    {"format": "xrelay fusion plan 1", "options": {…}, "blocks": [
      {"function": "main", "block": 1,
       "groups": [{"members": [{"index": 2, "op": "relay.nn.conv2d", "name": "conv1",
                    "node": "/conv1/Conv"}, …],
                   "outputs": [4], "copies": [], "anchor": 2, "kind": "out_ewise_fusable"}, …],
       "values": [{"index": 2, "kind": "out_ewise_fusable", "uses": [[3, "elemwise"]],
                   "post_dominator": 4, "path_kind": "elemwise", "group": 0, "refusal": null}, …]}]}

`block` is the place of a block among those that fusion plans, `index` the place of an operation in
its block; 0 is the block of the module. Only `format`, `block` and the `index` of members, and of copies if there are any, are needed to
apply a plan; `function`, `op` are checked if they are there, the rest is for people and tools.
"""

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.fusion.plan import FusionNode, FusionPlan, Refusal, fusion_blocks
from xrelay.analysis.fusion.policy import GroupMembers
from xrelay.dialects.model_names import model_name

FORMAT = "xrelay fusion plan 1"
"""The value of `format`."""


def plan_data(plans: Sequence[FusionPlan]) -> dict[str, Any]:
    """
    The plans of all blocks of a module, in the order of `fusion_blocks`, as JSON values.

    Blocks without anything that fuses are left out.
    """
    options = plans[0].options if plans else None
    return {
        "format": FORMAT,
        "options": None if options is None else dict(vars(options)),
        "blocks": [
            _block_data(plan, number)
            for number, plan in enumerate(plans)
            if any(group.fused for group in plan.groups)
        ],
    }


def _block_data(plan: FusionPlan, number: int) -> dict[str, Any]:
    index = {op: node.index for op, node in plan.nodes.items()}
    fused = [group for group in plan.groups if group.fused]
    places = {id(group): place for place, group in enumerate(fused)}
    return {
        "function": function_name(plan.block),
        "block": number,
        "groups": [
            {
                "members": [_named(op, index[op]) for op in group.members],
                "outputs": [index[op] for op in group.outputs],
                "copies": [_named(op, index[op]) for op in group.copies],
                "anchor": None if group.anchor is None else index[group.anchor],
                "kind": group.kind.label,
            }
            for group in fused
        ],
        "values": [
            {**_node_data(node), "group": places.get(id(plan.group_of[op]))}
            for op, node in plan.nodes.items()
        ],
    }


def _named(op: Operation, index: int) -> dict[str, Any]:
    data: dict[str, Any] = {"index": index, "op": op.name}
    if op.results and op.results[0].name_hint:
        data["name"] = op.results[0].name_hint
    node = model_name(op)
    if node is not None:
        data["node"] = node
    return data


def _node_data(node: FusionNode) -> dict[str, Any]:
    return {
        **_named(node.op, node.index),
        "kind": node.kind.label,
        "uses": [[edge.consumer.index, edge.kind.label] for edge in node.edges],
        "post_dominator": None if node.dominator is None else node.dominator.index,
        "path_kind": node.path_kind.label,
        "refusal": None if node.refusal is None else refusal_data(node.refusal),
    }


def refusal_data(refusal: Refusal) -> dict[str, Any]:
    """A refusal as JSON values."""
    culprit = refusal.culprit
    return {
        "rule": refusal.rule,
        "reason": refusal.sentence,
        "sweep": refusal.sweep,
        "culprit": None if culprit is None else culprit.name,
    }


def function_name(block: Block) -> str | None:
    """The symbol of the function that a block belongs to."""
    op = block.parent_op()
    while op is not None:
        name = getattr(op.properties.get("sym_name"), "data", None)
        if isinstance(name, str):
            return name
        op = op.parent_op()
    return None


def groups_of_data(module: ModuleOp, data: object) -> list[tuple[Block, list[GroupMembers]]]:
    """
    The groups that a plan in JSON values has for the blocks of a module; none for blocks that it
    leaves out.

    Raises PassFailedException, with the place in the data, when it is not a plan for this module.
    """
    blocks = list(fusion_blocks(module))
    plan = _dictionary(data, "the plan")
    if plan.get("format") != FORMAT:
        raise PassFailedException(f"'format' is {plan.get('format')!r}, expected '{FORMAT}'")
    result: list[tuple[Block, list[GroupMembers]]] = [(block, []) for block in blocks]
    seen: set[int] = set()
    for i, entry in enumerate(_list(plan.get("blocks"), "'blocks'")):
        where = f"blocks[{i}]"
        entry = _dictionary(entry, where)
        number = _index(entry.get("block"), len(blocks), f"'block' of {where}")
        if number in seen:
            raise PassFailedException(f"{where}: block {number} is there twice")
        seen.add(number)
        block = blocks[number]
        function = function_name(block)
        if entry.get("function") not in (None, function):
            raise PassFailedException(
                f"{where} is of function '{entry['function']}', block {number} is of '{function}'"
            )
        ops = list(block.ops)
        groups = result[number][1]
        for j, group in enumerate(_list(entry.get("groups"), f"'groups' of {where}")):
            place = f"{where}.groups[{j}]"
            entries = _dictionary(group, place)
            members = _list(entries.get("members"), f"'members' of {place}")
            copies = _list(entries.get("copies", []), f"'copies' of {place}")
            if not members:
                raise PassFailedException(f"'members' of {place} is empty")
            groups.append(
                GroupMembers(
                    *([_member(each, ops, place) for each in part] for part in (members, copies))
                )
            )
    return result


def linked_params(data: object) -> bool | None:
    """Whether a plan links parameters (an option of fusion), None when it does not say."""
    options = _dictionary(data, "the plan").get("options")
    linked = None if options is None else _dictionary(options, "'options'").get("link_params")
    if linked is not None and not isinstance(linked, bool):
        raise PassFailedException(
            f"'link_params' of 'options' is {linked!r}, expected true or false"
        )
    return linked


def _member(data: object, ops: Sequence[Operation], where: str) -> Operation:
    member = _dictionary(data, f"a member of {where}")
    op = ops[_index(member.get("index"), len(ops), f"'index' of a member of {where}")]
    if member.get("op") not in (None, op.name):
        raise PassFailedException(
            f"{where} has '{member['op']}' at index {member['index']}, the program {op.name}: "
            "expected the program that the plan was made for"
        )
    return op


def _dictionary(data: object, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise PassFailedException(f"{where} is {data!r}, expected an object")
    return cast(dict[str, Any], data)


def _list(data: object, where: str) -> list[object]:
    if not isinstance(data, list):
        raise PassFailedException(f"{where} is {data!r}, expected a list")
    return cast(list[object], data)


def _index(data: object, size: int, where: str) -> int:
    if not isinstance(data, int) or isinstance(data, bool) or not 0 <= data < size:
        raise PassFailedException(f"{where} is {data!r}, expected a number from 0 to {size - 1}")
    return data
