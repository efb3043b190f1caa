"""VolumeBinding: claims that are bound, can be bound, or can be provisioned. See `plugin`."""

from podrules.scheduler.plugins.volume_binding.plugin import ClaimProblem, VolumeBinding, VolumeBindingValues

__all__ = ["ClaimProblem", "VolumeBinding", "VolumeBindingValues"]
