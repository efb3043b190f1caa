"""Which containers of a pod have a process: the kernel can kill only these, and a stop waits only for these.

    status says running               it has one
    status says waiting, terminated   it has none: as in ImagePullBackOff, CrashLoopBackOff, PodInitializing
    no status                         a planned pod, or a kubelet that has not reported: app containers and sidecars
                                      count as running, init containers as ended
    the pod has finished              none has one

A status without a state means waiting (ContainerState of the API). A status is the kubelet's last report: on a node
that does not respond it may be old.

Source: k8s.io/api/core/v1/types.go (ContainerState) at v0.36.3; pkg/kubelet/kuberuntime/kuberuntime_container.go
(killContainersWithSyncResult, which stops what the runtime runs) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from podrules.api.model.pod import ContainerRef, ContainerStatus, Pod


def status_of(pod: Pod, name: str) -> ContainerStatus | None:
    """The kubelet's report on a container; None: no report."""
    return next((status for status in pod.status.of_containers if status.name == name), None)


def has_process(pod: Pod, ref: ContainerRef) -> bool:
    """Whether a container runs, by its status."""
    return _runs(pod, ref, status_of(pod, ref.container.name))


def with_process(pod: Pod) -> Iterator[ContainerRef]:
    """The running containers; efficient for thousands of containers."""
    return (ref for ref, status in _with_status(pod) if _runs(pod, ref, status))


def idle_containers(pod: Pod) -> tuple[str, ...]:
    """App containers and sidecars that are known not to run now: they do not have to stop."""
    return tuple(
        ref.container.name
        for ref, status in _with_status(pod)
        if (ref.is_sidecar or not ref.is_init) and status and not _runs(pod, ref, status)
    )


def _with_status(pod: Pod) -> Iterator[tuple[ContainerRef, ContainerStatus | None]]:
    # The first status with a name counts.
    by_name = {status.name: status for status in reversed(pod.status.of_containers)}
    return ((ref, by_name.get(ref.container.name)) for ref in pod.containers())


def _runs(pod: Pod, ref: ContainerRef, status: ContainerStatus | None) -> bool:
    if pod.finished:
        return False
    if status is None:
        return not ref.is_init or ref.is_sidecar
    return status.state.running is not None
