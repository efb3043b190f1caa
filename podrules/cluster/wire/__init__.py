"""Large lists in Kubernetes' protobuf encoding, read as they come and into the very models that JSON is read into.

    fields      where upstream's fields are; generated
    codec       bytes of an object to its model: only the fields that the model holds are looked at
    alike       messages that differ in a few own values: one is decoded, the others are filled in
    pods        pods, part by part in that way
    envelope    a list's bytes to its objects' bytes, one by one

protobuf saves the API server half the work of a list, and its JSON decoder's worth of waiting. It is loaded for
large lists alone, and for kinds of `fields` alone: all others are read as JSON.
"""
