"""
Passes that spell operators in another way: `canonicalize-ops`, `recognize-bias-add`, `fast-math`,
`flatten-atrous-conv`. They import what the other passes import.
"""
