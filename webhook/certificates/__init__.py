"""The program makes, stores and renews its serving certificate, and publishes its CA to the API server.

    pair       makes one authority that signs one certificate, and throws the authority's key away
    rotation   decides the next step, only from the stored certificates and the time
    keeper     takes that step; the Secret is the truth, and every replica reads and serves it
    election   chooses the replica that writes: the holder of a Lease
    writing    sends the requests that write
    elapsed    measures durations, whatever the time of day is set to
    files      replaces all of the above: it serves a certificate that another program writes to files
    serving    loads a renewed certificate into the TLS context of the running server
    status     reports the state of the certificate, for each way to make it

cert-controller and cert-manager keep an authority's key in a Secret, and a client that reads it can sign for any
name for years. This program stores no such key: each certificate has an authority of its own.
"""
