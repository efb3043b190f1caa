"""Answers about a workload and its pods, as data."""
