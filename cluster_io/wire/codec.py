"""Decodes the protobuf bytes of API objects into models.

The messages that this module declares are narrow: they have only the fields of a model, and skip all others. Objects of
a large cluster repeat each other, for pods are made from templates. So a part that many objects share is declared as
plain bytes, and equal bytes are decoded once and share a model. A field of the object's own among the shared ones, such
as a name, is taken out first (`_OWN_FIELDS`).

Where JSON omits a field, upstream's protobuf writes its zero value, unless the field is a pointer in Go: then protobuf
omits it too. Both give the model's default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar, get_args

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, Edition, FieldDescriptorProto
from google.protobuf.message import DecodeError as NotProtobuf
from google.protobuf.message import Message
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from cluster_io.kinds import Kind
from podrules.api.model.base import Condition, KubeObject, ObjectMeta
from podrules.api.model.decode import DecodeError
from podrules.api.model.node import NodeStatus
from podrules.api.model.pod import Container, ContainerState, ContainerStateRunning, ContainerStatus, PodSpec, PodStatus
from podrules.api.model.quantity import Quantity
from podrules.api.model.storage import Volume
from podrules.api.schema.table import WireField, struct_of, wire_fields

T = TypeVar("T", bound=KubeObject)
Read = Callable[[Message], Any]
Decode = Callable[[bytes], Any]

_MAX_SHARED: Final = 1 << 14
"""How many shared parts of one type are cached: memory stays bounded when nothing repeats."""
_DAY: Final = 86_400
"""Seconds."""
_OWN_FIELDS: Final[Mapping[type[Struct], frozenset[str]]] = {
    ObjectMeta: frozenset({"name", "uid", "resource_version", "creation_timestamp"}),
    PodSpec: frozenset({"node_name", "volumes"}),
    Volume: frozenset({"name"}),
    # The empty set drops the volume mounts, which name the pod's token volume and which no rule reads.
    Container: frozenset(),
    PodStatus: frozenset(
        {
            "start_time",
            "conditions",
            "container_statuses",
            "init_container_statuses",
            "ephemeral_container_statuses",
        }
    ),
    ContainerStatus: frozenset({"state", "last_state"}),
    ContainerState: frozenset({"running", "terminated", "waiting"}),
    ContainerStateRunning: frozenset({"started_at"}),
    Condition: frozenset({"last_transition_time", "last_heartbeat_time"}),
    NodeStatus: frozenset({"conditions", "images", "volumes_in_use", "volumes_attached", "node_info"}),
}
"""Models that mostly repeat, and their fields that differ; these models are declared as messages."""
_SCALARS: Final[Mapping[str, tuple[FieldDescriptorProto.Type.ValueType, Any]]] = {
    "string": (FieldDescriptorProto.TYPE_STRING, ""),
    "bool": (FieldDescriptorProto.TYPE_BOOL, False),
    "int32": (FieldDescriptorProto.TYPE_INT32, 0),
    "int64": (FieldDescriptorProto.TYPE_INT64, 0),
}
"""Go's scalar types: the protobuf type and the zero value."""


def is_known(kind: Kind[Any]) -> bool:
    """Whether lists of a kind can be decoded; a model with a field of arbitrary JSON cannot."""
    return bool(wire_fields(_message_of(kind))) and all(field.type != dict[str, Any] for field in fields(kind.model))


def _message_of(kind: Kind[Any]) -> str:
    return struct_of(kind.group, kind.version, kind.kind)


class Codec(Generic[T]):
    """Decodes objects of one kind, and caches what they share."""

    def __init__(self, kind: Kind[T]) -> None:
        """Declare the kind's messages."""
        self._messages = _Messages()
        self._narrow = self._messages.narrow(kind.model, _message_of(kind))
        self._read: Callable[[Message], T] = _all_own(kind.model, self._narrow)

    def decode(self, raw: bytes) -> T:
        """Decode one object.

        Raises:
            DecodeError: the bytes are not such an object.
        """
        try:
            return self._read(self.narrowed(raw))
        except (NotProtobuf, ValueError, OverflowError) as error:
            raise DecodeError(f"not valid protobuf: {error}") from error

    def narrowed(self, raw: bytes) -> Message:
        """One object as a message, without the fields that its model lacks.

        Raises:
            NotProtobuf: the bytes are not such an object.
        """
        message = self._narrow.message.FromString(raw)
        message.DiscardUnknownFields()
        return message

    def decoder(self, model: type[Struct] | None, message: str) -> Decode:
        """A function that decodes a part of an object.

        Args:
            model: The part's model; None: a single value, such as a time.
            message: Upstream's message, by package and name.
        """
        return self._messages.decoder(model, message)


