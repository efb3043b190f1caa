//go:build minor34

package main

// What upstream's Go functions and types look like in 1.34.

import (
	"context"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission/initializer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	podsecuritypolicy "k8s.io/pod-security-admission/policy"
)

func (r *recorder) Create(c *cm.CgroupConfig) error { return r.put(c) }
func (r *recorder) Update(c *cm.CgroupConfig) error { return r.put(c) }

func newCgroupManager(driver string) cm.CgroupManager {
	return cm.NewCgroupManager(&cm.CgroupSubsystems{}, driver)
}

func startQOSCgroups(m cm.QOSContainerManager, active cm.ActivePodsFunc) error {
	return m.Start(func() v1.ResourceList { return nil }, active)
}

func updateQOSCgroups(m cm.QOSContainerManager) error { return m.UpdateCgroups() }

func nominatingMode(r *framework.PostFilterResult) string {
	return map[framework.NominatingMode]string{framework.ModeNoop: "Noop", framework.ModeOverride: "Override"}[r.Mode()]
}

type (
	plugin           = framework.Plugin
	sharedDRAManager = framework.SharedDRAManager
)

// resolvesClass holds for all: 1.34 has no cache of extended resources.
func resolvesClass(sharedDRAManager, v1.ResourceName) bool { return true }

//go:linkname synchronize k8s.io/kubernetes/pkg/kubelet/eviction.(*managerImpl).synchronize
func synchronize(m unsafe.Pointer, d eviction.DiskInfoProvider, pods eviction.ActivePodsFunc) ([]*v1.Pod, error)

func evictionPass(m unsafe.Pointer, _ context.Context, d eviction.DiskInfoProvider, pods eviction.ActivePodsFunc) ([]*v1.Pod, error) {
	return synchronize(m, d, pods)
}

func newPodSecurityEvaluator() (podsecuritypolicy.Evaluator, error) {
	return podsecuritypolicy.NewEvaluator(podsecuritypolicy.DefaultChecks())
}

func inspectVersion(plugin any) {
	plugin.(initializer.WantsFeatures).InspectFeatureGates(utilfeature.DefaultFeatureGate)
}
