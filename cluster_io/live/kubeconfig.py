"""Why there is no cluster to ask, and what helps: it never has to ask the cluster.

Where no kubeconfig names a server, kubectl asks localhost:8080, and its words are about that connection. A missing file
of KUBECONFIG counts for nothing, and so does an empty one; --kubeconfig has to exist.

Source: k8s.io/client-go/tools/clientcmd/loader.go (Load) at v0.36.3.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from cluster_io.errors import ASK_ANOTHER, Unreachable

_SECONDS: Final = 10.0
_NO_SERVER: Final = re.compile(
    r"dial tcp (127\.0\.0\.1|\[::1\]):8080: |^stat .*: no such file or directory$|^no configuration for a cluster"
)
_CONTEXTS: Final = ("kubectl", "config", "get-contexts")
_NO_CONTEXT: Final = re.compile("^context .* does not exist$|^context was not found")
_HELPS: Final = (
    (r"(x509|CERTIFICATE).*(has expired|not yet valid)", "Renew its certificate, or set the clock of this machine"),
    (
        r"x509: .*unknown authority|CERTIFICATE.*(local issuer|self.signed)",
        "certificate-authority-data of the kubeconfig is of another cluster, or old",
    ),
    (
        r"(x509|CERTIFICATE).*(valid for|IP SANs|mismatch)",
        "Name a host of that certificate in server of the kubeconfig, or in tls-server-name",
    ),
    (
        r"proxyconnect|Proxy Auth",
        "Correct HTTPS_PROXY or proxy-url of the kubeconfig; NO_PROXY names hosts without a proxy",
    ),
    (
        r"no such host|server misbehaving|Failed to resolve",
        "Compare server in the kubeconfig; a private name needs its VPN or DNS",
    ),
    (
        r"i/o timeout|timed out|deadline exceeded|no route to host|network is unreachable",
        "Check server in the kubeconfig, VPN and firewall",
    ),
    (r"HTTP request to an HTTPS server|unsupported protocol", "Begin server in the kubeconfig with https://"),
    (r"HTTP response to HTTPS client|look like a TLS", "server in the kubeconfig is the port of another program"),
    (r"exec: executable .* not found", "Install it, or add its folder to PATH"),
    (r"exec: executable .* failed", "Log in with it again"),
    (r"^(error loading config file|unable to read)", "Correct the kubeconfig, or name another: --kubeconfig"),
    (r"^EOF$", "kubectl asked for a password: the user of the context has no credentials in the kubeconfig"),
)
"""What helps, by the words of kubectl and of the API server."""
_CREDENTIALS: Final = {
    "token": "token",
    "tokenFile": "token",
    "client-certificate": "certificate",
    "client-certificate-data": "certificate",
}
"""Fields of a user that hold what can expire."""


class Kubeconfig(NamedTuple):
    """What kubectl is configured with, as far as an error needs it."""

    files: Mapping[str, str]
    """What is wrong with each file; empty: nothing is known to be."""
    named_by: str
    """``--kubeconfig`` or ``KUBECONFIG``; empty: the default file."""
    server: str | None = None
    """The context's; empty: no context has one; None: kubectl did not say."""
    login: str = ""
    """How its user gets new credentials; empty: unknown."""


def read_kubeconfig(flags: Mapping[str, str]) -> Kubeconfig:
    """Read what kubectl would; ``flags`` choose a cluster and a user: ``--context``."""
    explicit = flags.get("--kubeconfig", "")
    listed = [path for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    named = [explicit] if explicit else listed
    files = {path: _problem(Path(path)) for path in named or [str(Path("~/.kube/config").expanduser())]}
    found = Kubeconfig(files, "--kubeconfig" if explicit else "KUBECONFIG" if listed else "")
    chosen = [f"{name}={value}" for name, value in flags.items() if name in {"--context", "--kubeconfig"}]
    command = ["kubectl", "config", "view", "--minify", "--output=json", *chosen]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=_SECONDS)
        [cluster], [user] = (json.loads(done.stdout)[kind] for kind in ("clusters", "users"))
        login = "" if "--user" in flags else _login(user["name"], user["user"])
        return found._replace(server=cluster["cluster"]["server"], login=login)
    except subprocess.CalledProcessError:
        return found._replace(server="")
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError):
        return found


def _problem(path: Path) -> str:
    try:
        return "" if path.stat().st_size else "is empty"
    except OSError as error:
        return "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"


def _login(name: str, user: Mapping[str, Any]) -> str:
    if "exec" in user:
        return f"User {name} gets credentials from {user['exec']['command']}: log in with it again."
    what = next((what for field, what in _CREDENTIALS.items() if field in user), "")
    return f"The {what} of user {name} has expired, or is of another cluster: get a new one." if what else ""


def plain(error: Unreachable, kubeconfig: Kubeconfig) -> Unreachable:
    """The error in the user's terms, with what helps; the same one where nothing more is known."""
    said, files = error.message, kubeconfig.files
    problems = any(files.values()) or kubeconfig.server == ""
    if _NO_SERVER.search(said) and problems and not kubeconfig.server:
        wrong = ", ".join(f"{path} {problem or 'has no current-context'}" for path, problem in files.items())
        named = f"named by {kubeconfig.named_by}" if kubeconfig.named_by else "KUBECONFIG is not set"
        remedy, advice = ((), ASK_ANOTHER) if all(files.values()) else (_CONTEXTS, "")
        return Unreachable(f"no cluster is configured: {wrong} ({named})", remedy=remedy, advice=advice)
    if _NO_CONTEXT.search(said):
        return Unreachable(said, remedy=_CONTEXTS)
    if "does not accept your credentials" in said:
        # Without kubectl it cannot be asked.
        own = error.remedy if kubeconfig.server is not None else ()
        return Unreachable(said, advice=kubeconfig.login, remedy=own)
    advice = next((advice for pattern, advice in _HELPS if re.search(pattern, said)), error.advice)
    return Unreachable(said, advice=advice, remedy=error.remedy)
