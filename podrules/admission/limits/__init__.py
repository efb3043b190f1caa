"""The limits of a namespace that can reject a new pod: LimitRanges for each pod, ResourceQuotas for all pods together.

Both come after everything that changes a pod (`podrules.admission.admitted_pod`), and after its validation: pass the
pod as the API server would store it. LimitRanges come before quotas.
"""
