"""The page of a cluster: one HTML file that loads nothing."""
