"""
Passes from relay to relay, a file each; `rules` has what several of them share.
Imports: dialects, interpreters, analysis, runtime.
"""
