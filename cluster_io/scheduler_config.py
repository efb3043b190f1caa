"""Reads the KubeSchedulerConfiguration from a file, or from the ConfigMap that kube-scheduler mounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cluster_io.errors import ManifestError, UsageError
from cluster_io.kinds import CONFIG_MAPS
from cluster_io.manifests.files import only_document, parse_documents, read_documents
from cluster_io.source import Source
from podrules.api.model.base import Model
from podrules.api.model.workload import ConfigMap
from podrules.scheduling.scheduler.config_fields import KIND
from podrules.scheduling.scheduler.profile import ConfigurationError, Profile, read_profiles

_CONFIG_MAP: Final = "configmap"


def config_map_document(config_map: ConfigMap) -> Mapping[str, Any]:
    """The one KubeSchedulerConfiguration among a ConfigMap's texts.

    Raises:
        ManifestError: a text is not YAML or JSON, or there is no such document, or more than one.
    """
    texts = sorted(config_map.data.items())
    documents = (document for key, text in texts for document in parse_documents(f"data.{key}", text))
    return only_document(documents, "data", KIND, alone=False)


def read_scheduler_configuration(source: Source, where: str, *, arguments: bool = True) -> Mapping[str, Profile]:
    """The profiles of a scheduler's configuration by scheduler name.

    Args:
        source: Serves ConfigMaps.
        where: A file with it or with a ConfigMap that holds it, ``-`` for standard input, or
            ``configmap/NAMESPACE/NAME``.
        arguments: Whether to read the plugins' arguments too, which loads the plugins and numpy.

    Raises:
        UsageError: the name of a ConfigMap has another form.
        NotFound: there is no such ConfigMap.
        Forbidden: the user may not get it.
        Unreachable: the cluster does not answer.
        BadObject: the ConfigMap does not have the shape of its kind.
        ManifestError: the file cannot be read, or kube-scheduler would refuse the configuration.
    """
    kinds: Mapping[str, type[Model]] = {}
    if arguments:
        # The plugins load numpy; the webhook uses this module without it.
        from podrules.scheduling.scheduler.runtime import PLUGIN_ARGS

        kinds = PLUGIN_ARGS
    kind, slash, place = where.partition("/")
    from_cluster = kind == _CONFIG_MAP and bool(slash)
    try:
        if not from_cluster:
            return read_profiles(_in_file(where), kinds)
        namespace, _, name = place.partition("/")
        if not namespace or not name or "/" in name:
            form = f"Write {_CONFIG_MAP}/NAMESPACE/NAME, or the path of a file"
            raise UsageError(f'"{where}": no ConfigMap is named so', advice=form)
        return read_profiles(config_map_document(source.get(CONFIG_MAPS, name, namespace)), kinds)
    except ConfigurationError as error:
        raise ManifestError(f"{where}: {error}") from error
    except ManifestError as error:
        # An error in a file names the file already.
        raise (ManifestError(f"{where}: {error}", advice=error.advice) if from_cluster else error) from error


def _in_file(path: str) -> Mapping[str, Any]:
    """The document of a file, or of the one ConfigMap in it."""
    documents = list(read_documents(path))
    if [document.content["kind"] for document in documents] != [CONFIG_MAPS.kind]:
        return only_document(documents, path, KIND, alone=False)
    data = documents[0].content.get("data")
    texts = {key: text for key, text in data.items() if isinstance(text, str)} if isinstance(data, Mapping) else {}
    try:
        return config_map_document(ConfigMap(data=texts))
    except ManifestError as error:
        raise ManifestError(f"{path}: {error}", advice=error.advice) from error
