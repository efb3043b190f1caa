"""Snapshots: one small file with everything that the rules read of a cluster.

contents     chooses what is captured and what is left out
anonymise    replaces names; equal names stay equal
blocks       encodes the objects of one kind; what they share is stored once
file         reads, writes and serves the file: format, versions, limits
"""
