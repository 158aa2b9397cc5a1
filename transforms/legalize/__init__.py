"""
Passes that replace operators without kernels of their own by those that have them. They import what the other passes
import.
"""
