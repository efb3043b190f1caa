"""A real Kubernetes control plane on loopback: etcd, kube-apiserver, kube-scheduler, kube-controller-manager.

There are no kubelets: a test writes nodes and pod statuses through the API, as a kubelet would.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.controlplane.binaries import Binaries
from tests.controlplane.certificates import Authority, Credential, new_signing_key
from tests.controlplane.client import ApiClient, ApiError, Object
from tests.controlplane.kubeconfigs import KubeconfigWriter
from tests.controlplane.processes import Process, probe, run_client, start_on_free_port, stop_all
from tests.objects import raw_condition, raw_node, raw_pod, raw_service_account
from tests.waiting import wait_for

_READY_SECONDS = 120.0
_STOP_SECONDS = 5.0
_NOT_READY_TAINT = "node.kubernetes.io/not-ready"
_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
"""The objects that the API server makes by itself, some time after it is ready."""
_MAKERS = (
    ("v1", "ReplicationController"),
    *(("apps/v1", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
    *(("batch/v1", kind) for kind in ("CronJob", "Job")),
)
"""Kinds with controllers that make pods."""
# etcd wants a host and a port also in a socket's address; the file has this name, in the folder that etcd runs in.
_ETCD_SOCKET = "etcd:0"
_PEER_SOCKET = "peer:0"


class ControlPlane:
    """Starts on ``with`` and leaves no process and no file when the block ends, however it ends.

    Authorization is RBAC, with the Node authorizer beside it as kubeadm has it; anonymous requests are refused.
    The controller manager uses a service account for each controller, also as kubeadm has it.
    """

    def __init__(
        self,
        binaries: Binaries,
        *,
        scheduler: bool = True,
        controllers: bool = True,
        apiserver_args: Sequence[str] = (),
        etcd_args: Sequence[str] = (),
        scheduler_args: Sequence[str] = (),
        scheduler_config: Mapping[str, Any] | None = None,
        controller_manager_args: Sequence[str] = (),
        ready_seconds: float = _READY_SECONDS,
    ) -> None:
        """Describes the control plane; nothing runs yet.

        Args:
            binaries: Programs from ``find_binaries``.
            scheduler: Whether pods are scheduled; if not, ``bind`` does it.
            controllers: Whether workloads make pods, garbage is collected, and so on.
            apiserver_args: More arguments, which win over the ones given here.
            etcd_args: As ``apiserver_args``.
            scheduler_args: As ``apiserver_args``.
            scheduler_config: Fields of KubeSchedulerConfiguration, such as ``percentageOfNodesToScore`` or
                ``profiles``.
            controller_manager_args: As ``apiserver_args``.
            ready_seconds: Within which each program has to be ready.
        """
        self._binaries = binaries
        self._with_scheduler = scheduler
        self._with_controllers = controllers
        self._apiserver_args = tuple(apiserver_args)
        self._etcd_args = tuple(etcd_args)
        self._scheduler_args = tuple(scheduler_args)
        self._scheduler_config = dict(scheduler_config or {})
        self._controller_manager_args = tuple(controller_manager_args)
        self._ready_seconds = ready_seconds
        self._processes: list[Process] = []
        self._namespaces: set[str] = set()
        self._authority = Authority()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    # Life

    def start(self) -> None:
        """Starts everything and returns when it is ready.

        Call it from the main thread: on Linux the processes are killed when the thread that started them ends.

        Raises:
            ProcessError: A program ended or did not become ready.
        """
        self.folder = Path(tempfile.mkdtemp(prefix="control-plane-"))
        try:
            self._write_credentials()
            self._start_etcd()
            self._start_apiserver()
            if self._with_controllers:
                self._start_controller_manager()
            if self._with_scheduler:
                self._start_scheduler()
            for name in _NAMESPACES:
                wait_for(partial(self._has_namespace, name), f"namespace {name}")
            self._allow_pods_in("default")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops everything and removes its folder; a second call does nothing."""
        # Clients before servers: the API server waits for open watches, and etcd for the API server.
        while self._processes:
            stop_all([self._processes.pop()], timeout=_STOP_SECONDS)
        if hasattr(self, "api"):
            self.api.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def restart_apiserver(self) -> None:
        """Restarts the API server on its port; watches have to start again."""
        with self.apiserver_stopped():
            pass

    @contextlib.contextmanager
    def apiserver_stopped(self) -> Iterator[None]:
        """Stops the API server for the block, then starts it again on its port."""
        index = next(index for index, process in enumerate(self._processes) if process.name == "kube-apiserver")
        stop_all([self._processes[index]], timeout=_STOP_SECONDS)
        # Its connection has ended with the API server.
        self.api.close()
        yield
        port = int(self.server.rpartition(":")[2])
        arguments: Sequence[str | Path] = (self._binaries["kube-apiserver"], *self._apiserver_arguments(port))
        process = Process(arguments, log=self.folder / "kube-apiserver.log")
        self._processes[index] = process
        ready = self._probe("/readyz")
        process.wait_until(lambda: ready(port), timeout=self._ready_seconds)

    @contextlib.contextmanager
    def paused(self, program: str) -> Iterator[None]:
        """Pauses a program for the block, with its connections open."""
        pid = self.pids[program]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @property
    def scheduler_log(self) -> Path:
        """What kube-scheduler has written so far."""
        return self.folder / "kube-scheduler.log"

    @property
    def pids(self) -> Mapping[str, int]:
        """The process id of each running program."""
        return {process.name: process.pid for process in self._processes if process.running}

    def log(self, program: str) -> str:
        """What a program has logged so far."""
        return (self.folder / f"{program}.log").read_text(errors="replace")

    # Users

    def kubeconfig_for_client_certificate(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig with a client certificate."""
        return self._kubeconfigs.for_certificate(self._authority.client(user, groups))

    def client_for(self, user: str, groups: Sequence[str] = ()) -> ApiClient:
        """Requests as a user with a client certificate; the caller closes the client."""
        self._write(user, self._authority.client(user, groups))
        return self._client(int(self.server.rpartition(":")[2]), user)

    def kubeconfig_for_service_account(self, name: str, namespace: str = "default") -> Path:
        """A kubeconfig with a token of a service account, which is created if need be."""
        return self._kubeconfigs.for_token(self.service_account_token(name, namespace))

    def kubeconfig_for_token(self, token: str) -> Path:
        """A kubeconfig with this bearer token, which may be invalid."""
        return self._kubeconfigs.for_token(token)

    def kubeconfig_for_exec_plugin(self, token: str) -> Path:
        """A kubeconfig with a credential plugin that prints this token."""
        return self._kubeconfigs.for_exec_plugin(token)

    def service_account_token(self, name: str, namespace: str = "default") -> str:
        """A token for a service account, from the TokenRequest API; the account is created if need be."""
        self.api.apply([raw_service_account(namespace, name)])
        path = self.api.path("v1", "ServiceAccount", namespace, name, "token")
        token: str = self.api.request("POST", path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        return token

    # Objects

    def apply(self, objects: Sequence[Mapping[str, Any]]) -> list[Object]:
        """Creates or updates objects in their order, one request each, and returns them as stored.

        What comes after a PriorityClass may name it: admission reads classes from a watch, a little later.
        """
        stored = []
        for obj in objects:
            stored += self.api.apply([obj])
            if obj["kind"] == "PriorityClass":
                self._await_class(stored[-1])
        return stored

    @contextlib.contextmanager
    def holding(self, objects: Sequence[Mapping[str, Any]]) -> Iterator[None]:
        """Objects, as `apply` makes them, for the duration of the block."""
        self.apply(objects)
        yield
        for obj in objects:
            self.api.delete(obj)

    def create_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        """Creates a namespace in which pods can be created at once."""
        metadata = {"name": name, "labels": dict(labels or {})}
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        self._namespaces.add(name)
        self._allow_pods_in(name)

    def leave_namespaces(self) -> None:
        """Ends the pods of all namespaces that were created and not left so far."""
        for name in sorted(self._namespaces):
            self.leave_namespace(name)

    def leave_namespace(self, name: str) -> None:
        """Ends all pods of a namespace that no test needs any more.

        The namespace is deleted only where it must be, for then the controller manager asks for each kind there is,
        some 70 requests.
        """
        if any(self.api.list_items(*kind, name) for kind in _MAKERS):
            # Nothing new is made in a namespace that is being deleted.
            self.api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        # No kubelet confirms that they stopped.
        self.api.request("DELETE", self.api.path("v1", "Pod", name), query={"gracePeriodSeconds": "0"})
        self._namespaces.discard(name)

    def create_node(
        self,
        name: str,
        capacity: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        *,
        allocatable: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
        unschedulable: bool = False,
        ready: bool = True,
        status: Mapping[str, Any] | None = None,
    ) -> Object:
        """Creates a node and reports its status as its kubelet would.

        Args:
            name: The node's name, also its hostname label.
            capacity: Resources; 4 CPUs, 8 GiB and 110 pods when not given. An amount given replaces its default.
            labels: More labels.
            allocatable: Resources that differ from the capacity.
            taints: Taints that stay. A node that is not ready is tainted by the cluster as well.
            unschedulable: Whether it is cordoned.
            ready: The state of its Ready condition.
            status: More status fields.
        """
        own = {"kubernetes.io/hostname": name, **(labels or {})}
        node = raw_node(name, own, taints=taints, unschedulable=unschedulable)
        stored = self.api.create(node)
        has = {"cpu": "4", "memory": "8Gi", "pods": "110", **(capacity or {})}
        reported = {"capacity": has, "allocatable": {**has, **(allocatable or {})}, "conditions": [_ready(ready)]}
        stored = self.api.patch(node, {"status": {**reported, **(status or {})}}, subresource="status")
        return self._remove_not_ready_taint(stored) if ready else stored

    def bind(self, pod: Mapping[str, Any], node: str) -> None:
        """Assigns a pod to a node, as a scheduler does."""
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self.api.request("POST", self.api.path("v1", "Pod", namespace, name, "binding"), binding)

    def set_pod_status(self, pod: Mapping[str, Any], status: Mapping[str, Any]) -> Object:
        """Merges fields into a pod's status, as its kubelet does."""
        return self.api.patch(pod, {"status": dict(status)}, subresource="status")

    def kubectl(
        self,
        *arguments: str | Path,
        input: str | None = None,  # noqa: A002  # subprocess.run's own word
        kubeconfig: Path | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Runs the real kubectl.

        Args:
            arguments: What follows ``kubectl``.
            input: Text for its standard input.
            kubeconfig: Who runs it; the cluster's administrator when not given.
            check: Whether an exit code other than 0 raises, with kubectl's messages in the error.
            env: Environment variables set on top of the test's own.
            timeout: Seconds it may run.
        """
        done = run_client(
            [self._binaries["kubectl"], *arguments],
            env={**self.kubectl_environment(kubeconfig), **(env or {})},
            input=input,
            timeout=timeout,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr}")
        return done

    def kubectl_environment(self, kubeconfig: Path | None = None) -> dict[str, str]:
        """The environment for kubectl, or for a plugin run alone: this cluster, nothing of the person's own."""
        own = {
            "KUBECONFIG": str(kubeconfig or self.admin_kubeconfig),
            "KUBECACHEDIR": str(self.folder / "kubectl-cache"),
            "KUBERC": "off",
            # Plugins look for kubectl here.
            "PATH": f"{self._binaries['kubectl'].parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        return {**os.environ, **own}

    # Parts

    def _write_credentials(self) -> None:
        self._write("ca", Credential(certificate=self._authority.certificate, key=b""))
        self._write("server", self._authority.server(("localhost", "kubernetes", "kubernetes.default.svc")))
        self._write("service-accounts", new_signing_key())
        self._admin = self._authority.client("kubernetes-admin", ("system:masters",))
        self._write("admin", self._admin)

    def _write(self, name: str, credential: Credential) -> None:
        # The folder is its owner's alone, so the files need no modes of their own.
        (self.folder / f"{name}.crt").write_bytes(credential.certificate)
        if credential.key:
            (self.folder / f"{name}.key").write_bytes(credential.key)

    def _start_etcd(self) -> None:
        arguments: Sequence[str | Path] = (
            self._binaries["etcd"],
            "--name=test",
            f"--data-dir={self.folder / 'etcd'}",
            # Sockets in a private folder: no ports that could be taken, and no other user can connect.
            f"--listen-client-urls=unix://{_ETCD_SOCKET}",
            f"--advertise-client-urls=unix://{_ETCD_SOCKET}",
            f"--listen-peer-urls=unix://{_PEER_SOCKET}",
            f"--initial-advertise-peer-urls=unix://{_PEER_SOCKET}",
            f"--initial-cluster=test=unix://{_PEER_SOCKET}",
            "--unsafe-no-fsync",
            # The siege writes more than the 2 GiB of the default; etcd then refuses all writes.
            f"--quota-backend-bytes={8 << 30}",
            "--log-level=warn",
            *self._etcd_args,
        )
        process = Process(arguments, log=self.folder / "etcd.log")
        self._processes.append(process)
        process.wait_until((self.folder / _ETCD_SOCKET).is_socket, timeout=self._ready_seconds)

    def _start_apiserver(self) -> None:
        port = self._start_server("kube-apiserver", self._apiserver_arguments, self._probe("/readyz"))
        self.api = self._client(port)
        self.server = f"https://127.0.0.1:{port}"
        self._kubeconfigs = KubeconfigWriter(self.folder, server=self.server, authority=self._authority.certificate)
        self.admin_kubeconfig = self._kubeconfigs.for_certificate(self._admin)

    def _apiserver_arguments(self, port: int) -> Sequence[str]:
        keys = self.folder / "service-accounts"
        return (
            # The API server runs in the same folder as etcd, to which the socket's address is relative.
            f"--etcd-servers=unix://{_ETCD_SOCKET}",
            *self._serving_arguments(port),
            f"--client-ca-file={self.folder / 'ca.crt'}",
            "--anonymous-auth=false",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={keys}.crt",
            f"--service-account-signing-key-file={keys}.key",
            "--service-cluster-ip-range=10.96.0.0/16",
            # The endpoints of the kubernetes Service may not be loopback addresses.
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            "--profiling=false",
            *self._apiserver_args,
        )

    def _start_controller_manager(self) -> None:
        kubeconfig = self.kubeconfig_for_client_certificate("system:kube-controller-manager")

        def arguments(port: int) -> Sequence[str]:
            return (
                *self._serving_arguments(port),
                *_identity_arguments(kubeconfig),
                f"--kubeconfig={kubeconfig}",
                "--leader-elect=false",
                "--use-service-account-credentials=true",
                f"--service-account-private-key-file={self.folder / 'service-accounts.key'}",
                f"--root-ca-file={self.folder / 'ca.crt'}",
                # No kubelet renews a node's lease here, and a test must not lose its nodes while it runs.
                "--node-monitor-grace-period=24h",
                # The default is a folder of the system, which would be created.
                f"--flex-volume-plugin-dir={self.folder / 'flexvolumes'}",
                *self._controller_manager_args,
            )

        self._start_server("kube-controller-manager", arguments, self._probe("/healthz"))

    def _start_scheduler(self) -> None:
        kubeconfig = self.kubeconfig_for_client_certificate("system:kube-scheduler")
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000},
            "leaderElection": {"leaderElect": False},
            **self._scheduler_config,
        }
        file = self.folder / "scheduler.yaml"
        file.write_text(yaml.safe_dump(config))

        def arguments(port: int) -> Sequence[str]:
            own = (*self._serving_arguments(port), *_identity_arguments(kubeconfig), f"--config={file}")
            return (*own, *self._scheduler_args)

        self._start_server("kube-scheduler", arguments, self._probe("/readyz"))

    def _serving_arguments(self, port: int) -> Sequence[str]:
        return (
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder}",
            f"--tls-cert-file={self.folder / 'server.crt'}",
            f"--tls-private-key-file={self.folder / 'server.key'}",
        )

    def _start_server(self, name: str, arguments: Callable[[int], Sequence[str]], ready: Callable[[int], bool]) -> int:
        process, port = start_on_free_port(
            lambda port: (self._binaries[name], *arguments(port)),
            ready,
            log=self.folder / f"{name}.log",
            timeout=self._ready_seconds,
        )
        self._processes.append(process)
        return port

    def _probe(self, path: str) -> Callable[[int], bool]:
        """The API server answers only authenticated clients, even for probes."""
        administrator = ssl.create_default_context(cafile=self.folder / "ca.crt")
        administrator.load_cert_chain(self.folder / "admin.crt", self.folder / "admin.key")
        return probe(path, administrator)

    def _client(self, port: int, name: str = "admin") -> ApiClient:
        folder = self.folder
        return ApiClient(
            port, authority=folder / "ca.crt", certificate=folder / f"{name}.crt", key=folder / f"{name}.key"
        )

    def _allow_pods_in(self, namespace: str) -> None:
        """Pods are refused until their namespace has its service account, which a controller makes a little later."""
        try:
            self.api.create(raw_service_account(namespace))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    def _has_namespace(self, name: str) -> bool:
        return bool(self.api.list_items("v1", "Namespace", fieldSelector=f"metadata.name={name}"))

    def _await_class(self, stored: Object) -> None:
        """Pods that name a class are refused until priority admission has seen it, and not one deleted before it."""
        name, value = stored["metadata"]["name"], stored["value"]
        pod = raw_pod("asks", priorityClassName=name)

        def known() -> bool:
            try:
                made = self.api.request("POST", self.api.path("v1", "Pod", "default"), pod, query={"dryRun": "All"})
            except ApiError as error:
                return f"no PriorityClass with name {name} was found" not in str(error)
            # Without that admission there is no priority to wait for.
            return bool(made["spec"].get("priority", value) == value)

        wait_for(known, f"admission knows PriorityClass {name}")

    def _remove_not_ready_taint(self, node: Object) -> Object:
        """Does what the node lifecycle controller does for a ready node, now, and also when it does not run."""
        kept = [taint for taint in node["spec"].get("taints", ()) if taint["key"] != _NOT_READY_TAINT]
        return self.api.patch(node, {"spec": {"taints": kept or None}})


def _identity_arguments(kubeconfig: Path) -> Sequence[str]:
    """The flags with which a component authenticates its callers by the API server."""
    return (f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}")


def _ready(ready: bool) -> Object:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return raw_condition(
        "Ready",
        "True" if ready else "False",
        reason="KubeletReady" if ready else "KubeletNotReady",
        message="written by the test",
        lastHeartbeatTime=now,
        lastTransitionTime=now,
    )
