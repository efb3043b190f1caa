"""Answers about nodes, as data."""
