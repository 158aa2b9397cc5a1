"""The program by which the arithmetic of a machine is measured."""

import re
from collections import Counter

import pytest
from llvmlite import binding

from xrelay.runtime.host import host
from xrelay.runtime.peak import CHAINS, ROUNDS, peak_ir


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("lanes", [4, 8])
def test_all_chains_are_computed_and_stored(lanes: int, fused: bool) -> None:
    ir = peak_ir(lanes, host().triple, fused=fused)
    binding.parse_assembly(ir).verify()
    found = Counter(re.findall(r"= (?:call|fmul|fadd|phi <)|store", ir))
    steps = ("= call",) if fused else ("= fmul", "= fadd")
    assert found == dict.fromkeys((*steps, "= phi <", "store"), CHAINS)
    places = re.findall(r"ptr %place, i64 (\d+)\n  store <(\d+) x float>", ir)
    assert places == [(str(i), str(lanes)) for i in range(CHAINS)]
    assert f"%offset = mul i64 %thread, {CHAINS * lanes * 4}" in ir
    assert f"%more = icmp ult i64 %next, {ROUNDS}" in ir
