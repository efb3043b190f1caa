"""``make dist``: builds all files of a release in ``dist/``. Without a signature, a commit always gives the same bytes.

    kubectl_qos-V.whl, kubectl_qos-V.tar.gz   for pip, pipx and uv
    kubectl-qos-V-SYSTEM-ARCH.tar.gz          one file that needs Python alone, as Krew installs it
    qos.yaml                                  the Krew manifest of these archives
    qos-webhook-V.tgz                         the chart
    qos-webhook-V-linux-ARCH.oci.tar          with --image: the webhook's image
    qos-webhook-V.cdx.json                    its bill of materials
    provenance.intoto.json, SHA256SUMS.sig    with --signing-key; see `release.attest`
    SHA256SUMS                                of all files

The version is stated in ``podrules/__init__.py`` alone. Files carry the time of the commit (SOURCE_DATE_EPOCH).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from kubectl_plugin.manual import pages
from podrules import __version__
from release.attest import SIGNATURE, Source, attest, attested_names, sign, signing_key
from release.image import ReleasedImage, buildah, release_image
from release.krew import Archive, manifest
from release.platforms import PLATFORMS, THIS, Platform

ROOT: Final = Path(__file__).resolve().parents[1]
CHART: Final = ROOT / "charts" / "qos-webhook"
_LOCK: Final = ROOT / "requirements" / "plugin.txt"
_SUMS: Final = "SHA256SUMS"
_EXECUTABLE: Final = "kubectl-qos"
_COMPLETE: Final = """\
#!/bin/sh
PEX_SCRIPT=kubectl_complete-qos exec "$(dirname "$0")/kubectl-qos" "$@"
"""
"""The program that kubectl runs for completion; the executable contains it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Build the release; return 1 if helm is missing, so that there is no chart."""
    parser = argparse.ArgumentParser(prog="python -m release.build", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="FOLDER")
    parser.add_argument("--all-platforms", action="store_true", help="executables also for other systems")
    parser.add_argument("--url", default="", metavar="URL", help="where the archives will be found; for qos.yaml")
    parser.add_argument(
        "--wheels", type=Path, metavar="FOLDER", help="where all wheels of the lock are: the package index is not asked"
    )
    parser.add_argument("--image", metavar="NAME", help="the webhook's image, as buildah knows it, after make image")
    parser.add_argument("--signing-key", type=Path, metavar="FILE", help="signs what is made: ECDSA, P-256, PEM")
    args = parser.parse_args(argv)
    key = signing_key(args.signing_key) if args.signing_key else None
    args.out.mkdir(parents=True, exist_ok=True)
    image = release_image(buildah, args.image, args.out, commit=Source().commit) if args.image else None
    environment = reproducible_environment(os.environ)
    wheel = build_packages(args.out, environment)
    platforms = PLATFORMS if args.all_platforms else (THIS,)
    archives = [build_archive(args.out, platform, wheel, environment, args.wheels) for platform in platforms]
    url = args.url or args.out.resolve().as_uri()
    (args.out / "qos.yaml").write_text(manifest(__version__, url, archives), encoding="utf-8")
    helm = shutil.which("helm")
    if helm is None:
        print("no helm on PATH: the chart is not packaged", file=sys.stderr)
    else:
        build_chart(args.out, helm, int(environment["SOURCE_DATE_EPOCH"]))
    finish(args.out, key, image, {"allPlatforms": args.all_platforms, "image": args.image or ""})
    for path in sorted(args.out.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path.name}")
    return 0 if helm else 1


def finish(
    out: Path, key: EllipticCurvePrivateKey | None, image: ReleasedImage | None, parameters: Mapping[str, Any]
) -> None:
    """Write the checksums, and with a key the provenance and the signatures.

    Args:
        out: The folder of the release.
        key: The signing key; None: no provenance and no signature.
        image: The webhook's image, if it is part of the release.
        parameters: The arguments of the build, for the provenance.
    """
    # Files of an earlier release would be attested, too.
    for name in (SIGNATURE, *attested_names(image)):
        (out / name).unlink(missing_ok=True)
    if key:
        attest(out, _made(out), key, source=Source(), image=image, parameters=parameters)
    _write_sums(out)
    if key:
        (out / SIGNATURE).write_bytes(sign(key, (out / _SUMS).read_bytes()))


def reproducible_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with the time of the commit, unless SOURCE_DATE_EPOCH is given."""
    known = environment.get("SOURCE_DATE_EPOCH")
    if known is None:
        log = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        known = subprocess.run(log, check=True, capture_output=True, text=True).stdout.strip()
    return {**environment, "SOURCE_DATE_EPOCH": known, "PYTHONHASHSEED": "0"}


