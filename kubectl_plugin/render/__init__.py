"""Formats: pages and reports to text. `formats` has the table of `-o`. Only modules here escape untrusted text."""
