"""
Fuzzers: random and damaged inputs, run in workers that survive crashes (`python -m tests.fuzz`).

`fuzzer.py` says what a fuzzer is, `worker.py` runs cases in a process of its own, `pool.py` keeps
several such processes busy, `findings.py` groups what they find and keeps it, `registry.py` lists
the fuzzers, which have a file each.
"""
