"""
Mutation testing: do the tests notice when one place of the code is wrong? (`python -m tests.mutants`)

`operators.py` has the mistakes that are made, on a `source.py`; `mutant.py` draws a sample of them. `blocks.py` and
`recording.py` find out once which test runs which code, which `coverage.py` keeps; `selection.py` takes from it the
tests that can notice a mistake. `worker.py` runs these in processes of their own, which import the wrong code in
place of what the file holds (`served.py`): the tree is never changed. `engine.py` keeps several of them busy,
`report.py` says what became of the mutants. Those that mean the same as the code are in `equivalent.toml`.
"""
