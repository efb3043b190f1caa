"""Replaces names in a snapshot; equal names stay equal, so that rules give the same answers.

    words      each run of letters and digits is replaced on its own: a name made of other names, such as the claim
               ``web-0-data`` of pod ``web-0``, is then made of their replacements, and selectors match as before
    kept       names that Kubernetes gives: values of enumerations, reasons, its own kinds, labels, resources and
               namespaces, drivers that the rules know, numbers, times, versions
    left out   texts that people or programs wrote: messages, descriptions, commands, paths

Every field that is not listed here has its words replaced. The replacements derive from a secret that is not stored, so
they cannot be reversed. A reader still sees that two names share a word, and how many objects there are.
"""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.capture.contents import KindContents
from cluster_io.capture.file import in_namespace
from cluster_io.kinds import (
    ALL_KINDS,
    CONFIG_MAPS,
    EVENTS,
    OF_OUR_WEBHOOK,
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
)
from podrules.admission.pod_security.policy import LATEST, PolicyLevel
from podrules.api.csi_translation import MIGRATED_PROVISIONERS, csi_source
from podrules.api.model.storage import CSIVolumeSource, PersistentVolume, VolumeAttachment
from podrules.api.well_known import SELECTOR_ANNOTATIONS, is_public_key
from podrules.ending.volumes import attachment_name
from podrules.pod.reading import OUTSIDE

_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_KEPT_FIELDS: Final = frozenset(
    {
        *("operator", "effect", "status", "phase", "qos_class", "protocol"),
        *("when_unsatisfiable", "node_affinity_policy", "node_taints_policy", "unhealthy_pod_eviction_policy"),
        *("preemption_policy", "restart_policy", "action", "medium", "stop_signal", "volume_mode", "access_modes"),
        *("volume_binding_mode", "pod_management_policy", "pod_replacement_policy", "declared_features", "max_surge"),
        *("kubelet_version", "kernel_version", "os_image", "container_runtime_version", "operating_system"),
        *("creation_timestamp", "deletion_timestamp", "last_transition_time", "last_heartbeat_time", "start_time"),
        *("started_at", "finished_at", "renew_time", "time_added", "time", "event_time", "last_timestamp"),
        *("allocation_timestamp", "last_schedule_time", "resource_version", "scopes", "scope_name"),
    }
)
"""Fields that have values named by Kubernetes."""
_USUALLY_KEPT: Final = frozenset({"type", "reason"})
"""Fields that keep their values unless they contain a domain, as the conditions of readiness gates do."""
_CAMEL_CASE: Final = re.compile(r"[A-Za-z0-9]*")
_KINDS: Final = frozenset({"Node", "Service", *(kind.kind for kind in ALL_KINDS)})
_TEXTS: Final = frozenset({"message", "description", "command", "path"})
_KUBERNETES_KEY: Final = re.compile(r"([a-z0-9.-]+\.)?(kubernetes\.io|k8s\.io)/[^/^=,]*|topology\.[a-z0-9.-]+/[a-z]+")
"""Labels, taints, annotations and finalizers of Kubernetes and of cloud providers."""
_ATTACHED: Final = re.compile(r"kubernetes\.io/(csi|fc|iscsi)/")
"""How a node's status begins a volume's name, which ends with values of the PersistentVolume."""
_VALUES: Final = re.compile(r"([\[\] ]|:(?=[0-9]+$))")
_NUMBER: Final = re.compile(r"-?[0-9]+")
_KEPT: Final = frozenset(
    {
        *("", "true", "false", "linux", "windows", "amd64", "arm64", "arm", "default", "kubernetes"),
        *("kube-system", "kube-public", "kube-node-lease", "default-scheduler"),
        *("system-node-critical", "system-cluster-critical", "metadata.name"),
        *("type", "virtual-kubelet", "virtual-kubelet.io/provider"),
        *SELECTOR_ANNOTATIONS,
        *("cpu", "memory", "pods", "ephemeral-storage", "storage", "count/pods"),
        *(*PolicyLevel, LATEST),
        *("v1", "apps/v1", "batch/v1", "127.0.0.1", "0.0.0.0"),  # noqa: S104 - an address that ports are compared with
        *("csi.vsphere.vmware.com", *MIGRATED_PROVISIONERS.values()),
    }
)
_OF_DISKS: Final = frozenset({"aws", "vol", "projects", "zones", "regions", "disks", "UNSPECIFIED", "Managed"})
"""Words of in-tree disks, from which their drivers' names for them are made."""
_HUGE_PAGES: Final = "hugepages-"
_OF_QUOTA: Final = re.compile(r"(requests|limits)\.")
"""The prefixes that a quota adds to the name of a resource."""
_LEVEL_VERSION: Final = re.compile(r"v1\.[0-9]+")
"""The version of a Pod Security level, in the label of a namespace."""
_DIGEST_BYTES: Final = 5
"""Bytes of a word's digest: eight letters in base 32."""


