"""A whole cluster's pages."""
