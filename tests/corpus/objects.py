"""The checked objects of a file: of kinds with known fields, and of kinds that no version serves."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from msgspec import Struct

from cluster_io.errors import ManifestError
from cluster_io.manifests.files import read_what_can_be
from podrules.api.features import VERIFIED
from podrules.api.model.decode import key_text
from podrules.api.schema.table import schema
from tests.corpus.sources import Text

_DIGITS: Final = 16
_OF_TEMPLATES: Final = re.compile(r"\{\{|\{%|^#@", re.MULTILINE)
"""What templates of Go, Jinja and ytt are known by."""


class Found(Struct, frozen=True):
    """An object of a file."""

    path: str
    number: int
    """Among the objects of its file that are checked, from 1."""
    content: Mapping[str, Any]
    digest: str

    @property
    def kind(self) -> tuple[str, str]:
        """Its apiVersion and kind."""
        return str(self.content["apiVersion"]), str(self.content["kind"])

    def __str__(self) -> str:
        api_version, kind = self.kind
        meta = self.content.get("metadata")
        name = meta.get("name") if isinstance(meta, Mapping) else None
        return f"{self.path} #{self.number}: {api_version} {kind} {name}"


def objects_of(text: Text) -> Iterator[Found | ManifestError]:
    """The objects that are checked; an error for what is no manifest, unless the file is a template."""
    if not _kinds().search(text.content):
        return
    number = 0
    for document in read_what_can_be("-", io.StringIO(text.content)):
        if isinstance(document, ManifestError):
            if not _OF_TEMPLATES.search(text.content):
                yield document
        elif is_checked(document.content):
            number += 1
            content = _as_sent(document.content)
            yield Found(text.path, number, content, digest(content))


def digest(content: Mapping[str, Any]) -> str:
    """The first digits of the SHA-256 of an object, as JSON with its keys in order."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _as_sent(value: Any) -> Any:
    """A value with its keys as kubectl sends them: those of YAML may be numbers."""
    if isinstance(value, Mapping):
        return {key_text(key): _as_sent(entry) for key, entry in value.items()}
    return [_as_sent(entry) for entry in value] if isinstance(value, list) else value


def is_checked(content: Mapping[str, Any]) -> bool:
    """Whether the fields of its kind are known in a version, or no version serves a kind of this name any more."""
    api_version, kind = str(content["apiVersion"]), str(content["kind"])
    known = [schema(minor) for minor in VERIFIED]
    if any(one.root(api_version, kind) for one in known):
        return True
    return any(kind in one.kinds for one in known) and all(one.serves(api_version, kind) is False for one in known)


@cache
def _kinds() -> re.Pattern[str]:
    """Found in each text that has an object of a kind which is served."""
    kinds = frozenset().union(*(schema(minor).kinds for minor in VERIFIED))
    return re.compile(rf"""kind["']?:\s*["']?(?:{"|".join(sorted(kinds))}|List)(?:List)?\b""")
