"""One module a command: what was asked for, to reports."""
