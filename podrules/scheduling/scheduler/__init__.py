"""kube-scheduler's rules: a module or folder for each plugin, save small ones that are together."""
