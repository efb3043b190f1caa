"""Reports to words: the verdict first, numbers beside what they are compared with, deciding fields by their path."""
