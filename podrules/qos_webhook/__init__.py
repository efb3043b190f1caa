"""The rules of the webhook of kubectl qos: what it writes into new pods, and which it refuses.

The webhook goes by them, and so does the plugin, where it says what will become of a pod to come.
"""
