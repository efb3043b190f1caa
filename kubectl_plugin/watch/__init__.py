"""``--watch``: repeats an answer when an object changes, on a terminal or a pipe.

Imports `kubectl_plugin.options` and `render`, and no command. Start with `loop`.
"""
