"""
Which operators become one kernel: Relay's rules, those beyond them, and fusion plans as files.
Imports: dialects, interpreters, analysis.facts.
"""
