"""
Images in other sizes, and sampled at computed places (`relay.image.*`).
Imports: the files of dialects, dialects.conv.
"""
