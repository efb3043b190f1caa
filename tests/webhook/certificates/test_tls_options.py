"""Versions and cipher suites of TLS that are served, by real handshakes."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import pytest

from tests.webhook.certificates.handshakes import Connection
from webhook.certificates.pair import Pair, make_pair
from webhook.certificates.serving import ServingContext
from webhook.tls_options import CIPHER_SUITES, TlsOptions, TlsVersion

OF_OUR_KEYS = sorted(name for name in CIPHER_SUITES if "_ECDSA_" in name)


@pytest.fixture(scope="module")
def pair() -> Pair:
    return make_pair(["localhost"], now=datetime.now(UTC), lifetime=timedelta(days=1))


def spoken(pair: Pair, options: TlsOptions, version: ssl.TLSVersion, ciphers: str = "") -> tuple[str, str]:
    """Version and suite that a client of one version gets."""
    serving = ServingContext(None, options)
    serving.load(pair.certificate, pair.key)
    client = ssl.create_default_context(cadata=pair.authority.decode())
    client.minimum_version = client.maximum_version = version
    if ciphers:
        client.set_ciphers(ciphers)
    with Connection(serving, trusting=pair.authority, name="localhost", client=client) as connection:
        return connection.spoken


@pytest.mark.parametrize("version", list(TlsVersion))
def test_tls_min_version_refuses_older_clients(pair: Pair, version: TlsVersion) -> None:
    assert spoken(pair, TlsOptions(version), ssl.TLSVersion.TLSv1_3)[0] == "TLSv1.3"
    if version is TlsVersion.TLS12:
        assert spoken(pair, TlsOptions(version), ssl.TLSVersion.TLSv1_2)[0] == "TLSv1.2"
    else:
        with pytest.raises(ssl.SSLError):
            spoken(pair, TlsOptions(version), ssl.TLSVersion.TLSv1_2)


@pytest.mark.parametrize("suite", OF_OUR_KEYS)
def test_tls_cipher_suites_are_all_that_older_clients_get(pair: Pair, suite: str) -> None:
    chosen = TlsOptions(cipher_suites=(suite,))
    assert spoken(pair, chosen, ssl.TLSVersion.TLSv1_2) == ("TLSv1.2", CIPHER_SUITES[suite])
    for other in set(OF_OUR_KEYS) - {suite}:
        with pytest.raises(ssl.SSLError):
            spoken(pair, chosen, ssl.TLSVersion.TLSv1_2, CIPHER_SUITES[other])
    # Those of TLS 1.3 cannot be chosen.
    assert spoken(pair, chosen, ssl.TLSVersion.TLSv1_3)[0] == "TLSv1.3"


def test_every_suite_that_may_be_chosen_is_known_here() -> None:
    served = {suite["name"] for suite in ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).get_ciphers()}
    assert set(CIPHER_SUITES.values()) <= served
