"""Typed, narrow views of API objects: only the fields that rules read, decoded straight from the API server's JSON.

Every view is a frozen `msgspec.Struct` whose fields carry upstream's names in snake case. An absent field has the value
that Go's zero value would have. Nothing here is ever encoded back to the API server.
"""
