"""The served TLS versions and cipher suites, with real handshakes."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from tests.webhook.certificates.handshakes import Connection
from tests.webhook.certificates.rsa_pairs import rsa_pair
from webhook.certificates.pair import Pair, make_pair
from webhook.certificates.serving import ServingContext
from webhook.settings import CIPHER_SUITES, TlsOptions, TlsVersion


@pytest.fixture(scope="module")
def pairs() -> Mapping[str, Pair]:
    """By the type of their keys."""
    own = make_pair(["localhost"], now=datetime.now(UTC), lifetime=timedelta(days=1))
    return {"ECDSA": own, "RSA": rsa_pair()}


def spoken(
    pair: Pair, options: TlsOptions, version: ssl.TLSVersion, ciphers: str = "", group: str = ""
) -> tuple[str, str]:
    """Version and suite of a client of one version, with a group for the key exchange."""
    serving = ServingContext(None, options)
    serving.load(pair.certificate, pair.key)
    client = ssl.create_default_context(cadata=pair.authority.decode())
    client.minimum_version = client.maximum_version = version
    if ciphers:
        client.set_ciphers(ciphers)
    if group:
        client.set_ecdh_curve(group)
    with Connection(serving, trusting=pair.authority, name="localhost", client=client) as connection:
        return connection.spoken


@pytest.mark.parametrize("version", list(TlsVersion))
def test_tls_min_version_refuses_older_clients(pairs: Mapping[str, Pair], version: TlsVersion) -> None:
    pair = pairs["ECDSA"]
    assert spoken(pair, TlsOptions(version), ssl.TLSVersion.TLSv1_3)[0] == "TLSv1.3"
    if version is TlsVersion.TLS12:
        assert spoken(pair, TlsOptions(version), ssl.TLSVersion.TLSv1_2)[0] == "TLSv1.2"
    else:
        with pytest.raises(ssl.SSLError):
            spoken(pair, TlsOptions(version), ssl.TLSVersion.TLSv1_2)


@pytest.mark.parametrize("suite", CIPHER_SUITES)
def test_tls_cipher_suites_are_all_that_older_clients_get(pairs: Mapping[str, Pair], suite: str) -> None:
    (pair,) = (pair for key, pair in pairs.items() if f"_{key}_" in suite)
    chosen = TlsOptions(cipher_suites=(suite,))
    assert spoken(pair, chosen, ssl.TLSVersion.TLSv1_2) == ("TLSv1.2", CIPHER_SUITES[suite])
    for other in CIPHER_SUITES.keys() - {suite}:
        with pytest.raises(ssl.SSLError):
            spoken(pair, chosen, ssl.TLSVersion.TLSv1_2, CIPHER_SUITES[other])
    # The suites of TLS 1.3 cannot be chosen.
    assert spoken(pair, chosen, ssl.TLSVersion.TLSv1_3)[0] == "TLSv1.3"


def test_every_suite_that_may_be_chosen_is_known_here() -> None:
    served = {suite["name"] for suite in ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).get_ciphers()}
    assert set(CIPHER_SUITES.values()) <= served


def test_no_key_exchange_costs_much_cpu(pairs: Mapping[str, Pair]) -> None:
    """A replayed ClientHello for 8,192 bits costs its client nothing, and OpenSSL 0.14 s."""
    assert spoken(pairs["ECDSA"], TlsOptions(), ssl.TLSVersion.TLSv1_3, group="prime256v1")[0] == "TLSv1.3"
    for group in ("ffdhe2048", "ffdhe8192", "secp521r1", "X448"):
        with pytest.raises(ssl.SSLError):
            spoken(pairs["ECDSA"], TlsOptions(), ssl.TLSVersion.TLSv1_3, group=group)
    with pytest.raises(ssl.SSLError):
        spoken(pairs["RSA"], TlsOptions(), ssl.TLSVersion.TLSv1_2, "DHE-RSA-AES128-GCM-SHA256")
