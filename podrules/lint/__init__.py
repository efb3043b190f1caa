"""The checks of `kubectl qos lint`: what is wrong in the objects of manifests, found without a cluster.

finding      what a check is made of: `LintRule` (the statement) and `Finding` (details and words)
rules        the table of all rules, and the run of their checks
objects      manifests as typed objects, with the pods that they make
refused      numbers below 0 and requests over limits, shared with the commands that read manifests
scaled       numbers that may be percentages
the others   the checks, by subject; each module has its checks, statements and words

Imports the rooms up to `podrules.scheduling`, except `node` and `silent_node`. Start with `rules`, then `finding`.
"""
