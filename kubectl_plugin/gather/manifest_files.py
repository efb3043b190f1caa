"""The content of files: pods and workloads with their autoscalers, other objects, ignored objects, and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import IO, Any, Final

from msgspec.structs import replace

from cluster_io.errors import ManifestError
from cluster_io.gather import Gatherer
from cluster_io.kinds import DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from cluster_io.manifests.files import Document, read_what_can_be
from kubectl_plugin.gather.field_validation import ValidDocuments
from kubectl_plugin.gather.manifest_objects import ManifestObjects, is_manifest_object, read_manifest_objects
from kubectl_plugin.gather.manifest_pods import PodManifest, read_manifests
from kubectl_plugin.options import Validation
from podrules.api.features import REFERENCE
from podrules.scheduling.placement.planned import Autoscaler


class ManifestFile:
    """The content of a file, a folder or standard input."""

    def __init__(self, path: str, gatherer: Gatherer, validation: Validation, stdin: IO[str] | None = None) -> None:
        """Read everything that is readable.

        Args:
            path: As typed; ``-``: standard input.
            gatherer: Reads where the objects would be created; those without a namespace get its source's namespace.
            validation: How objects with unknown fields are treated.
            stdin: Standard input.

        Raises:
            ClusterError: the version of the cluster cannot be read.
        """
        self.where = "standard input" if path == "-" else path
        self.errors: list[ManifestError] = []
        self.warnings: Sequence[str]
        """Content that is read, but may not be what was meant."""
        self.manifests: list[PodManifest] = []
        documents: list[Document] = []
        for entry in read_what_can_be(path, stdin):
            if isinstance(entry, ManifestError):
                self.errors.append(entry)
            else:
                documents.append(entry)
        # Loaded only for manifests.
        from podrules.api.schema.table import schema

        # An empty file needs no request to the cluster.
        features = gatherer.versions.api_server if documents else REFERENCE
        valid = ValidDocuments(documents, schema(features.minor), validation)
        duplicates = (
            f"{document.place}, line {line}: {field} is a duplicate of line {first}; the last one counts: keep one"
            for document in documents
            for field, line, first in document.twice
        )
        self.warnings = list(dict.fromkeys((*duplicates, *valid.warnings)))
        self.errors += valid.errors
        namespace = gatherer.source.namespace
        self.objects: ManifestObjects
        others = [one.document for one in valid.documents if one.kind is None]
        self.objects, errors = read_manifest_objects(others, namespace)
        self.errors += errors
        for manifest in read_manifests(valid.documents, namespace):
            if isinstance(manifest, ManifestError):
                self.errors.append(manifest)
            else:
                self.manifests.append(manifest)
        self.read_with: Sequence[tuple[str, str]] = [_name(one.content) for one in others if _counts(one)]
        """Kinds and names of objects that count for the pods and have no page of their own."""
        self.ignored: Sequence[tuple[str, str]] = [_name(one.content) for one in others if not _counts(one)]
        """Objects that contribute nothing to the answer."""
        self.autoscalers = autoscalers_of(others, namespace)

    def scaled_by(self, autoscalers: Autoscalers) -> None:
        """Give each workload the autoscaler that decides about its replicas."""
        self.manifests = [one._replace(autoscaler=autoscaler_of(one, autoscalers)) for one in self.manifests]
        self.objects = replace(self.objects, manifests=tuple(self.manifests))

    def title(self, manifest: PodManifest) -> str:
        """The page title of one of its manifests."""
        from kubectl_plugin.views.manifest import manifest_title

        kind, space = manifest.kind, manifest.pod.metadata.namespace
        return manifest_title(
            kind.kind,
            manifest.entry.metadata.written_name,
            namespace=space,
            # Below the named folder; for a single file, its name.
            file=manifest.file.removeprefix(self.where).lstrip("/") or PurePath(manifest.file).name,
            replicas=None if kind is DAEMON_SETS else manifest.replicas,
            job=manifest.job,
            autoscaler=manifest.autoscaler,
        )

    def nothing(self, done: str) -> ManifestError | None:
        """Why nothing in it is ``explain``-ed or placed; None: something is, or an error already says why not."""
        if self.manifests or self.errors:
            return None
        from kubectl_plugin.views.manifest import nothing_there

        return ManifestError(
            nothing_there(self.where, [*self.read_with, *self.ignored], done),
            advice="Name a file with a Pod, or with a workload, as a Deployment",
        )


def read_files(
    paths: Sequence[str], gatherer: Gatherer, validation: Validation, stdin: IO[str] | None = None
) -> Sequence[ManifestFile]:
    """Read files; an autoscaler may be in another file than its workload. The arguments are those of `ManifestFile`.

    Raises:
        ClusterError: the version of the cluster cannot be read.
    """
    files = [ManifestFile(path, gatherer, validation, stdin) for path in paths]
    autoscalers = {place: autoscaler for file in files for place, autoscaler in file.autoscalers.items()}
    for file in files:
        file.scaled_by(autoscalers)
    return files


def _counts(document: Document) -> bool:
    return is_manifest_object(document) or document.content["kind"] == AUTOSCALER


def _name(content: Mapping[str, Any]) -> tuple[str, str]:
    metadata = content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return str(content["kind"]), name if isinstance(name, str) else ""


# HorizontalPodAutoscalers of manifest files, and how many replicas they allow their workloads.
#
#     minReplicas          1 when absent; fewer replicas are raised to it, without any metric
#     maxReplicas          more replicas are reduced to it
#     replicas: 0          of the workload: the autoscaler does not act, unless its own minimum is 0
#
# Source: pkg/controller/podautoscaler/horizontal.go (reconcileAutoscaler) at v1.37.1.

AUTOSCALER: Final = "HorizontalPodAutoscaler"
_SCALED: Final = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS)

Autoscalers = Mapping[tuple[str, str, str], Autoscaler]
"""The autoscalers by namespace, kind and name of the workloads that they scale."""


def autoscalers_of(documents: Sequence[Document], namespace: str) -> Autoscalers:
    """The autoscalers among documents.

    Args:
        documents: Of one file.
        namespace: Of those that name none.
    """
    found: dict[tuple[str, str, str], Autoscaler] = {}
    for document in documents:
        spec = document.content.get("spec")
        target = spec.get("scaleTargetRef") if isinstance(spec, Mapping) else None
        if document.content["kind"] != AUTOSCALER or not isinstance(spec, Mapping) or not isinstance(target, Mapping):
            continue
        metadata = document.content.get("metadata")
        own: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
        least, most = _number(spec.get("minReplicas"), 1), _number(spec.get("maxReplicas"), 1)
        place = str(own.get("namespace") or namespace), str(target.get("kind")), str(target.get("name"))
        found[place] = Autoscaler(str(own.get("name") or ""), least, max(least, most))
    return found


def autoscaler_of(manifest: PodManifest, autoscalers: Autoscalers) -> Autoscaler | None:
    """The autoscaler that decides about the replicas of a manifest; None: none does."""
    if manifest.kind not in _SCALED:
        return None
    found = autoscalers.get((manifest.pod.metadata.namespace, manifest.kind.kind, manifest.entry.metadata.name))
    if found is None or (manifest.replicas == 0 and found.min_replicas):
        return None
    return found


def _number(value: Any, absent: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else absent
