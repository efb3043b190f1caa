"""``python -m webhook.demo``: the webhook over the demo cluster, with recorded requests of a real API server.

`recorded.json` contains AdmissionReviews that API server 1.36.3 sent for a few commands, and kubectl's output beside
the warnings; the tests record and check it.
"""
