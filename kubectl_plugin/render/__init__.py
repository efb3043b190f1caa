"""From words and reports to bytes: plain text with or without colour, JSON, YAML."""
