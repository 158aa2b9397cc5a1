"""
What can be read off a program, whoever asks: what depends on what, who calls whom, scopes, names, sizes,
memory plans; and the walks that read it.
Imports: dialects, interpreters.
"""
