"""The only I/O of the rules: objects from the live cluster, from files and snapshots, from the demo cluster.

How the live cluster is reached, and why. A plugin has to authenticate exactly as its user's kubectl does, and to start
fast. Measured on two cores against kube-apiserver 1.36.3, from the start of Python, for the four requests that an
explained pod takes (``make bench`` measures it anew):

    kubectl proxy on a private socket     about 125 ms; the first answer after 90 ms, each further one 1 to 2 ms
    kubectl get --raw, once a request     2.3 times that; and it cannot ask for names only, or later for protobuf
    the official client                   3 times that, most of it import; it knows no impersonation from kubeconfig,
                                          and its version 37 refuses objects that the API server accepts

So kubectl does the work where it is there, and beside a plugin it always is. The official client's configuration and
connection pool, not its models, are the way in a pod or in CI, where there may be no kubectl.
"""
