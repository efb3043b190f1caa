r"""Decodes pods from protobuf: pods are most of a large cluster's objects, and most pods are similar.

Fields that the models lack are dropped first: managed fields, addresses, containers' ids. Metadata, spec and status are
then decoded by their shape (`message_patterns`). These values still differ between pods of one shape:

    metadata    name, uid, resourceVersion, creationTimestamp
    spec        nodeName, and the name of the volume with the token
    status      times

Source: k8s.io/api/core/v1/generated.proto (Pod, PodSpec, PodStatus) and
k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto (ObjectMeta) at v0.36.3;
plugin/pkg/admission/serviceaccount/admission.go (the volume's name) at v1.36.3.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

from google.protobuf.message import DecodeError as NotProtobuf

from cluster_io.kinds import PODS, Kind
from cluster_io.wire.codec import Codec
from cluster_io.wire.message_patterns import TIME, Alike, text_place
from podrules.api.model.base import KubeObject, ObjectMeta
from podrules.api.model.pod import Pod, PodSpec, PodStatus

T = TypeVar("T", bound=KubeObject)

_NAME: Final = text_place(rb"[a-z0-9.-]", range(1, 128))
_IN_METADATA: Final = rb"(?<=[\x0a\x2a\x32\x42])(?:" + TIME + rb"|" + _NAME + rb")"
"""name = 1, uid = 5, resourceVersion = 6, creationTimestamp = 8."""
_MAX_IN_METADATA: Final = 4
_IN_SPEC: Final = rb"\x15kube-api-access-[a-z0-9]{5}|(?<=\x52)(?:" + _NAME + rb")"
"""The name of the token volume; nodeName = 10."""


class PodCodec(Codec[Pod]):
    """Decodes pods, and remembers their shapes."""

    def __init__(self) -> None:
        """Begin without any shape."""
        super().__init__(PODS)
        time = self.decoder(None, "meta/v1.Time")
        metadata = self.decoder(ObjectMeta, "meta/v1.ObjectMeta")
        self._metadata = Alike[ObjectMeta](metadata, time, _IN_METADATA, _MAX_IN_METADATA)
        self._spec = Alike[PodSpec](self.decoder(PodSpec, "core/v1.PodSpec"), time, _IN_SPEC)
        self._status = Alike[PodStatus](self.decoder(PodStatus, "core/v1.PodStatus"), time, TIME)

    def decode(self, raw: bytes) -> Pod:
        """See `Codec.decode`; it also decodes what fails here, to raise its error."""
        if not (self._metadata.pays or self._spec.pays or self._status.pays):
            return super().decode(raw)
        try:
            pod: Any = self.narrowed(raw)
            return Pod(
                self._metadata.decode(pod.metadata.SerializeToString()),
                self._spec.decode(pod.spec.SerializeToString()),
                self._status.decode(pod.status.SerializeToString()),
            )
        except (NotProtobuf, ValueError, OverflowError):
            return super().decode(raw)


def codec_of(kind: Kind[T]) -> Codec[T]:
    """The fastest codec for a kind."""
    return cast("Codec[T]", PodCodec()) if cast("Any", kind) is PODS else Codec(kind)
