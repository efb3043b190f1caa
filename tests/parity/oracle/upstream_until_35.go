//go:build minor34 || minor35

package main

// What upstream's Go functions and types look like until 1.35.

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// knowsAllFields: the API lacks fields that the generator sets; an API server drops them.
const knowsAllFields = false

type eventRecorder = events.EventRecorder

func schedulePod(ctx context.Context, s *scheduler.Scheduler, fw framework.Framework, state fwk.CycleState, pod *v1.Pod) (scheduler.ScheduleResult, error) {
	return s.SchedulePod(ctx, fw, state, pod)
}

func podResourceConfig(pod *v1.Pod, enforceCPULimits bool, cpuPeriod uint64, memoryQoS bool) *cm.ResourceConfig {
	return cm.ResourceConfigForPod(pod, enforceCPULimits, cpuPeriod, memoryQoS)
}

func preemptNobody(dp *defaultpreemption.DefaultPreemption) {
	dp.Evaluator.PreemptPod = func(context.Context, preemption.Candidate, *v1.Pod, *v1.Pod, string) error {
		return nil
	}
}

// looksAtDevices: pools of devices come in map order, and a case of two orders must not
// pass for one of one.
const looksAtDevices = 32
