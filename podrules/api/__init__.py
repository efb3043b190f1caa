"""Kubernetes' objects and fields: the model, the schema of all fields, feature gates, names; the escape of texts.

Imports no other room. Start with `model.pod`, then `schema.table`; `features` has the gates of each version.
"""
