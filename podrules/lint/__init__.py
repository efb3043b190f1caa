"""The checks of `kubectl qos lint`: problems in the objects of manifests, found without a cluster.

finding      the parts of a check: `LintRule` (the statement) and `Finding` (details and words)
rules        the table of all rules, and the run of their checks
objects      manifests as typed objects, with the pods that they create
shape        fields that their kind lacks, values that do not fit their type, and values that the API server rejects
the others   the checks, by subject; each module has its checks, statements and words

Imports the rooms up to `podrules.scheduling`, except `node` and `silent_node`. Start with `rules`, then `finding`.
"""
