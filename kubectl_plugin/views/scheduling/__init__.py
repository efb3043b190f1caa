"""Where pods would go, in words."""
