"""Writes the report of a cluster as one HTML file that loads nothing."""
