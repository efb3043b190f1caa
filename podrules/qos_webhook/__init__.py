"""The rules of the kubectl qos webhook: what it writes into new pods, and which pods it rejects.

Imports `podrules.api`, `podrules.pod` and `podrules.scheduling`. The webhook applies these rules to reviews and the
plugin to pods that do not exist yet. Start with `rules`, then `defaults`.
"""
