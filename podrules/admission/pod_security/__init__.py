"""Pod Security admission: which pods a namespace's labels reject or warn about, in upstream's words.

    policy   the labels of a namespace as levels and versions
    pods     a Pod or a workload's template as the input of the checks, and the words of their results
    checks   the checks of each level and version, and the sentences that a user reads

Source: k8s.io/pod-security-admission at v0.37.1, as plugin/pkg/admission/security/podsecurity of k8s.io/kubernetes runs
it by default: no exemptions, and privileged if a namespace has no labels.
"""
