"""Pages and words about one pod."""
