"""Numbers and types of fields match upstream, and no field of a model is missing."""

from __future__ import annotations

from tests.cluster_io.wire_fields import FILE, MODULES, generate
from tests.upstream import upstream_source


def test_fields_are_those_of_upstream() -> None:
    for module in MODULES:
        upstream_source(module)
    # `python -m tests.cluster_io.wire_fields` regenerates it.
    assert FILE.read_text(encoding="utf-8") == generate()
