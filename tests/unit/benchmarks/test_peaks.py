"""The peaks of products by type."""

import pytest
from llvmlite import binding

from benchmarks.peaks import INSTRUCTIONS, Instruction, Loop, available, loop_ir, main


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda each: each.title)
def test_loops(instruction: Instruction):
    """They are valid, and run where the processor has the instruction."""
    binding.parse_assembly(loop_ir(instruction)).verify()
    if available(instruction):
        assert Loop(instruction).rate(1) > 0


def test_table(capsys: pytest.CaptureFixture[str]):
    assert main(["--threads", "1"]) == 0
    shown = capsys.readouterr().out
    assert "1 thread" in shown and "2 threads" not in shown
    assert all((each.title in shown) == available(each) for each in INSTRUCTIONS)
