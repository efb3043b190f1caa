"""How the API server validates the names of certificates' signers and ClusterTrustBundles, which begin with the former.

Source: pkg/apis/core/validation/names.go at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from podrules.admission.validation.errors import invalid, quoted, required, too_long
from podrules.admission.validation.formats import Problems, dns_label, dns_subdomain, size
from podrules.api.model.field_error import FieldError

_DOMAIN_LENGTH: Final = 253
_NAME_LENGTH: Final = 571
_PARTS: Final = 2


def is_kubernetes_signer(name: str) -> bool:
    """Whether a signer's name belongs to Kubernetes."""
    return f".{name.partition('/')[0]}".endswith(".kubernetes.io")


def validate_signer_name(name: str, path: str) -> Iterator[FieldError]:
    """Hold a signer's name against its form: a domain, a slash and names with dots between them."""
    if not name:
        yield required(path)
        return
    parts = name.split("/")
    if len(parts) != _PARTS:
        yield invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    domain, signer = parts
    if size(domain) > _DOMAIN_LENGTH:
        yield too_long(path, _DOMAIN_LENGTH)
    yield from _labels(domain, path, dns_label)
    if "." not in domain:
        yield invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _labels(signer, path, dns_subdomain)
    if size(name) > _NAME_LENGTH:
        yield too_long(path, _NAME_LENGTH)


def _labels(text: str, path: str, check: Callable[[str], Problems]) -> Iterator[FieldError]:
    """Hold names with dots between them against a rule; the first that breaks it is named."""
    for label in text.split("."):
        problems = check(label)
        if problems:
            for problem in problems:
                yield invalid(path, text, f"validating label {quoted(label)}: {problem}")
            return


def cluster_trust_bundle_name(name: str) -> Problems:
    """The name of a ClusterTrustBundle: with a colon in it, it begins with its signer."""
    before, colon, own = name.rpartition(":")
    if not colon:
        return dns_subdomain(name)
    signer = before.replace(":", "/")
    if not signer:
        return ('ClusterTrustBundle without signer name must not have ":" in its name',)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return (f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}",)
    return dns_subdomain(own)
