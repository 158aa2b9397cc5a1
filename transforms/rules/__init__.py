"""
What several passes share: rewrites, the rules of legalisation, inlining, outlining.
Imports: dialects, interpreters, analysis.
"""
