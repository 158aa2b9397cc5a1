"""
In which layouts operators see their operands and results, and what they become in others.
Imports: dialects, analysis.facts.
"""
