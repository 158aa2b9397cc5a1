"""
`xrelay explain`: fusion, strategies and memory. It imports what the other commands import.
"""
