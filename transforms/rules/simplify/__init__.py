"""
The rules of `simplify-expr`, by theme. The pass has the table of them.
Imports: dialects, interpreters, analysis, transforms/rules.
"""