class _Narrow(NamedTuple):
    """A declared message with only the fields that a model, or a part of it, has."""

    name: str
    """Its name in the pool."""
    message: type[Message]
    fields: tuple[tuple[str, Read], ...]
    """The model's fields, each with the function that reads it."""
    inlined: tuple[Callable[[Message], dict[str, Any]], ...]
    """Functions that read further fields from messages that JSON inlines."""

    def values(self, raw: bytes) -> dict[str, Any]:
        """All fields by name."""
        message = self.message.FromString(raw)
        found = {name: read(message) for name, read in self.fields}
        for read in self.inlined:
            found |= read(message)
        return found


class _Field(NamedTuple):
    """How a field is read from a message."""

    attribute: str
    default: Any
    model: Any
    """The model of its messages, if it holds messages."""
    pointer: bool


class _Messages:
    """Declares narrow messages, each once."""

    def __init__(self) -> None:
        self._pool = descriptor_pool.DescriptorPool()
        self._count = 0
        self._parsed: dict[tuple[type[Struct], str], tuple[str, Read]] = {}
        self._shared: dict[tuple[Any, str], Decode] = {}

    def narrow(self, model: type[Struct], message: str, names: frozenset[str] | None = None) -> _Narrow:
        """Declare a message with the fields of a model.

        Args:
            model: The model that it is decoded into.
            message: Upstream's message, by package and name.
            names: The model's fields to declare; None: all.
        """
        known = wire_fields(message)
        wanted = [entry for entry in fields(model) if names is None or entry.name in names]
        proto, inlined = DescriptorProto(), []
        dependencies: list[str] = []
        readers = [
            (entry.name, self._declared(proto, dependencies, entry, place))
            for entry in wanted
            if (place := known.get(entry.encode_name))
        ]
        for attribute, place in known.items():
            if place.type.startswith("<"):
                inner = place.type[1:]
                inside = frozenset(entry.name for entry in wanted if entry.encode_name in wire_fields(inner))
                if inside:
                    _declare(proto, attribute, place.number, FieldDescriptorProto.TYPE_BYTES)
                    inlined.append(_inlined(attribute, self.narrow(model, inner, inside)))
        name, cls = self._add(proto, dependencies)
        return _Narrow(name, cls, tuple(readers), tuple(inlined))

    def _declared(self, proto: DescriptorProto, needed: list[str], entry: FieldInfo, place: WireField) -> Read:
        """Declare one field; returns the function that reads it."""
        number, kind = place
        pointer = kind.startswith("*")
        kind = kind.removeprefix("*")
        default = entry.default_factory() if entry.default_factory is not NODEFAULT else entry.default
        field = _Field(entry.encode_name, default, entry.type, pointer)
        repeated = kind.startswith(("[]", "map[string]"))
        inner = kind.removeprefix("[]").removeprefix("map[string]")
        if kind.startswith("map["):
            _declare(proto, field.attribute, number, FieldDescriptorProto.TYPE_BYTES, repeated=True)
            decode, attribute = self._entry(field, inner), field.attribute
            return lambda message: dict(map(decode, getattr(message, attribute))) or default
        if inner in _SCALARS:
            scalar, zero = _SCALARS[inner]
            _declare(proto, field.attribute, number, scalar, repeated=repeated)
            return _repeated_reader(field, None) if repeated else _scalar_reader(field, zero)
        model = model_in(entry.type)
        if model in _OWN_FIELDS:
            if (model, inner) not in self._parsed:
                narrow = self.narrow(model, inner)
                self._parsed[model, inner] = narrow.name, _reader(model, narrow)
            name, read = self._parsed[model, inner]
            needed.append(name)
            _declare(proto, field.attribute, number, FieldDescriptorProto.TYPE_MESSAGE, name, repeated=repeated)
            return _repeated_reader(field, read) if repeated else _one_reader(field, read)
        _declare(proto, field.attribute, number, FieldDescriptorProto.TYPE_BYTES, repeated=repeated)
        decode = self._decoder(model, inner)
        return _repeated_reader(field, decode) if repeated else _one_reader(field, decode)

    def decoder(self, model: type[Struct] | None, message: str) -> Decode:
        """A function that decodes the bytes of any message on its own."""
        if model is None or model not in _OWN_FIELDS:
            return self._decoder(model, message)
        narrow = self.narrow(model, message)
        cls, read = narrow.message, _reader(model, narrow)

        def decode(raw: bytes) -> Any:
            found = cls.FromString(raw)
            found.DiscardUnknownFields()
            return read(found)

        return decode

    def _decoder(self, model: Any, message: str) -> Decode:
        """A function that decodes the bytes of a message, and caches the result."""
        key = model, message
        if key not in self._shared:
            if message in _LEAVES:
                decode = self._leaf(*_LEAVES[message])
            else:
                values = self.narrow(model, message).values
                decode = lambda raw: model(**values(raw))  # noqa: E731 - one of two
            self._shared[key] = lru_cache(_MAX_SHARED)(decode)
        return self._shared[key]

    def _leaf(self, parts: Mapping[str, tuple[int, str]], value: Read) -> Decode:
        """A function that decodes a single value, such as a time; an unset time has no bytes."""
        proto = DescriptorProto()
        for name, (number, kind) in parts.items():
            _declare(proto, name, number, _SCALARS[kind][0])
        _, cls = self._add(proto, [])
        return lambda raw: value(cls.FromString(raw)) if raw else None

    def _entry(self, field: _Field, value: str) -> Decode:
        """A function that decodes the bytes of a map's entry into key and value."""
        key = "entry", f"{value} {field.model}"
        if key not in self._shared:
            proto = DescriptorProto()
            _declare(proto, "key", 1, FieldDescriptorProto.TYPE_STRING)
            _declare(proto, "value", 2, _SCALARS[value][0] if value in _SCALARS else FieldDescriptorProto.TYPE_BYTES)
            _, cls = self._add(proto, [])
            read = attrgetter("key", "value")
            if value in _SCALARS:
                found: Decode = lambda raw: read(cls.FromString(raw))  # noqa: E731 - one of two
            else:
                decode = self._decoder(model_in(field.model), value)

                def found(raw: bytes) -> Any:
                    name, content = read(cls.FromString(raw))
                    return name, decode(content)

            self._shared[key] = lru_cache(_MAX_SHARED)(found)
        return self._shared[key]

    def _add(self, proto: DescriptorProto, needed: list[str]) -> tuple[str, type[Message]]:
        self._count += 1
        proto.name = f"Message{self._count}"
        # Editions have field presence and require UTF-8; each older syntax has only one of the two.
        file = descriptor_pb2.FileDescriptorProto(
            name=proto.name, syntax="editions", edition=Edition.EDITION_2023, dependency=dict.fromkeys(needed)
        )
        file.message_type.append(proto)
        self._pool.Add(file)
        return proto.name, message_factory.GetMessageClass(self._pool.FindMessageTypeByName(proto.name))


