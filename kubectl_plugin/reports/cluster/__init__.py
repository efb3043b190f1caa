"""Answers about a whole cluster, as data."""
