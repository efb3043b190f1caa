"""Reads the configuration file of qos-webhook, which the chart keeps in a ConfigMap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cluster_io.errors import ManifestError
from cluster_io.manifests.files import only_document, parse_documents, read_documents
from podrules.api.model.workload import ConfigMap
from podrules.qos_webhook.rules import CONFIG_KIND, PodRules, RuleError, read_rules

CONFIG_KEY: Final = "config.yaml"
"""The key of the ConfigMap that the chart mounts."""


def read_webhook_file(path: str) -> Mapping[str, Any]:
    """The document of a configuration file.

    Raises:
        ManifestError: the file cannot be read, or does not have exactly one document of the kind.
    """
    return only_document(read_documents(path), path, CONFIG_KIND)


def config_map_rules(config_map: ConfigMap) -> PodRules:
    """The rules for new pods of a running webhook.

    Raises:
        RuleError: the program would not start with them. Sections about other things than new pods are not checked.
    """
    place = f"data.{CONFIG_KEY}"
    try:
        documents = parse_documents(place, config_map.data.get(CONFIG_KEY, ""))
        return read_rules(only_document(documents, place, CONFIG_KIND), PodRules)
    except ManifestError as error:
        raise RuleError(str(error)) from error
