"""Every field of a model that protobuf is decoded into is a field of a message upstream."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import fields

from cluster_io.kinds import ALL_KINDS, EVENTS
from cluster_io.wire.codec import model_in
from podrules.api.schema.table import WireField, struct_of, wire_fields


def test_models_have_no_field_that_upstream_lacks() -> None:
    found: dict[type[Struct], set[str]] = {}
    waiting: list[tuple[Any, str]] = [
        (kind.model, struct_of(kind.group, kind.version, kind.kind)) for kind in (*ALL_KINDS, EVENTS)
    ]
    seen = set()
    while waiting:
        model, message = waiting.pop()
        if (model, message) in seen:
            continue
        seen.add((model, message))
        upstream = _json_fields(message)
        assert upstream or message == "batch.PodFailurePolicy", message
        for field in fields(model):
            if field.encode_name in upstream:
                found.setdefault(model, set()).add(field.encode_name)
                kind = upstream[field.encode_name].type
                inner = kind.removeprefix("*").removeprefix("[]").removeprefix("map[string]")
                if (inner_model := model_in(field.type)) is not None:
                    waiting.append((inner_model, inner))
    assert len(found) > 100
    for model, names in found.items():
        assert {field.encode_name for field in fields(model)} == names, model


def _json_fields(message: str) -> dict[str, WireField]:
    """The fields of a message, and of those that JSON inlines into it."""
    own = dict(wire_fields(message))
    for field in wire_fields(message).values():
        if field.type.startswith("<"):
            own |= wire_fields(field.type.removeprefix("<"))
    return own
