"""How the API server validates the ports that containers open, and the node's ports that they use.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateContainerPorts, ValidatePortNumOrName,
AccumulateUniqueHostPorts); pkg/apis/core/v1/defaults.go (defaultHostNetworkPorts).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from podrules.admission.validation.errors import duplicate, invalid, required, unsupported
from podrules.admission.validation.formats import port_name, port_number
from podrules.admission.validation.view import View
from podrules.api.model.field_error import FieldError

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_DEFAULT_PROTOCOL: Final = "TCP"


def validate_container_ports(container: View, *, on_host: bool) -> Iterator[FieldError]:
    """Hold each of a container's ports against the rules of its name, its numbers and its protocol.

    Args:
        container: The container.
        on_host: Whether a port is one of the node, too, if it does not say which.
    """
    if not container.has("ports"):
        return
    names: set[str] = set()
    for port in container.structs("ports"):
        yield from _name(port, names)
        number, host = port.number("containerPort") or 0, _host_port(port, on_host=on_host)
        if not number:
            yield required(port.at("containerPort"))
        for problem in port_number(number) if number else ():
            yield invalid(port.at("containerPort"), number, problem)
        for problem in port_number(host) if host else ():
            yield invalid(port.at("hostPort"), host, problem)
        protocol = port.text("protocol", _DEFAULT_PROTOCOL)
        if protocol not in _PROTOCOLS:
            yield unsupported(port.at("protocol"), protocol, _PROTOCOLS)


def _name(port: View, names: set[str]) -> Iterator[FieldError]:
    """Hold a port's name against its rules and the names before it; those get it where it is right."""
    name = port.text("name")
    if not name:
        return
    problems = port_name(name)
    for problem in problems:
        yield invalid(port.at("name"), name, problem)
    if name in names:
        yield duplicate(port.at("name"), name)
    elif not problems:
        names.add(name)


def _host_port(port: View, *, on_host: bool) -> int:
    return port.number("hostPort") or (port.number("containerPort") or 0 if on_host else 0)


def validate_host_ports(containers: Iterable[View], *, on_host: bool) -> Iterator[FieldError]:
    """Hold the node's ports that containers take against one another.

    Args:
        containers: Containers that run at the same time.
        on_host: Whether a port is one of the node, too, if it does not say which.
    """
    taken: set[str] = set()
    for container in containers:
        for port in container.structs("ports") if container.has("ports") else ():
            host = _host_port(port, on_host=on_host)
            shown = f"{port.text('protocol', _DEFAULT_PROTOCOL)}/{port.text('hostIP')}/{host}"
            if host and shown in taken:
                yield duplicate(port.at("hostPort"), shown)
            elif host:
                taken.add(shown)


def validate_port(path: str, port: int | str) -> Iterator[FieldError]:
    """Hold the number or the name of a port against its rules."""
    problems = port_name(port) if isinstance(port, str) else port_number(port)
    for problem in problems:
        yield invalid(path, port, problem)
