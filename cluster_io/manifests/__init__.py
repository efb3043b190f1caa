"""Objects of files: YAML and JSON, with the place of each field."""
