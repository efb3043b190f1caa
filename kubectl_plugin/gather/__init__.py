"""Reads what an answer needs: targets of the command line, manifest files, and the facts for each report.

Imports `options`, `reports` and `cluster_io`, and no command. Start with `targets`, then `object_reports`.
"""
