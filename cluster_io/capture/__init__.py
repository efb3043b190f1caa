"""Snapshots: one small file with everything that the rules read of a cluster.

contents     chooses what is captured and what is left out
anonymise    replaces names; equal names stay equal
file         reads and writes the file: format, versions, limits
source       serves the objects of a file
"""