class Anonymiser:
    """Replaces names; one secret determines all replacements."""

    def __init__(self, secret: bytes) -> None:
        """Take the secret; it lets its holder compute a name's replacement."""
        self._secret = secret
        self.text = lru_cache(1 << 18)(self._text)
        self._word = lru_cache(1 << 16)(self._replacement)

    def contents(self, found: Iterable[KindContents]) -> list[KindContents]:
        """Replace the names in a cluster's contents; events and ConfigMaps are left out, for they are texts."""
        made = []
        volumes: dict[str, CSIVolumeSource] = {}
        for entry in sorted(found, key=lambda entry: entry.kind is VOLUME_ATTACHMENTS):
            texts = entry.kind in {EVENTS, CONFIG_MAPS} or entry.kind.group == "resource.k8s.io"
            if texts or (entry.objects and entry.kind in OF_OUR_WEBHOOK):
                made.append(KindContents(entry.kind, not_captured="left out by --anonymise"))
                continue
            if entry.kind is PERSISTENT_VOLUMES:
                volumes = {volume.metadata.name: source for volume, source in map(_source, entry.objects) if source}
            objects = tuple(map(self.model, entry.objects))
            if entry.kind is VOLUME_ATTACHMENTS:
                objects = tuple(
                    self._attachment(old, new, volumes) for old, new in zip(entry.objects, objects, strict=True)
                )
            _, of_one, namespace = entry.not_captured.partition(OUTSIDE)
            lacks = f"{OUTSIDE}{self.text(namespace)}" if of_one else entry.not_captured
            only = in_namespace(self.text(namespace)) if of_one else entry.only
            made.append(KindContents(entry.kind, objects, lacks, only))
        return made

    def model(self, entry: Any) -> Any:
        """Replace the names in an object, or in a part of one."""
        return replace(
            entry,
            **{
                name: self._field(name, value)
                for name in entry.__struct_fields__
                if name not in _TEXTS and (value := getattr(entry, name))
            },
            **{name: type(getattr(entry, name))() for name in entry.__struct_fields__ if name in _TEXTS},
        )

    def _field(self, name: str, value: Any) -> Any:
        # The status of a condition is a word; the status of an object is a model.
        if isinstance(value, Struct) or not (
            name in _KEPT_FIELDS
            or (name in _USUALLY_KEPT and _CAMEL_CASE.fullmatch(value))
            or (name == "kind" and value in _KINDS)
        ):
            return self._value(value)
        return value

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case Struct():
                return self.model(value)
            case tuple():
                return tuple(map(self._value, value))
            case dict():
                return {self.text(key): self._value(entry) for key, entry in value.items()}
            case _:
                return value

    def _text(self, text: str) -> str:
        if text in _KEPT or text.startswith(_HUGE_PAGES) or _NUMBER.fullmatch(text) or _LEVEL_VERSION.fullmatch(text):
            return text
        if is_public_key(text):
            return text
        if of_quota := _OF_QUOTA.match(text):
            return of_quota[0] + self.text(text[of_quota.end() :])
        if attached := _ATTACHED.match(text):
            rest = text[attached.end() :]
            values = rest.partition("^") if attached[1] == "csi" else _VALUES.split(rest)
            return attached[0] + "".join(map(self.text, values))
        own = _KUBERNETES_KEY.match(text)
        kept = own[0] if own else ""
        return kept + _WORD.sub(
            lambda found: found[0] if found[0] in _OF_DISKS else self._word(found[0]), text[len(kept) :]
        )

    def _replacement(self, word: str) -> str:
        digest = blake2b(word.encode(), key=self._secret, digest_size=_DIGEST_BYTES).digest()
        return "x" + b32encode(digest).decode().lower()

    def _attachment(self, old: Any, new: Any, volumes: dict[str, CSIVolumeSource]) -> VolumeAttachment:
        """A VolumeAttachment with a matching name: a digest of the volume's handle, its driver and the node."""
        made: VolumeAttachment = new
        source = volumes.get(old.spec.source.persistent_volume_name or "")
        if source is None or old.metadata.name != attachment_name(source, old.spec.node_name):
            return made
        name = attachment_name(self.model(source), made.spec.node_name)
        return replace(made, metadata=replace(made.metadata, name=name))


def _source(volume: Any) -> tuple[PersistentVolume, CSIVolumeSource | None]:
    return volume, csi_source(volume)
