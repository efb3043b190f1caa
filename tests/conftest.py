"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# Generated examples are the same in every CI run, so that a red run is about the change and not about luck.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("here", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "here")
