"""Changes to the cluster, step by step: deletions and taints, each printed as it happens.

Imports `gather`, `reports` and `views`, and no command. Start with `change`.
"""
