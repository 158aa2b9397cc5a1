"""
Passes that make one operator of several on the same data. They import what the other passes import.
"""
