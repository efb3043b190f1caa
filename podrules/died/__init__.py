"""What ended a pod or a container, graded by proof.

cause           the causes, and how sure a verdict is
messages        what Kubernetes' components write about an end
evidence        what is known, what is missing, and how far the clocks are apart
verdict         weighs the causes that fit
memory          which memory limit it was
container_end   what ended one container
pod_end         what ended a pod as a whole, also one that is gone
of_pod          the end of a pod: of all, or of the container that ended last
"""
