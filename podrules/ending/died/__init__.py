"""What ended a pod or a container, with a grade of certainty.

cause           the causes, one row each, and verdicts: which causes fit, and how certain that is
messages        what Kubernetes' components write about an end
windows_exits   what exit codes of Windows mean
evidence        what is known, what is missing, the difference between the clocks, the pod that came instead
memory          which memory limit a container reached, and the OOM kills that events about a node report
container_end   what ended one container: the kubelet, the kernel, a restart of the node, or its own process
controllers     what a controller shows about the deletion of its pod, and why it reduced its pods
gone            what events show about a pod that no longer exists
pod_end         what ended an existing pod as a whole: who deleted it, why a kubelet rejected it
of_pod          the end of a pod: of all, or of the container that ended last
"""
