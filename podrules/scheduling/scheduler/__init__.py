"""kube-scheduler's rules: one module per plugin, under upstream's names."""
