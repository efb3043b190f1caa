"""Typed models of API objects, with only the fields that rules read, decoded directly from the API server's JSON.

Every model is a frozen `msgspec.Struct` with upstream's field names in snake case. An absent field has Go's zero
value. No model is ever written back to the API server.
"""
