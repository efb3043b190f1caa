"""The additions of admission to a pod: the difference between the sent pod and the pod that would be stored.

Fields that the API sets by itself, such as imagePullPolicy, are not additions. The API server's own plugins are
recognized by their usual additions; the rest comes from webhooks and policies, and no record shows which one.

Source: plugin/pkg/admission/{serviceaccount,defaulttolerationseconds,priority,runtimeclass,limitranger,
podtolerationrestriction} of k8s.io/kubernetes at v1.37.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from msgspec import Struct

Content = Mapping[str, Any]

_ACCESS_VOLUME: Final = "kube-api-access-"
_ACCESS_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_DEFAULT_TOLERATIONS: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_LIMIT_RANGER: Final = "kubernetes.io/limit-ranger"


class AdmissionPlugin(Enum):
    """The API server's own admission plugins that add something to pods."""

    SERVICE_ACCOUNT = "ServiceAccount"
    DEFAULT_TOLERATION_SECONDS = "DefaultTolerationSeconds"
    PRIORITY = "Priority"
    RUNTIME_CLASS = "RuntimeClass"
    LIMIT_RANGER = "LimitRanger"


class Addition(Struct, frozen=True, rename="camel"):
    """An addition to the sent pod, or a change of it."""

    field: str
    """``spec.containers``."""
    what: str
    """``container istio-proxy``."""
    changed: bool = False
    """Whether an existing value was changed."""
    by: AdmissionPlugin | None = None
    """The plugin; None: a webhook, a policy, or a plugin that is not on by default."""


_LISTS: Final[Mapping[str, tuple[str, Callable[[Content], AdmissionPlugin | None]]]] = {
    "volumes": (
        "volume",
        lambda one: AdmissionPlugin.SERVICE_ACCOUNT if str(one.get("name")).startswith(_ACCESS_VOLUME) else None,
    ),
    "tolerations": (
        "toleration",
        lambda one: (
            AdmissionPlugin.DEFAULT_TOLERATION_SECONDS
            if one.get("key") in _DEFAULT_TOLERATIONS and one.get("effect") == "NoExecute"
            else None
        ),
    ),
    "imagePullSecrets": ("image pull secret", lambda _: AdmissionPlugin.SERVICE_ACCOUNT),
    "topologySpreadConstraints": ("topology spread constraint", lambda _: None),
}
"""Lists, a word for an item, and the plugin that adds one by default."""
_SCALARS: Final[Mapping[str, AdmissionPlugin | None]] = {
    "serviceAccountName": AdmissionPlugin.SERVICE_ACCOUNT,
    "priority": AdmissionPlugin.PRIORITY,
    "priorityClassName": AdmissionPlugin.PRIORITY,
    "overhead": AdmissionPlugin.RUNTIME_CLASS,
    "runtimeClassName": None,
    "nodeSelector": AdmissionPlugin.RUNTIME_CLASS,
    "affinity": None,
    "hostNetwork": None,
    "hostAliases": None,
    "schedulingGates": None,
    "shareProcessNamespace": None,
}
"""Fields that the API does not set by itself, and the plugin that sets them by default."""


def added_at_admission(sent: Content, stored: Content) -> tuple[Addition, ...]:
    """Everything that was added or changed, in the order of the fields."""
    found: list[Addition] = []
    for name, word in (("labels", "label"), ("annotations", "annotation")):
        own = _map(_map(sent, "metadata"), name)
        for key, value in _map(_map(stored, "metadata"), name).items():
            if own.get(key) != value:
                by = AdmissionPlugin.LIMIT_RANGER if key == _LIMIT_RANGER else None
                found.append(Addition(f"metadata.{name}", f"{word} {key}", key in own, by))
    before, after = _map(sent, "spec"), _map(stored, "spec")
    limited = any(one.what.endswith(_LIMIT_RANGER) for one in found)
    for name, word in (("initContainers", "init container"), ("containers", "container")):
        containers = {entry.get("name"): entry for entry in _items(before, name)}
        for entry in _items(after, name):
            field, what = f"spec.{name}", f"{word} {entry.get('name')}"
            container = containers.get(entry.get("name"))
            new = () if container is None else _inside(field, what, container, entry, limited=limited)
            found += [Addition(field, what)] if container is None else new
    for name, (word, plugin) in _LISTS.items():
        # Items without a name are compared completely.
        items = {_key(entry) for entry in _items(before, name)}
        for entry in _items(after, name):
            if _key(entry) not in items:
                found.append(Addition(f"spec.{name}", f"{word} {_item_word(entry)}", by=plugin(entry)))
    for name, by in _SCALARS.items():
        value = after.get(name)
        if value not in (None, "", {}, [], False) and before.get(name) != value:
            what = f"{name} {value}" if isinstance(value, str | int) else name
            found.append(Addition(f"spec.{name}", what, before.get(name) is not None, by))
    return tuple(found)


def _map(content: Content, name: str) -> Content:
    found: Content = content.get(name) or {}
    return found


def _items(content: Content, name: str) -> Sequence[Content]:
    return [entry or {} for entry in content.get(name) or ()]


def _inside(field: str, container: str, sent: Content, stored: Content, *, limited: bool) -> Iterator[Addition]:
    """The additions to a container of the sent pod."""
    if sent.get("image") != stored.get("image"):
        yield Addition(field, f"image {stored.get('image')} of {container}", changed=True)
    variables = {entry.get("name"): entry.get("value") for entry in _items(sent, "env")}
    for entry in _items(stored, "env"):
        if entry.get("name") not in variables or variables[entry.get("name")] != entry.get("value"):
            yield Addition(field, f"variable {entry.get('name')} of {container}", entry.get("name") in variables)
    mounts = {entry.get("mountPath") for entry in _items(sent, "volumeMounts")}
    for entry in _items(stored, "volumeMounts"):
        if entry.get("mountPath") not in mounts:
            by = AdmissionPlugin.SERVICE_ACCOUNT if entry.get("mountPath") == _ACCESS_PATH else None
            yield Addition(field, f"mount {entry.get('mountPath')} of {container}", by=by)
    before, after = _map(sent, "resources"), _map(stored, "resources")
    for side in ("requests", "limits"):
        for resource, amount in _map(after, side).items():
            # The API copies a limit into a missing request.
            if resource in _map(before, side) or (side == "requests" and resource in _map(before, "limits")):
                continue
            by = AdmissionPlugin.LIMIT_RANGER if limited else None
            yield Addition(field, f"{side[:-1]} {resource} {amount} of {container}", by=by)


def _key(entry: Content) -> str:
    name = entry.get("name")
    return str(name) if name is not None else json.dumps(entry, sort_keys=True)


def _item_word(entry: Content) -> str:
    if "name" in entry:
        return str(entry["name"])
    if "topologyKey" in entry:
        return f"by {entry['topologyKey']} ({entry.get('whenUnsatisfiable')})"
    seconds = entry.get("tolerationSeconds")
    effect = f":{entry['effect']}" if entry.get("effect") else ""
    return f"{entry.get('key') or 'of all taints'}{effect}{'' if seconds is None else f' for {seconds} s'}"
