"""
Which parts of a program go to which compiler: annotation, regions, their merging and their functions.
Imports: dialects, interpreters, analysis.facts, analysis.patterns.
"""
