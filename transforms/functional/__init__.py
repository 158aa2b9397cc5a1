"""
Passes on Relay's language around its operators: normal forms, closures, globals. They import what the other passes
import.
"""
