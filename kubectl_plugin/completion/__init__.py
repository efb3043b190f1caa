"""Completion in bash, zsh, fish and PowerShell, through kubectl's own: ``kubectl_complete-qos``.

Kubectl 1.26 and newer calls this program with the words after ``kubectl qos``; the last word is being typed. The
program prints one candidate per line, with a tab and a description, and ends with a directive of cobra.

    words   determines from the words what can follow: a command, a flag, a value, a name
    names   reads the names of objects
    answer  joins both

Source: pkg/cmd/plugin/plugin_completion.go of k8s.io/kubectl at v0.36.3.
"""
