"""A real node: kubelet and containerd on this machine, joined to the control plane of the tests.

It needs root on Linux, and containerd, runc and CNI plugins (Debian: containerd, runc, containernetworking-plugins,
busybox-static). Pods use the host's network, so no interface is made. Whatever it changes outside its own folder, it
puts back: the kernel settings that a kubelet writes, and the cgroup `kubepods`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import Process, free_port, stop_all
from tests.real_node.images import PAUSE, write_image
from tests.waiting import wait_for

CGROUPS: Final = Path("/sys/fs/cgroup")
_KUBEPODS: Final = "kubepods"
_CNI: Final = Path("/usr/lib/cni")
_PROGRAMS: Final = ("containerd", "containerd-shim-runc-v2", "ctr", "runc", "busybox")
# Those that pkg/kubelet/cm/container_manager_linux.go (setupKernelTunables) writes, and the proxy-less defaults.
_SYSCTLS: Final = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
_READY_SECONDS: Final = 60.0
_DISK_BYTES: Final = 400 << 20
_DISK_INODES: Final = 20000
_STOP_SECONDS: Final = 20.0


class Unusable(RuntimeError):
    """No node can run here; the message says what is missing."""


def what_is_missing() -> str:
    """Why no node can run on this machine; empty: a node can run."""
    if os.geteuid() != 0:
        return "root is needed: containers and cgroups are made"
    if missing := [name for name in _PROGRAMS if shutil.which(name) is None]:
        return f"no {', '.join(missing)} on PATH: on Debian, apt-get install containerd runc busybox-static"
    if not _CNI.is_dir():
        return f"no CNI plugins in {_CNI}: on Debian, apt-get install containernetworking-plugins"
    if list(_kubepods()):
        return f"{next(_kubepods())} is there already: another kubelet has run here, or still does"
    return ""


class RealNode:
    """Joins on ``with``; the block's end stops the pods, then the node, and restores the machine."""

    def __init__(
        self, control_plane: ControlPlane, kubelet: Path, name: str = "real", *, own_disk: bool = False
    ) -> None:
        """Describe it; nothing runs yet.

        Args:
            control_plane: Runs already.
            kubelet: The program.
            name: Of the Node.
            own_disk: The kubelet's folder is a small filesystem of its own, which can be filled.
        """
        self._own_disk = own_disk
        self._port = free_port()
        self._control_plane = control_plane
        self._kubelet = kubelet
        self._processes: list[Process] = []
        self._sysctls: dict[str, str] = {}
        self.name = name

    def __enter__(self) -> Self:
        if problem := what_is_missing():
            raise Unusable(problem)
        self.folder = Path(tempfile.mkdtemp(prefix="real-node-"))
        try:
            self._sysctls = {name: text for name in _SYSCTLS if (text := _sysctl(name)) is not None}
            self._start_containerd()
            if self._own_disk:
                self._mount_disk()
            self.start_kubelet()
        except BaseException:
            self._put_back()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._put_back()

    @property
    def static_pods(self) -> Path:
        """The folder of static pods' manifests."""
        return self.folder / "manifests"

    def containers(self, pod: Mapping[str, Any]) -> dict[str, str]:
        """Id of each running container of a pod, by name."""
        status = pod.get("status", {})
        found = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
        return {
            entry["name"]: entry["containerID"].partition("://")[2]
            for entry in found
            if "running" in entry.get("state", {})
        }

    def task(self, identity: str) -> int:
        """The process of a container or sandbox."""
        tasks = self.ctr("tasks", "list").splitlines()
        return next(int(line.split()[1]) for line in tasks if line.startswith(identity))

    def ctr(self, *arguments: str) -> str:
        """What containerd's own client prints."""
        done = subprocess.run(
            ["ctr", f"--address={self.socket}", "--namespace=k8s.io", *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout

    @property
    def socket(self) -> Path:
        """The socket of containerd."""
        return self.folder / "containerd.sock"

    def log(self, program: str) -> str:
        """What ``containerd`` or ``kubelet`` has logged."""
        return (self.folder / f"{program}.log").read_text(errors="replace")

    @property
    def kubelet_folder(self) -> Path:
        """The file system that the kubelet calls nodefs."""
        return self.folder / "kubelet"

    def ask_kubelet(self, path: str) -> Any:
        """The answer of one of the kubelet's own endpoints, JSON."""
        files = self._control_plane.folder
        # The kubelet's certificate is its own, without an authority.
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        trust.load_cert_chain(files / "admin.crt", files / "admin.key")
        with urllib.request.urlopen(f"https://127.0.0.1:{self._port}/{path}", context=trust, timeout=30) as answer:
            return json.load(answer)

    def stop_kubelet(self) -> None:
        """The kubelet ends; the containers run on."""
        ended = [process for process in self._processes if process.name == "kubelet"]
        stop_all(ended, timeout=_STOP_SECONDS)
        self._processes = [process for process in self._processes if process not in ended]

    @property
    def has_kubelet(self) -> bool:
        """Whether the kubelet runs."""
        return any(process.name == "kubelet" and process.running for process in self._processes)

    def restart_kubelet(self, **changes: Any) -> None:
        """The kubelet ends and starts with these fields of its configuration changed. Call it from the main thread."""
        self.stop_kubelet()
        self.start_kubelet(**changes)

    def restart_containerd(self) -> None:
        """The runtime ends and starts; the containers run on. Call it from the main thread."""
        stop_all([self._processes[0]], timeout=_STOP_SECONDS)
        self._run_containerd(0)

    # Parts

    def _mount_disk(self) -> None:
        disk = self.folder / "disk.img"
        with disk.open("wb") as file:
            file.truncate(_DISK_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-N", str(_DISK_INODES), str(disk)], check=True)
        self.kubelet_folder.mkdir()
        subprocess.run(["mount", "-o", "loop", str(disk), str(self.kubelet_folder)], check=True)

    def _start_containerd(self) -> None:
        cni = self.folder / "cni"
        cni.mkdir()
        network = '{"cniVersion":"0.4.0","name":"unused","plugins":[{"type":"loopback"}]}'
        (cni / "10-unused.conflist").write_text(network)
        (self.folder / "containerd.toml").write_text(
            f"""
version = 2
root = "{self.folder}/containerd"
state = "{self.folder}/containerd-state"
[debug]
  level = "debug"
[grpc]
  address = "{self.socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{_CNI}"
    conf_dir = "{cni}"
"""
        )
        self._run_containerd(0)
        archive = self.folder / "image.tar"
        write_image(archive, Path(shutil.which("busybox") or "busybox"))
        self.ctr("images", "import", "--snapshotter=native", str(archive))

    def _run_containerd(self, index: int) -> None:
        config = self.folder / "containerd.toml"
        process = Process(["containerd", f"--config={config}"], log=self.folder / "containerd.log")
        self._processes[index : index + 1] = [process]
        process.wait_until(self._answers, timeout=_READY_SECONDS)

    def _answers(self) -> bool:
        try:
            self.ctr("version")
        except subprocess.CalledProcessError:
            return False
        return True

    def start_kubelet(self, **changes: Any) -> None:
        """Start the kubelet, with these fields of its configuration changed, and wait until its node is ready."""
        plane = self._control_plane
        kubeconfig = plane.kubeconfig_for_client_certificate(f"system:node:{self.name}", ["system:nodes"])
        self.static_pods.mkdir(exist_ok=True)
        config = self.folder / "kubelet.yaml"
        config.write_text(yaml.safe_dump({**self._kubelet_configuration(), **changes}))
        arguments = (
            self._kubelet,
            f"--config={config}",
            f"--kubeconfig={kubeconfig}",
            f"--root-dir={self.kubelet_folder}",
            f"--hostname-override={self.name}",
            "--node-ip=127.0.0.1",
            f"--cert-dir={self.folder / 'pki'}",
        )
        began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._processes.append(Process(arguments, log=self.folder / "kubelet.log"))
        self._processes[-1].wait_until(partial(self._is_ready, began), timeout=_READY_SECONDS)

    def _kubelet_configuration(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "port": self._port,
            "healthzPort": 0,
            "authentication": {"x509": {"clientCAFile": str(self._control_plane.folder / "ca.crt")}},
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "cgroupDriver": "cgroupfs",
            "failCgroupV1": False,
            "failSwapOn": False,
            "staticPodPath": str(self.static_pods),
            "podLogsDir": str(self.folder / "logs"),
            # No pod may be evicted because of other programs on this machine.
            "evictionHard": {"memory.available": "1Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            "imageGCHighThresholdPercent": 100,
            "nodeStatusUpdateFrequency": "2s",
            "syncFrequency": "10s",
        }

    def _is_ready(self, since: str) -> bool:
        nodes: list[Object] = self._control_plane.api.list_items("v1", "Node", None)
        mine = [node for node in nodes if node["metadata"]["name"] == self.name]
        conditions = mine[0].get("status", {}).get("conditions", []) if mine else []
        # An earlier kubelet's report does not count.
        return any(
            entry["type"] == "Ready" and entry["status"] == "True" and entry["lastHeartbeatTime"] > since
            for entry in conditions
        )

    def _put_back(self) -> None:
        kubelets = [process for process in self._processes if process.name == "kubelet"]
        stop_all(kubelets, timeout=_STOP_SECONDS)
        if self._processes and self._processes[0].running:
            self._remove_containers()
        stop_all(self._processes, timeout=_STOP_SECONDS)
        for name, text in self._sysctls.items():
            if _sysctl(name) != text:
                Path("/proc/sys", name).write_text(text)
        _unmount_below(self.folder)
        for cgroup in _kubepods():
            _remove_cgroup(cgroup)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _remove_containers(self) -> None:
        for container in self.ctr("containers", "list", "--quiet").split():
            with contextlib.suppress(subprocess.CalledProcessError):
                self.ctr("tasks", "delete", "--force", container)
            with contextlib.suppress(subprocess.CalledProcessError):
                self.ctr("containers", "delete", container)


def _sysctl(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text()
    except OSError:
        return None


def _kubepods() -> Iterator[Path]:
    """The kubelet's cgroup in each hierarchy (v1), or the one (v2)."""
    folders = [CGROUPS, *(entry for entry in CGROUPS.iterdir() if entry.is_dir())] if CGROUPS.is_dir() else []
    yield from (folder / _KUBEPODS for folder in folders if (folder / _KUBEPODS).is_dir())


def _remove_cgroup(top: Path) -> None:
    """Remove a cgroup with all below it. Only those of pods that we made can be there: see `what_is_missing`."""
    for folder, _, _ in os.walk(top, topdown=False):
        for pid in (Path(folder) / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        wait_for(partial(_is_removed, Path(folder)), f"{folder} is removed", timeout=_STOP_SECONDS)


def _is_removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        # The processes that were killed have not all ended.
        return False
    return True


def _unmount_below(folder: Path) -> None:
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for mount in sorted((entry for entry in mounts if entry.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)
