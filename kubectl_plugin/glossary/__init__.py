"""Explanations of terms and upstream's own messages: meaning, the rule behind it, its source, and what to do.

entry.py     the fields of an entry
catalogue.py all entries
lookup.py    from a text, for example of an event, to entries
The others contain entries by topic.
"""
