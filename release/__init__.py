"""What a release consists of, made from one commit and one version number."""
