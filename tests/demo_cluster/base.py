"""What every demo object shares: the instant, stable identities, metadata."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from cluster_io.demo import DEMO_NOW

Obj = dict[str, Any]
"""An API object, or a part of one, as the API server writes it in JSON."""


_NOW: Final = datetime.fromisoformat(DEMO_NOW)
_UNITS: Final = {"d": 86400, "h": 3600, "m": 60, "s": 1}
# No vowels and no look-alikes: the alphabet of k8s.io/apimachinery/pkg/util/rand.
_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"


@cache
def _seconds_ago(when: str) -> int:
    """``12d4h``: so long before the instant; ``03:02:04``: at that time of the same day."""
    if ":" in when:
        moment = datetime.fromisoformat(f"{DEMO_NOW[:10]}T{when}Z")
        return int((_NOW - moment).total_seconds())
    seconds = sum(int(count) * _UNITS[unit] for count, unit in re.findall(r"(\d+)([dhms])", when))
    # Whole days ago was not at this very second: somewhere in the day before.
    return seconds + int(digest(when)[:4], 16) if when.endswith("d") else seconds


@cache
def instant(when: str, plus: int = 0) -> str:
    """The RFC 3339 text of an age (``12d4h``) or of a time of day (``03:02:04``), some seconds later if asked."""
    moment = _NOW - timedelta(seconds=_seconds_ago(when) - plus)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@cache
def uid(kind: str, namespace: str, name: str) -> str:
    """The same UID for the same object in every run."""
    content = digest(f"uid/{kind}/{namespace}/{name}")
    # Version 8 of RFC 9562: made by a rule of one's own. (The uuid module is slow to import.)
    return f"{content[:8]}-{content[8:12]}-8{content[13:16]}-a{content[17:20]}-{content[20:32]}"


@cache
def digest(text: str) -> str:
    """64 hexadecimal digits that stand for a container's or an image's content."""
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def suffix(text: str, length: int = 5) -> str:
    """What a controller would append to a generated name."""
    return "".join(_SAFE[byte % len(_SAFE)] for byte in hashlib.sha256(text.encode()).digest()[:length])


def clone(value: Any) -> Any:
    """A copy that shares nothing which could be changed; tuples become lists, as in JSON."""
    if isinstance(value, dict):
        return {key: clone(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [clone(part) for part in value]
    return value


def metadata(kind: str, name: str, namespace: str = "", *, age: str, changed: str = "", **more: Any) -> Obj:
    """ObjectMeta; ``changed`` is when the object was last written, if later than its creation."""
    meta: Obj = {
        "name": name,
        "uid": uid(kind, namespace, name),
        # Grows with time, as revisions of etcd do.
        "resourceVersion": str(91_000_000 - _seconds_ago(changed or age)),
        "creationTimestamp": instant(age),
        **more,
    }
    if namespace:
        meta["namespace"] = namespace
    return meta


def written(api_version: str, kind: str, name: str, namespace: str = "", **meta: Any) -> Obj:
    """The beginning of an object: its type, and its metadata as `metadata` makes them."""
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata(kind, name, namespace, **meta)}


def reference(kind: str, namespace: str, name: str, api_version: str = "v1", *, controller: bool = True) -> Obj:
    """An owner reference."""
    owner: Obj = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid(kind, namespace, name)}
    if controller:
        owner |= {"controller": True, "blockOwnerDeletion": True}
    return owner


def condition(kind: str, status: str, since: str, reason: str = "", message: str = "") -> Obj:
    """A condition; ``since`` is the text of an instant."""
    made: Obj = {"type": kind, "status": status, "lastTransitionTime": since}
    if reason:
        made["reason"] = reason
    if message:
        made["message"] = message
    return made


def quantities(text: str) -> Obj:
    """``500m 1Gi`` as a resource list; ``-`` leaves cpu or memory out."""
    return {name: amount for name, amount in zip(("cpu", "memory"), text.split(), strict=False) if amount != "-"}
