"""What ended a pod or a container, graded by proof.

cause           the causes, and how sure a verdict is
messages        what Kubernetes' components write about an end
evidence        what is known, what is missing, and how far the clocks are apart
verdict         weighs the causes that fit
windows_exits   what exit codes of Windows mean
oom_kills       what events about a node report of OOM kills
memory          which memory limit it was
kubelet_stops   why a kubelet may have stopped a container
container_end   what ended one container
stop_order      whether containers ended before the deletion, or for it
controllers     what a controller tells of having deleted a pod
scaling         why a controller had fewer pods to keep
deleted         who deleted a pod that is there
gone            what events tell of a pod that is gone
rejections      why a kubelet did not take a pod on
pod_end         what ended a pod that is there as a whole
replacement     the pod that was made in its place
of_pod          the end of a pod: of all, or of the container that ended last
"""
