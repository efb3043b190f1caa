"""Builds a release and the reference pages from one commit."""
