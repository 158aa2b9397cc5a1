"""
Passes from relay to relay, a file each, those of a kind in a folder; `rules` has what several of them share.
Imports: dialects, interpreters, analysis, runtime.
"""
