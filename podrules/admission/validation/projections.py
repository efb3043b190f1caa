"""How the API server validates volumes made of files: secret, configMap, downwardAPI and projected.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateSecretVolumeSource, validateConfigMapVolumeSource,
validateKeyToPath, validateDownwardAPIVolumeSource, validateDownwardAPIVolumeFile, validateProjectedVolumeSource,
validateProjectionSources, ValidateUserAnnotations) and pkg/apis/core/validation/names.go, which has the names of
certificates' signers and ClusterTrustBundles; pkg/api/pod/util.go for the fields that are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from podrules.admission.validation.env import validate_field_selector, validate_resource_field_selector
from podrules.admission.validation.errors import (
    forbidden,
    invalid,
    malformed,
    quoted,
    required,
    too_long,
    unsupported,
    validate_format,
    validate_required,
)
from podrules.admission.validation.formats import (
    Problems,
    dns_label,
    dns_subdomain,
    qualified_name,
    size,
    unreserved_path,
)
from podrules.admission.validation.metadata import shown_selector, validate_annotations_size, validate_label_selector
from podrules.admission.validation.view import Rules, View
from podrules.api.model.misfit import FieldError

_MOST_MODE: Final = 0o777
_LEAST_EXPIRATION: Final = 10 * 60
_MOST_EXPIRATION: Final = 1 << 32
_DEFAULT_EXPIRATION: Final = 60 * 60
_DAY: Final = 24 * 60 * 60
_LEAST_CERTIFICATE: Final = 60 * 60
_MOST_CERTIFICATE: Final = 91 * _DAY
_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_FIELDS: Final = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_CERTIFICATE_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")
_DOMAIN_LENGTH: Final = 253
_NAME_LENGTH: Final = 571


def validate_key_files(source: View) -> Iterator[FieldError]:
    """Hold the files of a ``secret`` or a ``configMap`` against their rules."""
    yield from _mode(source, "defaultMode")
    for item in source.structs("items"):
        yield from _key_to_path(item)


def validate_downward_api(source: View, rules: Rules) -> Iterator[FieldError]:
    """Hold the files of a ``downwardAPI`` against their rules. Their paths have no index."""
    yield from _mode(source, "defaultMode")
    for item in source.structs("items"):
        yield from _downward_api_file(View(item.content, source.path), rules)


def validate_projected(volume: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a ``projected`` volume against the rules of its sources, which share one directory."""
    yield from _mode(volume, "defaultMode")
    directory = _Directory(volume.path, rules)
    for source in volume.structs("sources"):
        found = [name for name in filter(source.has, _PROJECTIONS) if name not in _GATES or rules.on(_GATES[name])]
        for name in found:
            yield from _PROJECTIONS[name](source.struct(name), directory)
        if len(found) > 1:
            yield forbidden(source.path, "may not specify more than 1 volume type per source")


class _Directory:
    """The directory of a projected volume while its sources are read."""

    def __init__(self, path: str, rules: Rules) -> None:
        self.path = path
        self.rules = rules
        self._files: set[str] = set()

    def add(self, file: str, shown: str) -> Iterator[FieldError]:
        """Add a file; only one may have its path."""
        if file in self._files:
            yield invalid(self.path, shown, "conflicting duplicate paths")
        self._files.add(file)


def _mode(view: View, field: str) -> Iterator[FieldError]:
    mode = view.number(field)
    if mode is not None and not 0 <= mode <= _MOST_MODE:
        yield invalid(view.at(field), mode, "must be a number between 0 and 0777 (octal), both inclusive")


def _required_path(view: View) -> Iterator[FieldError]:
    yield from validate_required(view, "path")
    yield from validate_format(view, "path", unreserved_path)


def _key_to_path(item: View) -> Iterator[FieldError]:
    yield from validate_required(item, "key")
    yield from _required_path(item)
    yield from _mode(item, "mode")


