"""What ended a pod or a container, with a grade of certainty.

cause           the causes, and how sure a verdict is
messages        what Kubernetes' components write about an end
evidence        what is known, what is missing, and the difference between the clocks
verdict         weighs the causes that fit
windows_exits   what exit codes of Windows mean
oom_kills       the OOM kills that events about a node report
memory          which memory limit a container reached
kubelet_stops   why a kubelet may have stopped a container
container_end   what ended one container
stop_order      whether containers ended before the deletion, or for it
controllers     what a controller shows about the deletion of its pod
scaling         why a controller reduced its pods
deleted         who deleted a pod that still exists
gone            what events show about a pod that no longer exists
rejections      why a kubelet rejected a pod
pod_end         what ended an existing pod as a whole
replacement     the pod that the controller created in its place
of_pod          the end of a pod: of all, or of the container that ended last
"""
