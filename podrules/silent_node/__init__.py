"""Nodes that stopped reporting: what a force deletion risks there, partitions of the network, and fencing.

Imports the rooms up to `podrules.ending`, except admission. Start with `partitions`, then `fencing`.
"""
