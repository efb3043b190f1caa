"""What ended pods, in words."""
