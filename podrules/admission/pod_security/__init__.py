"""Pod Security admission: which pods a namespace's labels refuse, or warn of, in upstream's words.

    policy       the labels of a namespace as levels and versions
    pods         a Pod or a workload's template as the checks see it
    baseline     the checks of the level baseline
    restricted   those that restricted adds, or has instead
    evaluation   which checks a level and a version have, and what they find
    admission    the sentences that a user reads

Source: k8s.io/pod-security-admission at v0.37.1, as plugin/pkg/admission/security/podsecurity of k8s.io/kubernetes runs
it by default: no exemptions, and privileged where a namespace has no labels.
"""
