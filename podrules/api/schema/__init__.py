"""What the API server's decoder knows: the kinds that each version serves, and their fields.

table    the schema of one version, from ``api.json``, which `release.api_schema` makes
strict   validates an object against it, as strict field validation does
"""
