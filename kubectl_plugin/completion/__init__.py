"""Completion in bash, zsh, fish and PowerShell, through kubectl's own: ``kubectl_complete-qos``.

Kubectl (since 1.26) calls this program with the words behind ``kubectl qos``; the last one is being typed. It prints a
candidate a line, a tab before what explains it, and at last the directive, as cobra knows it.

    words   what is asked for here: a command, a flag, a value, a name
    names   of objects: of the cluster in question, of the demo, of a snapshot
    answer  both together

Source: pkg/cmd/plugin/plugin_completion.go of k8s.io/kubectl at v0.36.3.
"""
