"""
Quantised tensors (`relay.qnn.*`): conversions, arithmetic, products, their parameters.
Imports: the files of dialects, dialects.tensor, dialects.conv, dialects.nn.
"""
