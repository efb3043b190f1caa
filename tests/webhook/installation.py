"""The chart, installed by the real helm; its container command runs here, with the permissions of its ServiceAccount.

``make siege`` uses the chart's own timeout and the program itself. Elsewhere both are patient: a machine that is busy
with other work would be one more attack.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from podrules.admission.mutating_webhooks import CONFIG_ARGUMENT
from tests.charts.chart import config_argument, config_of, with_image
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import Process, free_port, probe, run_client, start_on_free_port

_ROOT = Path(__file__).resolve().parents[2]
NO_AUDIT: Mapping[str, Any] = {"audit": {"intervalSeconds": 0}}
"""Keys of the configuration file."""
CHART = _ROOT / "charts" / "qos-webhook"
_READY_SECONDS = 120
_BESIEGED = "SIEGE" in os.environ
TIMEOUT_SECONDS = 2 if _BESIEGED else 30
"""The API server's timeout; the chart has 2."""


ZONE = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
"""A default constraint."""


def program_for_tests(name: str, tree: Path = _ROOT, *, patient: bool = not _BESIEGED) -> Sequence[str]:
    """The installed program of that name.

    Args:
        name: The name in the chart.
        tree: The folder of its packages.
        patient: Whether no read is late when the machine is paused.
    """
    assert (Path(sys.executable).parent / name).is_file()
    return (*_module(tree), "tests.webhook.patient_replica" if patient else "webhook.main")


def _module(tree: Path) -> Sequence[str]:
    """Python that runs a module, with the program's packages from a tree and this tree's tests."""
    # -P: the current folder of the tests is not searched first.
    return ("env", f"PYTHONPATH={tree}:{_ROOT}", sys.executable, "-P", "-m")


def chart_values(port: int, *constraints: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Values that make the API server call a port of this machine, with these default constraints for pods."""
    args = {"defaultingType": "List", "defaultConstraints": list(constraints)}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": args}]}],
    }
    return {
        "drainSeconds": 1,
        "webhook": {"url": f"https://127.0.0.1:{port}", "timeoutSeconds": TIMEOUT_SECONDS},
        "clusterDefaultConstraints": {"schedulerConfiguration": configuration},
        **more,
    }


class Replica(NamedTuple):
    """A running container of the chart's Deployment, without its kubelet."""

    process: Process
    port: int
    metrics_port: int


class Installation:
    """A release in a namespace."""

    def __init__(
        self,
        control_plane: ControlPlane,
        helm: Path,
        folder: Path,
        *,
        namespace: str,
        release: str = "qos",
        clock: Path | None = None,
        patient: bool = not _BESIEGED,
    ) -> None:
        """Set up the installation; `install` runs it.

        Args:
            control_plane: The cluster.
            helm: The program.
            folder: For values, logs, and helm's own files.
            namespace: The release's namespace; it exists.
            release: Its name.
            clock: File of a `tests.webhook.certificates.moved_time.MovedTime`, the replicas' clock for durations.
            patient: Whether no read of a replica is late when the machine is paused.
        """
        self._control_plane = control_plane
        self._helm = helm
        self.folder = folder
        self._clock = clock
        self._patient = patient
        self.tree = _ROOT
        """The folder with the chart and the program's packages; can be set to that of another version."""
        self._count = 0
        self.namespace = namespace
        self.release = release

    def install(self, values: dict[str, Any]) -> str:
        """``helm install``; returns its output."""
        return self.helm("install", self.release, self._chart, *self._values(values))

    def upgrade(self, values: dict[str, Any]) -> str:
        """``helm upgrade`` with a complete set of values."""
        return self.helm("upgrade", self.release, self._chart, *self._values(values))

    def roll_back(self) -> str:
        """``helm rollback`` to the state before the last upgrade."""
        return self.helm("rollback", self.release)

    def uninstall(self) -> str:
        """``helm uninstall``; does nothing if it was not installed."""
        return self.helm("uninstall", self.release, "--ignore-not-found")

    def helm(self, *arguments: str | Path) -> str:
        """Run helm in the release's namespace."""
        homes = {f"HELM_{name}_HOME": str(self.folder / name) for name in ("CACHE", "CONFIG", "DATA")}
        done = run_client(
            [self._helm, *arguments, "--namespace", self.namespace],
            env={**self._control_plane.kubectl_environment(), **homes},
            timeout=120,
        )
        assert done.returncode == 0, f"helm {' '.join(map(str, arguments))}\n{done.stderr}"
        return done.stdout

    @property
    def _chart(self) -> Path:
        return self.tree / CHART.relative_to(_ROOT)

    @property
    def deployment(self) -> dict[str, Any]:
        """The stored Deployment."""
        found = self._control_plane.api.list_items(
            "apps/v1", "Deployment", self.namespace, labelSelector=f"app.kubernetes.io/instance={self.release}"
        )
        assert len(found) == 1
        return found[0]

    def start_replica(self, *more: str, config: Mapping[str, Any] | None = None, until: str = "/readyz") -> Replica:
        """Run the container's command with a token of its ServiceAccount, and wait until it is ready.

        Args:
            more: Additional arguments, which replace values of the file.
            config: Keys of the configuration file that differ from the chart's.
            until: The path that must answer 200.
        """
        self._count += 1
        pod = self.deployment["spec"]["template"]["spec"]
        container = pod["containers"][0]
        command: list[str] = [*container["command"], *container.get("args", [])]
        # A release before the file has arguments only.
        if CONFIG_ARGUMENT in command:
            name = f"{self.deployment['metadata']['name']}-config"
            stored = self._control_plane.api.get("v1", "ConfigMap", name, self.namespace)
            file = self.folder / f"{self.release}-{self._count}.yaml"
            command.remove(CONFIG_ARGUMENT)
            command.append(config_argument(config_of([stored]), file, config))
        kubeconfig = self._control_plane.kubeconfig_for_service_account(pod["serviceAccountName"], self.namespace)

        metrics_ports: dict[int, int] = {}

        def line(port: int) -> Sequence[str | Path]:
            # Replicas on one machine need different ports, and there is no kubelet to mount the account's token.
            metrics_ports[port] = port_beside(port)
            own = (f"--address=127.0.0.1:{port}", f"--metrics-address=127.0.0.1:{metrics_ports[port]}")
            return [*self._program(command[0]), *command[1:], *own, f"--kubeconfig={kubeconfig}", *more]

        log = self.folder / f"{self.release}-{self._count}.log"
        process, port = start_on_free_port(line, probe(until), log=log, timeout=_READY_SECONDS)
        return Replica(process, port, metrics_ports[port])

    def _program(self, name: str) -> Sequence[str | Path]:
        """The program of that name, with a clock of the tests if one is given."""
        if self._clock is None:
            return program_for_tests(name, self.tree, patient=self._patient)
        return (*_module(self.tree), "tests.webhook.certificates.moved_replica", self._clock)

    def _values(self, values: dict[str, Any]) -> Sequence[str | Path]:
        file = self.folder / f"{self.release}-values.yaml"
        file.write_text(yaml.safe_dump(with_image(values)))
        return ("--values", file)


def port_beside(port: int) -> int:
    """A free port other than the given one, which is still free."""
    while (found := free_port()) == port:
        pass
    return found
