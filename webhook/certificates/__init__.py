"""The serving certificate: made, kept, renewed and told to the API server by the program itself.

    pair       one authority that signs one certificate, and whose key is then thrown away
    rotation   what is to be done next, from what is kept and the time alone
    keeper     does it: the Secret is the truth; all replicas read and serve it
    election   which of them writes: the holder of a Lease
    writing    the requests by which it does
    elapsed    how long something lasts, whatever the time of day is set to
    files      in place of all that: a certificate that somebody else makes, in files that are read again
    serving    the TLS context of the running server, into which a renewed certificate is loaded
    status     what is to be known of it from outside, whoever makes it

Source of the idea: cert-controller and cert-manager keep an authority's key in a Secret; whoever reads it can sign for
any name for years. Here nobody can: each certificate has an authority of its own.
"""
