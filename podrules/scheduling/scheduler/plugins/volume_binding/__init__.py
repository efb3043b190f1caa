"""VolumeBinding: claims that are bound, can be bound, or can be provisioned. See `plugin`."""

from podrules.scheduling.scheduler.plugins.volume_binding.plugin import (
    UnsuitedClaim,
    VolumeBinding,
)

__all__ = ["UnsuitedClaim", "VolumeBinding"]
