"""Pages and words about nodes."""
