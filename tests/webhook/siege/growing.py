"""Objects grown at random from the API server's own OpenAPI schemas: all known fields, with extreme values."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import ApiClient, Object

_GROUPS = ("api/v1", "apis/apps/v1", "apis/batch/v1", "apis/policy/v1")
_REFERENCE = "#/components/schemas/"
_DEEPEST = 9
_TEXTS = (
    "",
    "a",
    "web",
    "example.com/name",
    "<&>" * 20,
    ',{}[]"\\:' * 10,
    "\u202e\u2028\u0000\ufffd",
    "ǅ😀",
    "x" * 300,
    "null",
    "0",
    "NaN",
)
_QUANTITIES = ("0", "1", "100m", "1Ki", "128Mi", "9223372036854775807", "-1", "1e3", "1n", "8Ei", "0.5")
_SMALL = (0, 1, -1, 30, 2**31 - 1, -(2**31))
_LARGE = (*_SMALL, 2**63 - 1, -(2**63))
_TIMES = ("2026-11-21T03:10:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-11-21T03:10:00.123456Z")
_NAMED = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _QUANTITIES,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": (0, 80, "http", "50%", 2**31 - 1),
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": _TIMES,
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": _TIMES,
}


def read_schemas(api: ApiClient) -> Mapping[str, Any]:
    """All schemas of the reviewed groups, by name."""
    found: dict[str, Any] = {}
    for group in _GROUPS:
        found |= api.request("GET", f"/openapi/v3/{group}")["components"]["schemas"]
    return found


class Grower:
    """Draws objects."""

    def __init__(self, schemas: Mapping[str, Any], chance: random.Random) -> None:
        """Take the result of `read_schemas`, and the source of randomness."""
        self._schemas = schemas
        self.chance = chance

    def grown(self, name: str) -> Object:
        """An object of a schema, named as in ``io.k8s.api.core.v1.Pod``."""
        found: Object = self._named(name, 0)
        return found

    def _named(self, name: str, depth: int) -> Any:
        if name in _NAMED:
            return self.chance.choice(_NAMED[name])
        return self._value(self._schemas[name], depth)

    def _value(self, schema: Mapping[str, Any], depth: int) -> Any:
        for inner in schema.get("allOf", ()):
            return self._value(inner, depth)
        if "$ref" in schema:
            return self._named(schema["$ref"].removeprefix(_REFERENCE), depth)
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        match schema.get("type"):
            case "object":
                return self._object(schema, depth)
            case "array":
                return [self._value(schema["items"], depth + 1) for _ in range(self._count(depth))]
            case "boolean":
                return self.chance.random() < 0.5
            case "integer":
                return self.chance.choice(_LARGE if schema.get("format") == "int64" else _SMALL)
            case "number":
                return self.chance.choice((0, 0.5, -1))
            case "string":
                return self.chance.choice(_TIMES if schema.get("format") == "date-time" else _TEXTS)
        # Anything, like a value of a custom kind.
        return {}

    def _object(self, schema: Mapping[str, Any], depth: int) -> Object:
        found = {}
        required = set(schema.get("required", ()))
        for name, inner in schema.get("properties", {}).items():
            if name in required or self._keeps(depth):
                found[name] = self._value(inner, depth + 1)
            elif self.chance.random() < 0.01:
                # As Go writes empty values that are not omitted.
                found[name] = None
        if "additionalProperties" in schema:
            for _ in range(self._count(depth)):
                found[self.chance.choice(_TEXTS)] = self._value(schema["additionalProperties"], depth + 1)
        return found

    def _keeps(self, depth: int) -> bool:
        """Whether an optional field is present."""
        return depth < _DEEPEST and self.chance.random() < 0.8 / (1 + depth)

    def _count(self, depth: int) -> int:
        """The length of a list or a map, sometimes a long one."""
        if depth < 3 and self.chance.random() < 0.002:
            return 300
        return self.chance.choice((0, 1, 1, 2, 3) if depth < _DEEPEST else (0, 0, 1))
