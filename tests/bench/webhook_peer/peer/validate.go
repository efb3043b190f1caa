package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// validator refuses pods of unknown priority and warns of force deletions.
type validator struct {
	client client.Reader
	// live reads what is not cached.
	live    client.Reader
	decoder admission.Decoder
}

var _ admission.Handler = &validator{}

// Handle answers a review of a pod's creation or deletion.
func (v *validator) Handle(ctx context.Context, req admission.Request) admission.Response {
	if !isPodRequest(req) {
		return admission.Allowed("")
	}
	switch req.Operation {
	case admissionv1.Create:
		return v.validateCreate(ctx, req)
	case admissionv1.Delete:
		return v.validateDelete(ctx, req)
	}
	return admission.Allowed("")
}

func (v *validator) validateCreate(ctx context.Context, req admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := v.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	name := pod.Spec.PriorityClassName
	if name == "" {
		return admission.Allowed("")
	}
	err := v.client.Get(ctx, client.ObjectKey{Name: name}, &schedulingv1.PriorityClass{})
	if apierrors.IsNotFound(err) {
		return admission.Denied(fmt.Sprintf("spec.priorityClassName: no PriorityClass %q", name))
	}
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.Allowed("")
}

func (v *validator) validateDelete(ctx context.Context, req admission.Request) admission.Response {
	// A kubelet deletes the object of a pod that it has stopped.
	if slices.Contains(req.UserInfo.Groups, "system:nodes") || len(req.Options.Raw) == 0 {
		return admission.Allowed("")
	}
	// Not with the decoder: the client's scheme does not know the group of these options.
	var deleteOptions metav1.DeleteOptions
	if err := json.Unmarshal(req.Options.Raw, &deleteOptions); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if seconds := deleteOptions.GracePeriodSeconds; seconds == nil || *seconds != 0 {
		return admission.Allowed("")
	}
	pod := &corev1.Pod{}
	if err := v.decoder.DecodeRaw(req.OldObject, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if !mayRun(pod) {
		return admission.Allowed("")
	}
	state, err := v.nodeState(ctx, pod.Spec.NodeName)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	// As ours: a node's heartbeat changes too often to be cached, so its Lease is read live.
	lease := &coordinationv1.Lease{}
	err = v.live.Get(ctx, client.ObjectKey{Namespace: "kube-node-lease", Name: pod.Spec.NodeName}, lease)
	if err == nil && lease.Spec.RenewTime != nil {
		state += fmt.Sprintf(", last heartbeat %s", lease.Spec.RenewTime.UTC().Format(time.TimeOnly))
	} else if client.IgnoreNotFound(err) != nil {
		state += ", last heartbeat unknown"
	}
	return admission.Allowed("").WithWarnings(guarantee(pod), state)
}

// mayRun reports whether a kubelet may still run the pod. A force deletion makes two reviews; at the second the stored
// grace period is 0 already.
func mayRun(pod *corev1.Pod) bool {
	if seconds := pod.DeletionGracePeriodSeconds; seconds != nil && *seconds == 0 {
		return false
	}
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return pod.Spec.NodeName != "" && !finished
}

// guarantee words what the pod's owner keeps true about copies of it.
func guarantee(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return fmt.Sprintf("no controller replaces %s, and its processes may run on", pod.Name)
	}
	who := owner.Kind + " " + owner.Name
	switch owner.Kind {
	case "StatefulSet":
		return fmt.Sprintf("%s keeps at most one %s, but a second may start while it runs", who, pod.Name)
	case "ReplicaSet", "ReplicationController":
		return fmt.Sprintf("%s prefers availability: it may start a replacement while %s runs", who, pod.Name)
	case "DaemonSet":
		return fmt.Sprintf("%s keeps one on each node: it may start the next while %s runs", who, pod.Name)
	case "Job":
		return fmt.Sprintf("%s may start the work again while %s still does it", who, pod.Name)
	case "Node":
		return fmt.Sprintf("%s mirrors a static pod: deleting it stops nothing", pod.Name)
	}
	return fmt.Sprintf("%s decides whether a second %s starts while it runs", who, pod.Name)
}

// nodeState words the Ready condition of the pod's node.
func (v *validator) nodeState(ctx context.Context, name string) (string, error) {
	node := &corev1.Node{}
	err := v.client.Get(ctx, client.ObjectKey{Name: name}, node)
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("node %s no longer exists", name), nil
	}
	if err != nil {
		return "", err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return fmt.Sprintf("node %s: Ready is %s (%s)", name, condition.Status, condition.Reason), nil
		}
	}
	return fmt.Sprintf("node %s reports no Ready condition", name), nil
}
