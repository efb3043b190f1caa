"""The cluster as the rules read it: caches, live reads within a time limit, PriorityClasses and default constraints.

Imports `webhook.settings`. Start with `view`.
"""
