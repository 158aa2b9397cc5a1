"""
Object detection (`relay.vision.*`): boxes, their selection, what is inside of them.
Imports: the files of dialects, dialects.conv, dialects.image.
"""
