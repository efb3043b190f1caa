"""What ended pods, as data."""
