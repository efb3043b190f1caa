"""Decodes large lists from Kubernetes' protobuf encoding while they arrive, into the same models as JSON.

    codec               decodes an object's bytes into its model: only the fields that the model has
    pods                decodes pods part by part: one of many similar messages; the others are filled in
    recipe              builds a model from the values in which it differs from similar ones
    envelope            splits a list's bytes into its objects' bytes

protobuf halves the API server's work for a list, and saves the time that decoding JSON takes. Only large lists of the
kinds in `podrules.api.schema.table.wire_fields` use it: all others are read as JSON.
"""
