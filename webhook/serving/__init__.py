"""The server: TLS connections, HTTP, probes, metrics and logs around the rules.

Imports the other folders of `webhook`. Start with `server`, then `app`.
"""