def _downward_api_file(file: View, rules: Rules) -> Iterator[FieldError]:
    yield from _required_path(file)
    if file.has("fieldRef"):
        yield from validate_field_selector(file.struct("fieldRef"), _FIELDS, rules)
        if file.has("resourceFieldRef"):
            yield invalid(file.path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif file.has("resourceFieldRef"):
        yield from validate_resource_field_selector(file.struct("resourceFieldRef"), volume=True)
    else:
        yield required(file.path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(file, "mode")


def _keys(source: View, directory: _Directory) -> Iterator[FieldError]:
    name = source.text("name")
    if not name:
        yield required(source.at("name"))
    for item in source.structs("items"):
        yield from _key_to_path(item)
        if item.text("path"):
            yield from directory.add(item.text("path"), name)


def _downward_api(source: View, directory: _Directory) -> Iterator[FieldError]:
    for item in source.structs("items"):
        file = View(item.content, source.path)
        yield from _downward_api_file(file, directory.rules)
        if file.text("path"):
            yield from directory.add(file.text("path"), file.text("path"))


def _service_account_token(source: View, directory: _Directory) -> Iterator[FieldError]:
    written = source.number("expirationSeconds")
    seconds = _DEFAULT_EXPIRATION if written is None else written
    path = source.at("expirationSeconds")
    if seconds < _LEAST_EXPIRATION:
        yield invalid(path, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _MOST_EXPIRATION:
        yield invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")
    yield from _required_path(View(source.content, directory.path))


def _cluster_trust_bundle(source: View, directory: _Directory) -> Iterator[FieldError]:
    match source.pointer("name"), source.pointer("signerName"):
        case None, None:
            yield required(source.path, "either name or signerName must be specified")
        case str(name), None:
            if not name:
                yield required(source.at("name"), "must be a valid object name")
            for problem in cluster_trust_bundle_name(name):
                yield invalid(source.at("name"), name, f"not a valid clustertrustbundlename: {problem}")
            if source.has("labelSelector"):
                shown = shown_selector(source.struct("labelSelector"))
                yield invalid(source.at("labelSelector"), shown, "labelSelector must be unset if name is specified")
        case None, str(signer):
            if not signer:
                yield required(source.at("signerName"), "must be a valid signer name")
            yield from validate_signer_name(signer, source.at("signerName"))
            if source.has("labelSelector"):
                yield from validate_label_selector(source.struct("labelSelector"), directory.rules)
        case name, signer:
            selector = source.struct("labelSelector")
            shown = {
                "Name": name,
                "SignerName": signer,
                "LabelSelector": shown_selector(selector) if source.has("labelSelector") else None,
                "Optional": source.flag("optional"),
                "Path": source.text("path"),
                "User": None,
            }
            yield invalid(source.path, shown, "only one of name and signerName may be used")
    yield from _required_path(source)
    yield from directory.add(source.text("path"), source.text("path"))


def _pod_certificate(source: View, directory: _Directory) -> Iterator[FieldError]:
    signer = source.text("signerName")
    yield from validate_signer_name(signer, source.at("signerName"))
    annotations, path = source.texts_by_key("userAnnotations"), source.at("userAnnotations")
    for key in map(str.lower, annotations):
        problems = qualified_name(key, directory.rules) if key else ()
        yield from malformed(path, key, problems)
        if not key:
            yield required(path)
        elif not problems and "/" not in key:
            yield invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")')
    yield from validate_annotations_size(annotations, path)
    key_type = source.text("keyType")
    if key_type not in _KEY_TYPES:
        yield unsupported(source.at("keyType"), key_type, _KEY_TYPES, typed=False)
    seconds = source.number("maxExpirationSeconds")
    path = source.at("maxExpirationSeconds")
    if seconds is not None:
        most = _DAY if f".{signer.partition('/')[0]}".endswith(".kubernetes.io") else _MOST_CERTIFICATE
        if seconds < _LEAST_CERTIFICATE:
            yield invalid(path, seconds, f"if provided, maxExpirationSeconds must be >= {_LEAST_CERTIFICATE}")
        if seconds > most:
            yield invalid(path, seconds, f"if provided, maxExpirationSeconds must be <= {most}")
    files = list(filter(source.text, _CERTIFICATE_PATHS))
    for field in files:
        yield from validate_format(source, field, unreserved_path)
        yield from directory.add(source.text(field), source.text(field))
    if not files:
        yield required(source.path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")


_PROJECTIONS: Final[Mapping[str, Callable[[View, _Directory], Iterator[FieldError]]]] = {
    "secret": _keys,
    "configMap": _keys,
    "downwardAPI": _downward_api,
    "serviceAccountToken": _service_account_token,
    "clusterTrustBundle": _cluster_trust_bundle,
    "podCertificate": _pod_certificate,
}
"""The sources of a projected volume, in the API server's order."""
_GATES: Final = {"clusterTrustBundle": "ClusterTrustBundleProjection", "podCertificate": "PodCertificateRequest"}


def validate_signer_name(name: str, path: str) -> Iterator[FieldError]:
    """Hold a signer's name against its form: a domain, a slash and names with dots between them."""
    if not name:
        yield required(path)
        return
    domain, slash, signer = name.partition("/")
    if not slash or "/" in signer:
        yield invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
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
