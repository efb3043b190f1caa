"""The sentences about placement."""