def _declare(
    proto: DescriptorProto,
    name: str,
    number: int,
    kind: FieldDescriptorProto.Type.ValueType,
    message: str | None = None,
    *,
    repeated: bool = False,
) -> None:
    label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
    proto.field.add(name=name, number=number, type=kind, label=label, type_name=message)


def _reader(model: type[Struct], narrow: _Narrow) -> Read:
    """A function that makes the model of a message of `_OWN_FIELDS`."""
    own = _OWN_FIELDS[model]
    if not narrow.inlined and own >= {name for name, _ in narrow.fields}:
        return _all_own(model, narrow)
    return _by_values(model, narrow, own) if model is Condition else _by_bytes(model, narrow, own)


def _all_own(model: type[Struct], narrow: _Narrow) -> Read:
    """Read field by field. Fields go by position, as below: keyword arguments take longer than reading them."""
    places = {entry.name: place for place, entry in enumerate(fields(model))}
    defaults = list(_values(model(), model))
    readers = tuple((places[name], read) for name, read in narrow.fields)

    def read(message: Message) -> Any:
        made = defaults.copy()
        for place, read_one in readers:
            made[place] = read_one(message)
        return model(*made)

    return read


def _by_bytes(model: type[Struct], narrow: _Narrow, own: frozenset[str]) -> Read:
    """Read the own fields, and look up the rest of the message by its bytes."""
    if not own:
        alike = lru_cache(_MAX_SHARED)(lambda raw: model(**narrow.values(raw)))
        return lambda message: alike(message.SerializeToString())
    places = {entry.name: place for place, entry in enumerate(fields(model))}
    readers = tuple((places[name], read) for name, read in narrow.fields if name in own)
    attributes = tuple(entry.encode_name for entry in fields(model) if entry.name in own)
    shared = lru_cache(_MAX_SHARED)(lambda raw: list(_values(model(**narrow.values(raw)), model)))

    def read(message: Message) -> Any:
        values = [(place, read_own(message)) for place, read_own in readers]
        for attribute in attributes:
            message.ClearField(attribute)
        made = shared(message.SerializeToString()).copy()
        for place, value in values:
            made[place] = value
        return model(*made)

    return read