def build_packages(out: Path, environment: Mapping[str, str]) -> Path:
    """Build the wheel and the source distribution; return the wheel."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, env=dict(environment), check=True, stdout=subprocess.DEVNULL)
    return out / f"kubectl_qos-{__version__}-py3-none-any.whl"


def build_archive(
    out: Path, platform: Platform, wheel: Path, environment: Mapping[str, str], wheels: Path | None = None
) -> Archive:
    """Build the archive of one system: the executable with all that the plugin needs, completion, manual and licence.

    Args:
        out: The archive's folder.
        platform: Where the executable is to run.
        wheel: The plugin's own.
        environment: For pex.
        wheels: A folder with all wheels of the lock; without one they come from the package index.
    """
    path = out / f"{_EXECUTABLE}-{__version__}-{platform.name}.tar.gz"
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        executable = Path(folder, _EXECUTABLE)
        # The lock names exactly what goes in, with hashes; the wheel of this tree has none and comes by its path.
        lock = Path(folder, "lock.txt")
        lock.write_text(
            f"{_LOCK.read_text(encoding='utf-8')}\nkubectl-qos @ {wheel.resolve().as_uri()}"
            f" --hash=sha256:{_sha256(wheel)}\n",
            encoding="utf-8",
        )
        subprocess.run(
            [
                *(sys.executable, "-m", "pex", "--output-file", str(executable)),
                *("--requirement", str(lock), "--console-script", _EXECUTABLE),
                # Unpacked once into an environment of its own, then entered by sh: as fast as an installed one.
                *("--venv", "prepend", "--sh-boot", "--no-compile", "--no-use-system-time", "--no-build"),
                *(("--no-pypi", "--find-links", str(wheels)) if wheels else ()),
                *platform.pex_flags(),
            ],
            env=dict(environment),
            check=True,
        )
        files = {
            _EXECUTABLE: (executable.read_bytes(), 0o755),
            "kubectl_complete-qos": (_COMPLETE.encode(), 0o755),
            "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
            **{f"man/man1/{name}": (page.encode(), 0o644) for name, page in pages().items()},
        }
        _write_archive(path, files, int(environment["SOURCE_DATE_EPOCH"]))
    return Archive(path.name, _sha256(path), platform)


def build_chart(out: Path, helm: str, epoch: int) -> Path:
    """Package the chart. helm writes the current time into it, so it is packed again with the commit's time."""
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        command = [helm, "package", str(CHART), "--destination", folder, "--version", __version__]
        subprocess.run([*command, "--app-version", __version__], check=True, stdout=subprocess.DEVNULL)
        packaged = next(Path(folder).glob("*.tgz"))
        with tarfile.open(packaged) as archive:
            files = {entry.name: (content, 0o644) for entry, content in _contents(archive)}
        path = out / packaged.name
        _write_archive(path, files, epoch)
    return path


def _contents(archive: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    for entry in archive:
        content = archive.extractfile(entry)
        if content is not None:
            yield entry, content.read()


def _write_archive(path: Path, files: Mapping[str, tuple[bytes, int]], epoch: int) -> None:
    """Write a compressed archive of contents and modes, without any trace of its author and time."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, epoch
            archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(gzip.compress(plain.getvalue(), mtime=epoch))


def _made(out: Path) -> list[Path]:
    return sorted(path for path in out.iterdir() if path.is_file() and path.name not in {_SUMS, SIGNATURE})


def _write_sums(out: Path) -> None:
    lines = [f"{_sha256(path)}  {path.name}\n" for path in _made(out)]
    (out / _SUMS).write_text("".join(lines), encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main())
