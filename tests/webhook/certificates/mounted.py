"""A Secret in a pod, as mounted by its kubelet."""

from __future__ import annotations

from pathlib import Path

from webhook.settings import CertificateFiles


class Mounted:
    """A Secret in a pod, its files replaced as kubelets do it: pkg/volume/util/atomic_writer.go at v1.36.3."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._count = 0
        self.files = CertificateFiles(str(folder / "tls.crt"), str(folder / "tls.key"))

    def write(self, certificate: bytes, key: bytes) -> None:
        """Files in a new folder, to which one link then points."""
        self._count += 1
        inside = self._folder / f"..{self._count}"
        inside.mkdir()
        (inside / "tls.crt").write_bytes(certificate)
        (inside / "tls.key").write_bytes(key)
        (self._folder / "..data_tmp").symlink_to(inside.name)
        (self._folder / "..data_tmp").rename(self._folder / "..data")
        for name in ("tls.crt", "tls.key"):
            if not (self._folder / name).is_symlink():
                (self._folder / name).symlink_to(Path("..data") / name)
