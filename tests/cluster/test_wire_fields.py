"""Numbers and types of fields are upstream's, and none of a model is missing."""

from __future__ import annotations

import os

import pytest

from tests.cluster.wire_fields import FILE, generate


def test_fields_are_those_of_upstream() -> None:
    try:
        generated = generate()
    except LookupError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    # `python -m tests.cluster.wire_fields` writes it anew.
    assert FILE.read_text(encoding="utf-8") == generated
