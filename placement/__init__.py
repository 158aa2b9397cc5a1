"""
Which engine runs which part of a program: candidates by rules, costs by measurement, a search, a plan.

Source: M. Jeon et al., "Collage: Seamless Integration of Deep Learning Backends with Automatic
Placement" (2022), and the design of TVM's `collage` that followed it.
"""
