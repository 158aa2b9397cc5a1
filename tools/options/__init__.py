"""
The options and the help of the commands of `xrelay`. May import what `tools` may; loads nothing heavy, as each command
reads it.
"""
