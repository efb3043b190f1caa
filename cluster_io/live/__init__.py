"""Reads objects of a live cluster: connections, lists, watches."""
