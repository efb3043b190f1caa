package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// setPriority writes the three fields that a PriorityClass decides. A pod that names an unknown class is left alone:
// refusing it is the validator's part.
func setPriority(ctx context.Context, reader client.Reader, pod *corev1.Pod) error {
	class, err := classOf(ctx, reader, pod)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	value, policy := int32(0), corev1.PreemptLowerPriority
	if class != nil {
		pod.Spec.PriorityClassName = class.Name
		value = class.Value
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
	}
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = &value, &policy
	return nil
}

// classOf returns the class that the pod names, else the default class of lowest value, else nil.
func classOf(ctx context.Context, reader client.Reader, pod *corev1.Pod) (*schedulingv1.PriorityClass, error) {
	if pod.Spec.PriorityClassName != "" {
		class := &schedulingv1.PriorityClass{}
		err := reader.Get(ctx, client.ObjectKey{Name: pod.Spec.PriorityClassName}, class)
		return class, err
	}
	var classes schedulingv1.PriorityClassList
	if err := reader.List(ctx, &classes); err != nil {
		return nil, err
	}
	var lowest *schedulingv1.PriorityClass
	for i := range classes.Items {
		class := &classes.Items[i]
		if class.GlobalDefault && (lowest == nil || class.Value < lowest.Value) {
			lowest = class
		}
	}
	return lowest, nil
}
