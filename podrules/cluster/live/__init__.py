"""Objects of a live cluster: connections, lists, watches."""
