"""Explanations of terms and upstream's own messages: meaning, the rule behind it, its source, and what to do.

glossary.md  all entries
catalogue.py reads them
lookup.py    from a text, for example of an event, to entries
"""
