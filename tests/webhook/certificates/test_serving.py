"""A running server's certificate, renewed under open connections."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

import pytest

from tests.webhook.certificates.handshakes import Connection, assert_served, localhost_pair, serving_of
from tests.webhook.certificates.rsa_pairs import rsa_pair
from webhook.certificates.pair import PairError, inspect
from webhook.certificates.serving import ServingContext


def test_new_certificate_serves_new_connections_and_closes_none() -> None:
    old, new = localhost_pair(), localhost_pair()
    bundle = new.authority + old.authority
    serving = serving_of(old)
    with Connection(serving, trusting=bundle, name="localhost") as before:
        assert before.ask(b"one") == b"one"
        serving.load(new.certificate, new.key)
        assert before.ask(b"two") == b"two"
        with Connection(serving, trusting=bundle, name="localhost") as after:
            assert before.served.encode() == old.certificate
            assert after.served.encode() == new.certificate
            assert after.ask(b"three") == b"three"
            assert before.ask(b"four") == b"four"


def test_many_renewals_in_one_context() -> None:
    serving = ServingContext()
    for pair in [localhost_pair() for _ in range(20)]:
        serving.load(pair.certificate, pair.key)
        assert_served(serving, pair)


@pytest.mark.parametrize(
    ("certificate", "problem"),
    [
        pytest.param(b"garbage", "not a certificate with its key", id="unreadable"),
        pytest.param(localhost_pair().certificate, "the key belongs to another certificate", id="another key's"),
    ],
)
def test_unusable_input_keeps_the_old_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: bytes, problem: str
) -> None:
    """No key is left on the disk."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pair = localhost_pair()
    serving = serving_of(pair)
    with pytest.raises(PairError, match=problem):
        serving.load(certificate, pair.key)
    assert_served(serving, pair)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["RSA", "EC"])
def test_key_of_another_type_replaces_the_previous_one(key: str) -> None:
    """A context that is loaded twice would keep using the first of them."""
    pair, other = localhost_pair(), rsa_pair()
    serving = ServingContext()
    for served in (pair, other) if key == "RSA" else (other, pair):
        serving.load(served.certificate, served.key)
        assert_served(serving, served)


def test_served_certificate_is_known() -> None:
    pair = localhost_pair()
    assert ServingContext().served is None
    assert serving_of(pair).served == inspect(pair.certificate, pair.key)


def test_a_client_needs_no_certificate_and_no_old_protocol() -> None:
    context = serving_of(localhost_pair()).context.now
    assert context.verify_mode is ssl.CERT_NONE
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_client_authorities_are_read_at_each_renewal(tmp_path: Path) -> None:
    """Without them, the old certificate stays."""
    authorities, pair = tmp_path / "clients.crt", localhost_pair()
    authorities.write_bytes(localhost_pair().authority)
    serving = serving_of(localhost_pair(), str(authorities))
    for renewed in (localhost_pair(), pair):
        assert serving.context.now.verify_mode is ssl.CERT_OPTIONAL
        assert len(serving.context.now.get_ca_certs()) == 1
        serving.load(renewed.certificate, renewed.key)
    other = localhost_pair()
    for content in (b"", b"\x1b[31m", pair.key, b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"):
        authorities.write_bytes(content)
        with pytest.raises(OSError, match=r"^clients\.caFile: .*/clients\.crt: no certificate in PEM$"):
            serving.load(other.certificate, other.key)
    authorities.unlink()
    with pytest.raises(OSError, match=r"^clients\.caFile: .*/clients\.crt: No such file"):
        serving.load(other.certificate, other.key)
    assert serving.context.now.verify_mode is ssl.CERT_OPTIONAL
    assert_served(serving, pair)
