"""What is wrong with, or unwanted in, the objects of manifests: told without a cluster.

    rules        every rule: its name, how grave it is, where Kubernetes says so
    finding      one place that a rule objects to
    objects      manifests as typed objects, with the pods that they make
    run          all checks over all objects
    the others   the checks, by subject: each takes objects and gives findings

An error is refused by the API server of 1.36.3, the object itself or the pods that it makes. A warning is taken, and
does harm by what Kubernetes does next. A notice may be meant so.
"""
