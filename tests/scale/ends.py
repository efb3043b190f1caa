"""The events of an hour in a large cluster: 2,000, most about containers that ended and run again.

They are written for each measurement, because events expire: they are not part of the stored cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tests.controlplane.client import ApiClient, Object
from tests.scale import cluster
from tests.scale.cluster import Size
from tests.scale.share_out import share_out

EVENTS: Final = 2_000
_PODS: Final = 1_000
"""So many pods have two events each; every second one has ended."""
_REASONS: Final = (("Started", "Container started"), ("BackOff", "Back-off restarting failed container"))


def leave_ends(api: ApiClient, size: Size) -> None:
    """Write the events, and the statuses of the pods that ended."""
    step = max(size.pods // _PODS, 1)
    numbers = [number for number in range(0, size.pods, step) if number % 100 != 99][:_PODS]
    now = datetime.now(UTC)

    def part(first: int, every: int) -> None:
        for place in range(first, len(numbers), every):
            _leave(api, size, numbers[place], now, ended=place % 2 == 0)

    share_out(api, part)


def _leave(api: ApiClient, size: Size, number: int, now: datetime, *, ended: bool) -> None:
    name, namespace = cluster.pod_name(number), cluster.namespace_of(number % 300)
    stored = api.get("v1", "Pod", name, namespace)
    ago = now - timedelta(seconds=60 + number % 3000)
    if ended:
        status = {"containerStatuses": list(_ended(cluster.pod_status(number, size), ago))}
        api.patch(stored, {"status": status}, subresource="status")
    for event in _events(stored, ago):
        api.create(event)


def _ended(status: Object, when: datetime) -> Iterator[Object]:
    for one in status["containerStatuses"]:
        end = {"exitCode": 137, "reason": "OOMKilled", "startedAt": _text(when - timedelta(hours=1))}
        yield {**one, "lastState": {"terminated": {**end, "finishedAt": _text(when)}}, "restartCount": 1}


def _events(pod: Object, when: datetime) -> Iterator[Object]:
    meta = pod["metadata"]
    about: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        **{key: meta[key] for key in ("name", "namespace", "uid")},
    }
    for number, (reason, message) in enumerate(_REASONS):
        yield {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{meta['name']}.{number}", "namespace": meta["namespace"]},
            "involvedObject": about,
            "reason": reason,
            "message": message,
            "firstTimestamp": _text(when),
            "lastTimestamp": _text(when),
            "count": 1,
            "source": {"component": "kubelet", "host": pod["spec"]["nodeName"]},
            "type": "Normal",
        }


def _text(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
