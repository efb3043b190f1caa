"""Generated amounts, containers and pods, as manifests write them."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Container, Pod, PodSpec
from podrules.api.model.quantity import Quantity
from tests.objects import make_pod, raw_container

DECIMAL_SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
BINARY_SUFFIXES = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
DECIMAL_EXPONENTS = tuple(f"{letter}{exponent}" for letter in "eE" for exponent in range(-9, 19))


@st.composite
def quantity_texts(draw: st.DrawFn) -> str:
    """Texts of quantities in every notation, some beyond an int64 and some finer than nano."""
    sign = draw(st.sampled_from(["", "+", "-"]))
    whole = draw(st.integers(0, 10**12).map(str))
    fraction = draw(st.one_of(st.just(""), st.integers(0, 10**10).map(lambda digits: f".{digits}"), st.just(".")))
    suffix = draw(st.sampled_from(DECIMAL_SUFFIXES + BINARY_SUFFIXES + DECIMAL_EXPONENTS))
    return f"{sign}{whole}{fraction}{suffix}"


def exact(quantity: Quantity) -> Fraction:
    """The amount without any rounding."""
    return quantity.unscaled * Fraction(10) ** quantity.exponent


def _milli_cpu(number: int) -> str:
    return f"{number}m"


def _mebibytes(number: int) -> str:
    return f"{number}Mi"


MAX_MILLI_CPU, MAX_MEBIBYTES = 64_000, 64 * 1024
cpu_amounts = st.integers(1, MAX_MILLI_CPU).map(_milli_cpu)
"""From a thousandth to 64 cpus."""
memory_amounts = st.integers(1, MAX_MEBIBYTES).map(_mebibytes)
"""From 1Mi to 64Gi."""


def resource_lists() -> st.SearchStrategy[dict[str, str]]:
    """Requests or limits of cpu, memory, both or none."""
    return st.fixed_dictionaries({}, optional={"cpu": cpu_amounts, "memory": memory_amounts})


Asked = tuple[str, int, int]
"""A container's setting of one resource: none, a request, a limit, both equal or both; and two amounts."""


def _asked(most: int) -> st.SearchStrategy[Asked]:
    kinds = st.sampled_from(["nothing", "request", "limit", "equal", "both"])
    return st.tuples(kinds, st.integers(1, most), st.integers(1, most))


def _container(name: str, sidecar: bool, cpu: Asked, memory: Asked) -> Container:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for resource, written, (kind, *two) in (("cpu", _milli_cpu, cpu), ("memory", _mebibytes, memory)):
        low, high = sorted(two)
        if kind in {"request", "both"}:
            requests[resource] = written(low)
        if kind in {"limit", "equal", "both"}:
            limits[resource] = written(high)
        if kind == "equal":
            requests[resource] = written(high)
    restarts = "Always" if sidecar else None
    return from_object(raw_container(name, restartPolicy=restarts, requests=requests, limits=limits), Container)


def containers(name: str = "app", *, init: bool = False) -> st.SearchStrategy[Container]:
    """A container with requests up to its limits, as the API server requires; ``init``: maybe a sidecar."""
    sidecar = st.booleans() if init else st.just(False)
    return st.builds(_container, st.just(name), sidecar, _asked(MAX_MILLI_CPU), _asked(MAX_MEBIBYTES))


def pods() -> st.SearchStrategy[Pod]:
    """A pod of one or two app containers and up to two init containers and sidecars."""
    first, second = containers("app-0"), containers("app-1")
    setup, mesh = containers("init-0", init=True), containers("init-1", init=True)
    app = st.tuples(first) | st.tuples(first, second)
    init = st.just(()) | st.tuples(setup) | st.tuples(setup, mesh)
    return st.builds(_pod, app, init)


def _pod(app: tuple[Container, ...], init: tuple[Container, ...]) -> Pod:
    return replace(make_pod(), spec=PodSpec(containers=app, init_containers=init))
