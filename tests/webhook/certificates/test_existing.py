"""A release with an existing certificate, on the real API server; the test acts as the kubelet that mounts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.certificates import Authority
from tests.waiting import wait_for
from tests.webhook.certificates.fleet import Fleet
from tests.webhook.certificates.mounted import Mounted

pytestmark = pytest.mark.controlplane


def _existing(*authorities: Authority) -> dict[str, Any]:
    """Values that name the Secret, and the authorities that the API server trusts."""
    bundle = b"".join(authority.certificate for authority in authorities).decode()
    return {"mode": "existing", "existing": {"secretName": "serving", "caBundle": bundle}}


def test_A_existing_certificate_and_its_authority_are_replaced(fleet: Fleet, tmp_path: Path) -> None:
    """As documented: both authorities are configured until the new certificate is served."""
    old, new, mounted = Authority(), Authority(), Mounted(tmp_path / "tls")
    first, then = old.server([]), new.server([])
    fleet.install(**_existing(old))
    mounted.write(first.certificate, first.key)
    replica = fleet.start(f"--tls-cert={mounted.files.certificate}", f"--tls-key={mounted.files.key}")
    fleet.lead_to(replica)
    with fleet.unnoticed(replica):
        fleet.upgrade(**_existing(new, old))
        wait_for(lambda: fleet.bundles() == {new.certificate + old.certificate}, "both are published")
        fleet.be_known()
        # Half of it, like a program that writes one file after the other.
        mounted.write(then.certificate, first.key)
        wait_for(lambda: "the previous certificate stays in use" in fleet.log(replica), "it is said")
        assert fleet.connect_pem(replica.port) == first.certificate
        mounted.write(then.certificate, then.key)
        wait_for(lambda: fleet.connect_pem(replica.port) == then.certificate, "the next one is served")
        fleet.upgrade(**_existing(new))
        wait_for(lambda: fleet.bundles() == {new.certificate}, "the first is forgotten")
