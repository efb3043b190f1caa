"""What a node does: memory and disk pressure, eviction, allocation, lost contact and pod garbage collection.

Imports `podrules.api` and `podrules.pod`. Start with `eviction.ranking`, then `pressure.node`.
"""
