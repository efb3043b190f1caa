"""Terms and upstream's own words, explained: what each means, the rule behind it, where it is written, what to do.

entry.py     what an entry holds
catalogue.py all entries
lookup.py    from a text, as pasted out of an event, to entries
The others hold entries by topic.
"""
