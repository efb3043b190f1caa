"""A review from the API server and the answer to it: decoding, objects read in pieces, patches and Events.

Imports `webhook.cluster`, `certificates` and `settings`; neither HTTP nor rules. Start with `admission_review`.
"""
