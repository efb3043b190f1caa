"""Reports: everything that the rules say of one object, as data. `-o json` prints exactly these.

Times are RFC 3339, memory is in bytes where a field says so and a Kubernetes quantity elsewhere, and a field path names
what decided. A field is only ever added within one API version.
"""

from typing import Final

__all__ = ["API_VERSION"]

API_VERSION: Final = "kubectl-qos/v1"
