"""The provenance of a release, signed with a key from a file. It can be verified without a network.

    SHA256SUMS.sig                  the signature of SHA256SUMS, as ``openssl dgst -sha256 -verify`` reads it
    provenance.intoto.json          the commit and the base image of all files
    qos-webhook-V.cdx.intoto.json   the image's bill of materials, for the image's digest

The latter two are Statements of in-toto (v1) in an envelope (DSSE 1.0); their predicates are SLSA Provenance v1 and
CycloneDX. All signatures are ECDSA over P-256 with SHA-256, the kind of key that cosign has, too.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from release.image import ReleasedImage

PROVENANCE: Final = "provenance.intoto.json"
SIGNATURE: Final = "SHA256SUMS.sig"
_ROOT: Final = Path(__file__).resolve().parents[1]
_LOCKS: Final = ("requirements/plugin.txt", "requirements/image.txt", "requirements/image-build.txt")
_STATEMENT: Final = "https://in-toto.io/Statement/v1"
_PAYLOAD: Final = "application/vnd.in-toto+json"
_REMEDY: Final = (
    "give an ECDSA key over P-256 as PEM, without a password: "
    "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem"
)
_Object = dict[str, Any]


class Source:
    """The commit of a release, and whether files differ from it."""

    def __init__(self, root: Path = _ROOT) -> None:
        """Run git; return its output."""
        self.commit = _git(root, "rev-parse", "HEAD")
        self.modified = bool(_git(root, "status", "--porcelain"))


def signing_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Read the key from a file.

    Raises:
        SystemExit: the file cannot be read, or contains another kind of key.
    """
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, TypeError, ValueError, UnsupportedAlgorithm) as error:
        raise SystemExit(f"signing key {path}: {error}; {_REMEDY}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise SystemExit(f"signing key {path}: another kind of key; {_REMEDY}")
    return key


def sign(key: ec.EllipticCurvePrivateKey, content: bytes) -> bytes:
    """A signature in DER, as openssl writes it."""
    return key.sign(content, ec.ECDSA(hashes.SHA256()))


def attest(
    out: Path,
    files: Sequence[Path],
    key: ec.EllipticCurvePrivateKey,
    *,
    source: Source,
    image: ReleasedImage | None,
    parameters: Mapping[str, Any],
) -> None:
    """Write the signed statements.

    Args:
        out: The folder for them.
        files: All files of the release.
        key: The signing key.
        source: The commit of the release.
        image: The webhook's image, if it is part of the release.
        parameters: The arguments of the build.
    """
    subjects = [_subject(path.name, _sha256(path)) for path in files]
    if image:
        subjects.append(image.subject)
        bill = json.loads(image.bill.read_text(encoding="utf-8"))
        statement = _statement([image.subject], "https://cyclonedx.org/bom", bill)
        (out / _bill_name(image)).write_text(_envelope(key, statement), encoding="utf-8")
    predicate = {
        "buildDefinition": {
            "buildType": "urn:kubectl-qos:make-dist:v1",
            "externalParameters": dict(parameters),
            "resolvedDependencies": _dependencies(source, image),
        },
        # A person or a pipeline runs make; the holder of the key vouches for it.
        "runDetails": {"builder": {"id": "urn:kubectl-qos:holder-of-the-key"}},
    }
    statement = _statement(subjects, "https://slsa.dev/provenance/v1", predicate)
    (out / PROVENANCE).write_text(_envelope(key, statement), encoding="utf-8")


def attested_names(image: ReleasedImage | None) -> set[str]:
    """Names of the files that `attest` writes."""
    return {PROVENANCE} | ({_bill_name(image)} if image else set())


def _bill_name(image: ReleasedImage) -> str:
    return f"{image.bill.name.removesuffix('.json')}.intoto.json"


def _dependencies(source: Source, image: ReleasedImage | None) -> list[_Object]:
    commit: _Object = {"name": "source", "digest": {"gitCommit": source.commit}}
    if source.modified:
        # These are always signed, and listed in the statement.
        commit["annotations"] = {"modified": True}
    locks = [_subject(name, _sha256(_ROOT / name)) for name in _LOCKS]
    if image is None:
        return [commit, *locks]
    base = {"name": "base", "uri": image.base, "digest": {"sha256": image.base.rpartition("@sha256:")[2]}}
    return [commit, *locks, base]


def _statement(subjects: Sequence[_Object], kind: str, predicate: _Object) -> _Object:
    return {"_type": _STATEMENT, "subject": list(subjects), "predicateType": kind, "predicate": predicate}


def _envelope(key: ec.EllipticCurvePrivateKey, statement: _Object) -> str:
    """The statement with its signature, which also covers the payload's type (DSSE's PAE)."""
    payload = json.dumps(statement, sort_keys=True).encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(_PAYLOAD), _PAYLOAD.encode(), len(payload), payload)
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    signature = {"keyid": hashlib.sha256(public).hexdigest(), "sig": _text(sign(key, signed))}
    return json.dumps({"payloadType": _PAYLOAD, "payload": _text(payload), "signatures": [signature]}) + "\n"


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _subject(name: str, digest: str) -> _Object:
    return {"name": name, "digest": {"sha256": digest}}


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(("git", "-C", str(root), *arguments), check=True, capture_output=True, text=True)
    return done.stdout.strip()
