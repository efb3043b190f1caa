"""Codes and states that `kubectl qos` itself prints; `CODES` has those that entries of Kubernetes' terms explain."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

CODES: Final = {
    "ContainerCreating": "Initializing NotStarted NeverStarted PodsStarting WaitingForVolume",
    "ContainerStatusUnknown": "ContainerLost",
    "CrashLoopBackOff": "Restarted HeldUp ContainerWaiting PodsBroken Broken",
    "CreateContainerConfigError": "Configuration",
    "DaemonSet": "OnePerNode NodesOwn",
    "DisruptionTarget": "Disrupted",
    "Evicted": "EvictedMemory EvictedDisk EvictedInodes EvictedPids",
    "FailedScheduling": "PodsUnschedulable DoesNotFit PodsPending NotBound NotYetBound",
    "Job": "JobRunning JobComplete JobFailed JobEnded RunsToCompletion Suspended",
    "Killing": "DefinitionChanged",
    "Multi-Attach error": "VolumeHeld VolumeAwaited ClaimContended",
    "PodDisruptionBudget": "Overlaps BlocksAlways BlocksNow Stale Uncounted NotObserved SelectsNothing Allows "
    "BudgetAllows BudgetBlocksAlways BudgetBlocksNow BudgetSelectsNothing",
    "Rebooted": "NodeReboot",
    "ReplicaSet": "Replaced AvailabilityFirst",
    "Terminating": "TerminatingLate TerminatingStuck Kept Deleted",
    "Unknown": "PhaseUnknown",
    "WaitForFirstConsumer": "ClaimWaitsForPod ClaimUnbound",
    "drain stops": "NobodyReplaces NotReplaced",
    "exceeded its local ephemeral storage limit": "ContainerStorageLimit EmptyDirLimit PodStorageLimit",
    "exceeded quota": "QuotaFull QuotaHasRoom QuotaNotCounted QuotaRefuses",
    "force deletion": "NoGracePeriod ForceDeleted Safe NotSafe NotSafeYet StopsNothing NoPromiseBroken",
    "globalDefault": "ClassDefaults",
    "memory limit": "NearMemoryLimit NearLimit OwnMemoryLimit",
    "nominatedNodeName": "AwaitingPreemption",
    "out-of-service": "Fenced Back BackNotReady NodeBack",
    "priority": "ClassInUse ClassUnused",
    "silent node": "TooEarly",
    "tolerationSeconds": "NodeTaintEvicts Tainted",
}
"""The codes by the name of an entry."""

ENTRIES: Final = (
    Entry(
        name="verdict code",
        also=(
            *("AllReady", "AllNodesAnswer", "Answers", "Fits", "Planned", "Done", "NothingEnded", "NothingFound"),
            *("NothingChanges", "VersionsListed", "NotModelled", "PlacementNotModelled", "FitUnknown", "NodesUnread"),
            *("PodsUnread", "Unreadable", "NotConfirmed", "NotPossible", "Refused", "NothingAtStake", "DryRun"),
            *("UnderWay", "Interrupted", "EndCertain", "EndLikely", "EndSeveral", "EndUnknown", "Certain", "Likely"),
            *("ClaimBound", "ClaimNoNode", "ClaimResizing", "ClaimTerminating"),
            *("Several", "Possible", "Stuck", "PodsStuck", "Findings", "AnswersChange"),
        ),
        means="The verdict of kubectl qos on an object, for scripts (-o json): docs/formats.md explains each code.",
        rule=(
            "AllReady, AllNodesAnswer, Answers, Fits, Planned, Nothing…: no problem. …Unread, NotModelled: unknown.",
            "NotConfirmed, NotPossible, Refused: delete or fence changed nothing. UnderWay: changed, not complete.",
            "Certain, Likely, Several: the certainty of died. Stuck: a warning has repeated for 5 min or more.",
        ),
        commands=("kubectl qos explain pod/NAME -o json",),
        source=(),
    ),
)
