"""A release is signed with a key of a file, and checked by openssl alone, without a network."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from podrules import __version__
from release.attest import PROVENANCE, SIGNATURE, Source, signing_key
from release.build import ROOT, finish
from release.image import ReleasedImage, release_image
from tests.image.builder import IMAGE, Builder

BILL: Final = {"bomFormat": "CycloneDX", "specVersion": "1.6", "components": []}
# An image as the Dockerfile makes it, but for what is in it: that one takes a minute to build.
DOCKERFILE: Final = f"""\
ARG BASE
FROM ${{BASE}} AS dependencies
FROM dependencies AS stripped
RUN mkdir -p /opt/qos-webhook && echo '{json.dumps(BILL)}' > /opt/qos-webhook/sbom.cdx.json
FROM scratch
ARG BASE
ARG REVISION
LABEL org.opencontainers.image.base.name="${{BASE}}" org.opencontainers.image.revision="${{REVISION}}"
COPY --from=stripped /opt/qos-webhook /opt/qos-webhook
"""


class Signed(NamedTuple):
    """A release of an image and a file, and the throw-away key's public half."""

    folder: Path
    public: Path
    image: ReleasedImage


def _openssl(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(("openssl", *arguments), capture_output=True, text=True, check=False)


def _new_key(folder: Path, name: str) -> tuple[Path, Path]:
    key, public = folder / f"{name}.pem", folder / f"{name}.pub"
    _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
    _openssl("pkey", "-in", key, "-pubout", "-out", public)
    return key, public


@pytest.fixture(scope="module")
def signed(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signed]:
    keys, tree, out = (tmp_path_factory.mktemp(name) for name in ("keys", "tree", "dist"))
    (tree / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
    key, public = _new_key(keys, "own")
    (out / "kubectl_qos.whl").write_bytes(b"a file of the release")
    # Of an earlier one.
    (out / SIGNATURE).write_bytes(b"old")
    other = builder.of(tree)
    with other.image():
        with pytest.raises(SystemExit, match=r"is of commit test, not of another: run make image again"):
            release_image(other.buildah, IMAGE, out, commit="another")
        image = release_image(other.buildah, IMAGE, out, commit="test")
    finish(out, signing_key(key), image, {"image": "qos"})
    yield Signed(out, public, image)
    tree.joinpath("Dockerfile").unlink()
    tree.rmdir()
    builder.remove_stale()


def _is_signed(content: bytes, signature: bytes, public: Path, folder: Path) -> bool:
    (folder / "content").write_bytes(content)
    (folder / "signature").write_bytes(signature)
    line = ("dgst", "-sha256", "-verify", public, "-signature", folder / "signature", folder / "content")
    return _openssl(*line).returncode == 0


def _statement(signed: Signed, name: str, folder: Path) -> dict[str, Any]:
    """What an envelope holds, if its signature is the key's."""
    envelope = json.loads((signed.folder / name).read_text(encoding="utf-8"))
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    payload, (entry,) = base64.b64decode(envelope["payload"]), envelope["signatures"]
    wrapped = b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(payload), payload)
    signature = base64.b64decode(entry["sig"])
    assert _is_signed(wrapped, signature, signed.public, folder)
    assert not _is_signed(wrapped.replace(b"sha256", b"sha512", 1), signature, signed.public, folder)
    found: dict[str, Any] = json.loads(payload)
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    return found


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_signature_of_the_sums_is_checked_offline(signed: Signed, tmp_path: Path) -> None:
    sums, signature = (signed.folder / "SHA256SUMS").read_bytes(), (signed.folder / SIGNATURE).read_bytes()
    assert _is_signed(sums, signature, signed.public, tmp_path)
    assert not _is_signed(sums.replace(b"0", b"1", 1), signature, signed.public, tmp_path)
    _, stranger = _new_key(tmp_path, "stranger")
    assert not _is_signed(sums, signature, stranger, tmp_path)
    listed = {name: digest for digest, name in (line.split() for line in sums.decode().splitlines())}
    made = _digests(signed.folder)
    assert listed == {name: made[name] for name in made if name not in {"SHA256SUMS", SIGNATURE}}
    assert {PROVENANCE, signed.image.archive.name, signed.image.bill.name, "kubectl_qos.whl"} < listed.keys()


def test_provenance_is_of_every_file_and_of_the_image(signed: Signed, tmp_path: Path, builder: Builder) -> None:
    statement = _statement(signed, PROVENANCE, tmp_path)
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    subjects = {entry["name"]: entry["digest"]["sha256"] for entry in statement["subject"]}
    assert f"sha256:{subjects.pop('qos-webhook')}" == signed.image.digest
    made = _digests(signed.folder)
    statements = {"SHA256SUMS", SIGNATURE, PROVENANCE, f"qos-webhook-{__version__}.cdx.intoto.json"}
    assert subjects == {name: made[name] for name in made if name not in statements}
    definition = statement["predicate"]["buildDefinition"]
    assert definition["externalParameters"] == {"image": "qos"}
    of = {entry["name"]: entry for entry in definition["resolvedDependencies"]}
    assert of["source"]["digest"] == {"gitCommit": Source().commit}
    assert of["base"]["uri"] == builder.base_by_digest()
    assert f"@sha256:{of['base']['digest']['sha256']}" in of["base"]["uri"]
    lock = (ROOT / "requirements" / "image.txt").read_bytes()
    assert of["requirements/image.txt"]["digest"] == {"sha256": hashlib.sha256(lock).hexdigest()}


def test_bill_of_materials_is_attested_to_for_the_images_digest(signed: Signed, tmp_path: Path) -> None:
    statement = _statement(signed, f"qos-webhook-{__version__}.cdx.intoto.json", tmp_path)
    (subject,) = statement["subject"]
    assert (statement["predicateType"], statement["predicate"]) == ("https://cyclonedx.org/bom", BILL)
    assert json.loads(signed.image.bill.read_text(encoding="utf-8")) == BILL
    # The digest is that of the manifest in the archive, by which a registry knows the image.
    with tarfile.open(signed.image.archive) as archive:
        index = json.loads(_member(archive, "index.json"))
        (entry,) = index["manifests"]
        assert entry["digest"] == f"sha256:{subject['digest']['sha256']}" == signed.image.digest
        manifest = _member(archive, f"blobs/sha256/{subject['digest']['sha256']}")
    assert hashlib.sha256(manifest).hexdigest() == subject["digest"]["sha256"]


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    found = archive.extractfile(name)
    assert found is not None
    return found.read()


def test_without_a_key_nothing_is_attested_to(tmp_path: Path) -> None:
    (tmp_path / PROVENANCE).write_text("old", encoding="utf-8")
    (tmp_path / "file").write_text("new", encoding="utf-8")
    finish(tmp_path, None, None, {})
    assert {path.name for path in tmp_path.iterdir()} == {"file", "SHA256SUMS"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(None, "No such file or directory", id="no file"),
        pytest.param(("-algorithm", "RSA"), "another kind of key", id="RSA"),
        pytest.param(
            ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"), "another kind of key", id="another curve"
        ),
        pytest.param(
            ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes256", "-pass", "pass:x"),
            "Password was not given",
            id="with a password",
        ),
    ],
)
def test_a_key_that_cannot_sign_is_refused(tmp_path: Path, arguments: tuple[str, ...] | None, said: str) -> None:
    key = tmp_path / "key.pem"
    if arguments:
        assert _openssl("genpkey", *arguments, "-out", key).returncode == 0
    with pytest.raises(SystemExit) as refused:
        signing_key(key)
    assert str(refused.value).startswith(f"signing key {key}: ")
    assert said in str(refused.value)
    assert "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem" in str(refused.value)


def test_make_hands_image_and_key_on() -> None:
    def line(*given: str) -> str:
        made = subprocess.run(("make", "-n", "dist", *given), cwd=ROOT, capture_output=True, text=True, check=True)
        return made.stdout

    assert "--image" not in line()
    assert "--signing-key" not in line()
    assert '--image "registry.example.com/qos:1" --signing-key "key.pem"' in line(
        "IMAGE=registry.example.com/qos:1", "SIGNING_KEY=key.pem"
    )
