"""Reports to words: the verdict first, each number with what it is compared with, deciding fields by their path."""
