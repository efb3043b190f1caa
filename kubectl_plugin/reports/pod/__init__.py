"""Answers about one pod, as data."""
