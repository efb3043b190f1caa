"""Snapshots: what the rules need of a cluster, in one small file.

contents     what is captured, and what of it is left out
anonymise    names replaced by others, alike where they were alike
file         the file: its format, versions and limits
source       a file as a source of objects
"""
