"""What the API server's decoder knows: the kinds that each version serves, and their fields.

table    the schema of one version, from ``api.json``, and protobuf's numbers, from ``wire.json``; `release.api_schema`
         makes both files
strict   validates an object against it, as strict field validation does
"""
