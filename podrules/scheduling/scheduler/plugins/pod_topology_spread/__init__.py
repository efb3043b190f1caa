"""PodTopologySpread: how pods are spread over zones and nodes."""
