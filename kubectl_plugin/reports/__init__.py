"""Reports: the results of the rules for one object, as data. `-o json` prints exactly these.

Times are RFC 3339. Memory is in bytes if a field says so, else a Kubernetes quantity. A field path names the deciding
field. Within one API version, fields are only added.
"""

from typing import Final

API_VERSION: Final = "kubectl-qos/v1"
