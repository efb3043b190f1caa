"""The commands, one module each: they turn what was asked for into reports."""
