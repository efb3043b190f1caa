"""``python -m webhook.demo``: the webhook over the demo cluster, asked what a real API server asked.

`recorded.json` holds AdmissionReviews that API server 1.36.3 sent for a few commands, and what kubectl printed beside
the warnings; the tests record it and hold it.
"""
