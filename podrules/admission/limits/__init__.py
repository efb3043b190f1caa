"""The limits of a namespace that refuse a new pod: LimitRanges for each pod by itself, ResourceQuotas for all together.

Both are asked after everything that changes a pod (`podrules.admission.admitted_pod`), and after its validation: give
them the pod as the API server would store it. LimitRanges come before quotas.
"""
