"""Reads API objects from the live cluster, from files and snapshots, and from the demo cluster.

The rules do no other I/O. A plugin has to authenticate exactly as its user's kubectl does, and to start fast. These
times were measured on two cores against kube-apiserver 1.36.3, from the start of Python, for the four requests that
explain a pod (``make bench`` measures them again):

    kubectl proxy on a private socket     about 125 ms; the first answer after 90 ms, each further one 1 to 2 ms
    kubectl get --raw, once a request     2.3 times that; and it cannot ask for names only, or later for protobuf
    the official client                   3 times that, most of it import; it knows no impersonation from kubeconfig,
                                          and its version 37 refuses objects that the API server accepts

So kubectl sends the requests where it is installed, and a plugin's user always has it. A pod or a CI job may have no
kubectl: there the official client's configuration and connection pool are used, but not its models.
"""
