"""The only I/O of the rules: objects from the live cluster, from files and snapshots, from the demo cluster."""
