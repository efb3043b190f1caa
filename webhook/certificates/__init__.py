"""The serving certificate: made, kept, renewed and told to the API server by the program itself.

    pair       one authority that signs one certificate, and whose key is then thrown away
    rotation   what is to be done next, from what is kept and the time alone
    keeper     does it: the Secret is the truth, its resourceVersion the lock between replicas
    serving    the TLS context of the running server, into which a renewed certificate is loaded

Source of the idea: cert-controller and cert-manager keep an authority's key in a Secret; whoever reads it can sign for
any name for years. Here nobody can: each certificate has an authority of its own.
"""