def _by_values(model: type[Struct], narrow: _Narrow, own: frozenset[str]) -> Read:
    """Read the own fields, and look up the rest by its values: quicker for a few texts, as in conditions."""
    places = {entry.name: place for place, entry in enumerate(fields(model))}
    readers = tuple((places[name], read) for name, read in narrow.fields if name in own)
    rest = tuple(name for name, _ in narrow.fields if name not in own)
    texts = attrgetter(*(entry.encode_name for name in rest for entry in fields(model) if entry.name == name))
    shared = lru_cache(_MAX_SHARED)(lambda *found: list(_values(model(**dict(zip(rest, found, strict=True))), model)))

    def read(message: Message) -> Any:
        made = shared(*texts(message)).copy()
        for place, read_own in readers:
            made[place] = read_own(message)
        return model(*made)

    return read


def _values(made: Struct, model: type[Struct]) -> Iterator[Any]:
    return (getattr(made, name) for name in model.__struct_fields__)


def _scalar_reader(field: _Field, zero: Any) -> Read:
    attribute, default = field.attribute, field.default
    if field.pointer:
        return lambda message: getattr(message, attribute) if message.HasField(attribute) else default
    if default == zero:
        return attrgetter(attribute)
    return lambda message: getattr(message, attribute) or default


def _one_reader(field: _Field, decode: Callable[[Any], Any]) -> Read:
    attribute, default = field.attribute, field.default
    if field.pointer:
        return lambda message: decode(getattr(message, attribute)) if message.HasField(attribute) else default
    return lambda message: decode(getattr(message, attribute))


def _repeated_reader(field: _Field, decode: Callable[[Any], Any] | None) -> Read:
    attribute, default = field.attribute, field.default
    if decode is None:
        return lambda message: tuple(getattr(message, attribute)) or default
    return lambda message: tuple(map(decode, getattr(message, attribute))) or default


def _inlined(attribute: str, narrow: _Narrow) -> Callable[[Message], dict[str, Any]]:
    return lambda message: narrow.values(getattr(message, attribute))


def model_in(annotation: Any) -> Any:
    """The model in ``X``, ``X | None``, ``tuple[X, ...]`` or ``dict[str, X]``; None: no model."""
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return annotation
    found = map(model_in, get_args(annotation))
    return next((model for model in found if model is not None), None)


def _time(message: Any) -> str:
    day, second = divmod(message.seconds, _DAY)
    return _date(day) + _clock(second)


@lru_cache(_MAX_SHARED)
def _date(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY, UTC).isoformat()[:11]


@lru_cache(_DAY)
def _clock(second: int) -> str:
    minute, second = divmod(second, 60)
    return f"{minute // 60:02}:{minute % 60:02}:{second:02}Z"


def _micro_time(message: Any) -> str:
    instant = datetime.fromtimestamp(message.seconds, UTC).replace(microsecond=message.nanos // 1000)
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_LEAVES: Final[Mapping[str, tuple[Mapping[str, tuple[int, str]], Callable[[Any], Any]]]] = {
    "meta.Time": ({"seconds": (1, "int64"), "nanos": (2, "int32")}, _time),
    "meta.MicroTime": ({"seconds": (1, "int64"), "nanos": (2, "int32")}, _micro_time),
    "resource.Quantity": ({"string": (1, "string")}, lambda message: Quantity.from_json(message.string)),
    "intstr.IntOrString": (
        {"type": (1, "int64"), "intVal": (2, "int32"), "strVal": (3, "string")},
        lambda message: message.strVal if message.type else message.intVal,
    ),
}
"""Upstream's messages that are a single value in JSON: their fields, and the function that gives the value."""
