"""The commands, one module each: they turn targets into reports."""
