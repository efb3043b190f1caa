package main

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaultConstraints are the two that this peer applies, as a cluster's configuration would name them.
func defaultConstraints(selector *metav1.LabelSelector) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{
		defaultConstraint(corev1.LabelTopologyZone, selector),
		defaultConstraint(corev1.LabelHostname, selector),
	}
}

func defaultConstraint(key string, selector *metav1.LabelSelector) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew:           1,
		TopologyKey:       key,
		WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector:     selector,
	}
}

// defaultSelector is what the scheduler's DefaultSelector selects, in the form that a pod can hold: the selectors of
// the Services that match the pod, and that of its controller. All of them match the pod, so merging cannot conflict.
// Source: pkg/scheduler/framework/plugins/helper/spread.go@v1.36.3. It ignores errors of its listers, which read from
// memory alone; so does this, but for errors other than a missing controller.
func defaultSelector(
	ctx context.Context,
	reader client.Reader,
	pod *corev1.Pod,
	namespace string,
) (*metav1.LabelSelector, error) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	var services corev1.ServiceList
	if err := reader.List(ctx, &services, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	for i := range services.Items {
		// A Service without a selector matches nothing, not everything.
		wanted := services.Items[i].Spec.Selector
		if wanted != nil && labels.SelectorFromValidatedSet(wanted).Matches(labels.Set(pod.Labels)) {
			maps.Copy(selector.MatchLabels, wanted)
		}
	}
	owned, err := controllerSelector(ctx, reader, pod, namespace)
	if err != nil {
		return nil, err
	}
	if owned != nil {
		maps.Copy(selector.MatchLabels, owned.MatchLabels)
		selector.MatchExpressions = owned.MatchExpressions
	}
	return selector, nil
}

// controllerSelector returns nil without a controller of a known kind.
func controllerSelector(
	ctx context.Context,
	reader client.Reader,
	pod *corev1.Pod,
	namespace string,
) (*metav1.LabelSelector, error) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: namespace, Name: owner.Name}
	switch owner.APIVersion + " " + owner.Kind {
	case "v1 ReplicationController":
		controller := &corev1.ReplicationController{}
		err := reader.Get(ctx, key, controller)
		return &metav1.LabelSelector{MatchLabels: controller.Spec.Selector}, client.IgnoreNotFound(err)
	case "apps/v1 ReplicaSet":
		controller := &appsv1.ReplicaSet{}
		err := reader.Get(ctx, key, controller)
		return controller.Spec.Selector, client.IgnoreNotFound(err)
	case "apps/v1 StatefulSet":
		controller := &appsv1.StatefulSet{}
		err := reader.Get(ctx, key, controller)
		return controller.Spec.Selector, client.IgnoreNotFound(err)
	}
	return nil, nil
}

func isEmpty(selector *metav1.LabelSelector) bool {
	return len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0
}
