"""
Passes that compute in other element types: `fake-quantization-to-integer`, `to-mixed-precision`. They import what the
other passes import.
"""
