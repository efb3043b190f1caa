"""Reads a kubelet's configuration from a file, which then stands in place of the configz of every node.

The file holds a KubeletConfiguration or the answer of configz. A kubelet merges it with its flags and drop-in files;
configz alone shows the result.

    a misfit           a value that its field cannot hold: the kubelet does not start
    unknown, twice     strict decoding fails, so the kubelet decodes again leniently and logs it: an unknown field does
                       not count, and of two fields of one name the last one counts
    a value            that breaks a rule: the kubelet does not start. Those that rules read here are checked

Source: pkg/kubelet/kubeletconfig/util/codec/codec.go, pkg/kubelet/apis/config/validation/validation.go,
cmd/kubelet/app/server.go (loadConfigFile, parseResourceList) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from msgspec.structs import replace

from cluster_io.errors import ManifestError
from cluster_io.manifests.files import Document, read_value_documents, twice_in_json
from cluster_io.manifests.located import line_of
from cluster_io.source import Source
from podrules.api.features import VERIFIED
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.instant import parse_duration
from podrules.api.model.kubelet import KubeletConfiguration, KubeletFile
from podrules.api.names import nearest_word
from podrules.api.schema.strict import decode_struct, unknown_field
from podrules.api.schema.table import schema
from podrules.node.eviction.thresholds import ThresholdConfigError, parse_threshold_config

_KIND: Final = "KubeletConfiguration"
_API_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
_STRUCT: Final = "config.v1beta1.KubeletConfiguration"
_CONFIGZ: Final = "kubeletconfig"
_ALWAYS_SET: Final = "enableServer"
"""A field that configz always has."""
_NAME_A_FILE: Final = (
    f"Name a file with apiVersion: {_API_VERSION} and kind: {_KIND}, or with what "
    "`kubectl get --raw /api/v1/nodes/NODE/proxy/configz` prints"
)
_RESERVED: Final = ("cpu", "memory", "ephemeral-storage", "pid")
_RESERVED_FOR: Final = ("system-reserved", "kube-reserved")
_ENFORCED: Final = ("pods", "none", *_RESERVED_FOR, *(f"{name}-compressible" for name in _RESERVED_FOR))
_MAX_NAMED: Final = 10
"""Fields of each kind that are named: each takes a look at the file for its line."""
_POLICIES: Final = ("", "None", "TieredReservation")
_SWAP: Final = ("", "NoSwap", "LimitedSwap")
_AMOUNTS: Final = (
    *("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"),
    *("kubeReserved", "systemReserved"),
)
"""Fields of texts by name: null is an empty text there."""


def use_kubelet_file(path: str, source: Source) -> Sequence[str]:
    """Let a source answer with the configuration in a file, or in ``-`` (standard input), for every kubelet.

    Returns:
        Warnings about fields that a kubelet passes over.

    Raises:
        ManifestError: the file cannot be read, it holds something else, or a kubelet would not start with it.
    """
    document, content = configuration_in(path)
    is_configz = content is not document.content or "kind" not in content
    misfits, unknown = decode_struct(content, _STRUCT, schema(max(VERIFIED)))
    for misfit in misfits:
        raise _refused(document, misfit.field, f"{misfit.field}: {misfit.problem}")
    for field in _AMOUNTS:
        for name in (name for name, amount in (content.get(field) or {}).items() if amount is None):
            raise _refused(document, f"{field}[{name}]", f"{field}[{name}]: nothing stands here; write an amount")
    try:
        config = from_object({**content, "file": path}, KubeletFile)
    except DecodeError as error:
        raise _refused(document, error.field, str(error)) from error
    for field, problem in _problems(config):
        raise _refused(document, field, problem)
    source.stated = replace(source.stated, kubelet=config)
    where = document.where
    twice = [f"{where}, line {one.line}: {one.field} is a duplicate of line {one.first}" for one in document.twice]
    if name := twice_in_json(document.text):
        twice.append(f"{where}: {name} is repeated in one mapping")
    ignored = []
    # A newer kubelet answers with fields that are not known here.
    for one in () if is_configz else unknown[:_MAX_NAMED]:
        near = nearest_word(one.field.rpartition(".")[2], one.known, closeness=0.75)
        remedy = f"did you mean {near}?" if near else "remove it"
        place = _place(document, one.field)
        ignored.append(f"{place}: {unknown_field(one.field)}: the kubelet logs it and passes it over; {remedy}")
    return [*ignored, *(f"{one}; the last one counts" for one in twice[:_MAX_NAMED])]


def configuration_in(path: str) -> tuple[Document, Mapping[str, Any]]:
    """The one document of a file, and the configuration in it.

    Raises:
        ManifestError: the file cannot be read, or it holds something else.
    """
    documents = list(read_value_documents(path))
    where = documents[0].where if documents else path
    content = documents[0].content if len(documents) == 1 else None
    if not isinstance(content, Mapping):
        held = f"it holds {len(documents)} documents, and one counts" if len(documents) > 1 else f"it is no {_KIND}"
        raise ManifestError(f"{where}: {held}", advice=_NAME_A_FILE)
    if isinstance(inner := content.get(_CONFIGZ), Mapping):
        return documents[0], inner
    # The inner part of what an older kubelet's configz says does not name its kind; see setConfigz in server.go.
    kind, version = str(content.get("kind", "missing")), str(content.get("apiVersion", "missing"))
    if (kind, version) != (_KIND, _API_VERSION) and ("kind" in content or _ALWAYS_SET not in content):
        raise ManifestError(f"{where}: kind is {kind[:60]}, apiVersion is {version[:60]}", advice=_NAME_A_FILE)
    return documents[0], content


def _place(document: Document, field: str) -> str:
    line = line_of(document, field)
    return document.where if line is None else f"{document.where}, line {line}"


def _refused(document: Document, field: str, problem: str) -> ManifestError:
    advice = "The kubelet does not start with it: correct the file"
    return ManifestError(f"{_place(document, field)}: {problem}", advice=advice)


def _problems(config: KubeletConfiguration) -> Iterator[tuple[str, str]]:
    """The values with which a kubelet does not start: a field, and what is wrong, with the field first."""
    for field, problem in _values(config):
        yield field, f"{field}: {problem}"
    try:
        parse_threshold_config(config)
    except ThresholdConfigError as error:
        yield str(error).partition(": ")[0], str(error)


def _values(config: KubeletConfiguration) -> Iterator[tuple[str, str]]:
    for field, amounts in (("kubeReserved", config.kube_reserved), ("systemReserved", config.system_reserved)):
        for name, amount in amounts.items():
            if name not in _RESERVED or amount.sign < 0:
                yield f"{field}[{name}]", f"{amount} cannot be reserved; write 0 or more of {', '.join(_RESERVED)}"
    enforced = config.enforce_node_allocatable
    for name in set(enforced) - set(_ENFORCED):
        yield "enforceNodeAllocatable", f"{name[:40]!r} is not known; write one of {', '.join(_ENFORCED)}"
    if len(set(enforced)) < len(enforced) or ("none" in enforced and len(enforced) > 1):
        yield "enforceNodeAllocatable", "a value is repeated, or combined with none; keep one"
    if not -1000 <= config.oom_score_adj <= 1000:
        yield "oomScoreAdj", f"{config.oom_score_adj} is out of range; write -1000 to 1000"
    cgroups = {"system": config.system_reserved_cgroup, "kube": config.kube_reserved_cgroup}
    for name, owner in ((name, name.partition("-")[0]) for name in _ENFORCED[2:] if name in enforced):
        if not cgroups[owner]:
            yield "enforceNodeAllocatable", f"{name} needs {owner}ReservedCgroup; set that"
    if not config.cgroups_per_qos and set(enforced) - {"none"}:
        yield "cgroupsPerQOS", "false needs enforceNodeAllocatable: [none]"
    factor = config.memory_throttling_factor
    if factor is not None and not 0 < factor <= 1:
        yield "memoryThrottlingFactor", f"{factor} is out of range; write more than 0, at most 1"
    if (policy := config.memory_reservation_policy) not in _POLICIES:
        yield "memoryReservationPolicy", f"{policy[:40]!r} is not known; write None or TieredReservation"
    if (swap := config.memory_swap.swap_behavior) not in _SWAP:
        yield "memorySwap.swapBehavior", f"{swap[:40]!r} is not known; write NoSwap or LimitedSwap"
    periods = (config.shutdown_grace_period, config.shutdown_grace_period_critical_pods)
    whole, critical = map(parse_duration, periods)
    if critical > whole:
        yield "shutdownGracePeriodCriticalPods", f"{periods[1]} is more than shutdownGracePeriod, {periods[0]}"
    if any(period < timedelta() or timedelta() < period < timedelta(seconds=1) for period in (whole, critical)):
        yield "shutdownGracePeriod", f"{periods[0]}, with {periods[1]} for critical pods: write 0s, or 1s or more"
    if config.shutdown_grace_period_by_pod_priority and whole > timedelta():
        yield "shutdownGracePeriodByPodPriority", "shutdownGracePeriod is set, too; keep one of the two"
