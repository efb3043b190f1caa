"""The command line of qos-webhook.

Exit codes: 0 ended in order; 1 the server could not start; 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from podrules import __version__

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(
        prog="qos-webhook",
        description="The admission webhook of kubectl qos: warns of force deletions. POST /validate, GET /healthz.",
    )
    parser.add_argument("--version", action="version", version=f"qos-webhook {__version__}")
    parser.add_argument("--address", default="0.0.0.0:8443", metavar="HOST:PORT", help="where to listen; 0.0.0.0:8443")
    parser.add_argument("--tls-cert", required=True, metavar="FILE", help="certificate chain, PEM")
    parser.add_argument("--tls-key", required=True, metavar="FILE", help="its private key, PEM")
    args = parser.parse_args(argv)
    for flag, path in (("--tls-cert", args.tls_cert), ("--tls-key", args.tls_key)):
        if not Path(path).is_file():
            parser.error(f"{flag}: {path} is not a file: name the PEM file of the webhook's certificate")
    if importlib.util.find_spec("gunicorn") is None:
        print("error: the server is not installed; install kubectl-qos[webhook]", file=sys.stderr)
        return 1
    from webhook.server import Server

    Server(args.address, args.tls_cert, args.tls_key).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
