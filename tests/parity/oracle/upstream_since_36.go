//go:build minor36 || minor37

package main

// What upstream's Go functions and types look like since 1.36.

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// knowsAllFields: every field that the generator sets is in the API.
const knowsAllFields = true

type eventRecorder = events.EventRecorderLogger

func schedulePod(ctx context.Context, s *scheduler.Scheduler, fw framework.Framework, state fwk.CycleState, pod *v1.Pod) (scheduler.ScheduleResult, error) {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		panic(err)
	}
	return s.SchedulePod(ctx, fw, state, &framework.QueuedPodInfo{PodInfo: info})
}

func podResourceConfig(pod *v1.Pod, enforceCPULimits bool, cpuPeriod uint64, memoryQoS bool) *cm.ResourceConfig {
	policy := kubeletconfig.NoneMemoryReservationPolicy
	if memoryQoS {
		policy = kubeletconfig.TieredReservationMemoryReservationPolicy
	}
	return cm.ResourceConfigForPod(pod, enforceCPULimits, cpuPeriod, memoryQoS, policy)
}

// looksAtDevices: pools of devices have an order.
const looksAtDevices = 8
