//go:build minor35 || minor36 || minor37

package main

// What upstream's Go functions and types look like since 1.35.

import (
	"context"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	podsecuritypolicy "k8s.io/pod-security-admission/policy"
)

func (r *recorder) Create(_ klog.Logger, c *cm.CgroupConfig) error { return r.put(c) }
func (r *recorder) Update(_ klog.Logger, c *cm.CgroupConfig) error { return r.put(c) }

func newCgroupManager(driver string) cm.CgroupManager {
	return cm.NewCgroupManager(klog.Background(), &cm.CgroupSubsystems{}, driver)
}

func startQOSCgroups(m cm.QOSContainerManager, active cm.ActivePodsFunc) error {
	return m.Start(context.Background(), func() v1.ResourceList { return nil }, active)
}

func updateQOSCgroups(m cm.QOSContainerManager) error { return m.UpdateCgroups(klog.Background()) }

func nominatingMode(r *fwk.PostFilterResult) string {
	return map[fwk.NominatingMode]string{fwk.ModeNoop: "Noop", fwk.ModeOverride: "Override"}[r.Mode()]
}

type (
	plugin           = fwk.Plugin
	sharedDRAManager = fwk.SharedDRAManager
)

// resolvesClass reports whether the cache of extended resources has the class of a resource.
func resolvesClass(m sharedDRAManager, name v1.ResourceName) bool {
	return !utilfeature.DefaultFeatureGate.Enabled(features.DRAExtendedResource) || m.DeviceClassResolver().GetDeviceClass(name) != nil
}

//go:linkname evictionPass k8s.io/kubernetes/pkg/kubelet/eviction.(*managerImpl).synchronize
func evictionPass(m unsafe.Pointer, ctx context.Context, d eviction.DiskInfoProvider, pods eviction.ActivePodsFunc) ([]*v1.Pod, error)

func newPodSecurityEvaluator() (podsecuritypolicy.Evaluator, error) {
	return podsecuritypolicy.NewEvaluator(podsecuritypolicy.DefaultChecks(), nil)
}

func inspectVersion(plugin any) {
	plugin.(initializer.WantsEffectiveVersion).InspectEffectiveVersion(compatibility.DefaultBuildEffectiveVersion())
}
