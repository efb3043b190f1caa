"""Reads an earlier report of `kubectl qos report -o json`. The file is untrusted: its size is limited."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from cluster_io.errors import ManifestError
from cluster_io.manifests.text import read_text
from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.cluster.previous_report import EarlierReport

MAX_BYTES: Final = 256 << 20
"""A report of 150,000 pods needs a third of it."""
_KIND: Final = "ClusterReport"
_ADVICE: Final = "Make one with: kubectl qos report -o json > OLD.json"


class _Head(Struct, rename="camel"):
    """The fields that show whether a file is a report."""

    api_version: str = ""
    kind: str = ""


def read_previous_report(path: str) -> EarlierReport:
    """Read the compared fields of an earlier report.

    Raises:
        ManifestError: the file cannot be read, is not a report, or has another API version.
    """
    text = read_text(Path(path), MAX_BYTES)
    if text[:100].lstrip().lower().startswith(("<!doctype html", "<html")):
        raise _no_report(path, "it is HTML; only JSON reports can be compared")
    try:
        head = msgspec.json.decode(text, type=_Head)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _no_report(path, "it is not a JSON object") from error
    if head.kind != _KIND:
        raise _no_report(path, f"its kind is {head.kind!r}" if head.kind else "it has no kind")
    if head.api_version != API_VERSION:
        raise ManifestError(
            f"{path}: its API version is {head.api_version or 'missing'}, and this kubectl-qos compares {API_VERSION}",
            advice=_ADVICE,
        )
    try:
        return msgspec.json.decode(text, type=EarlierReport)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _no_report(path, str(error)) from error


def _no_report(path: str, why: str) -> ManifestError:
    return ManifestError(f"{path}: not a report that can be compared: {why}", advice=_ADVICE)
