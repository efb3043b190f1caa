package main

import (
	"context"
	"encoding/json"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// mutator makes a new pod's priority and spreading explicit.
type mutator struct {
	client  client.Reader
	decoder admission.Decoder
}

var _ admission.Handler = &mutator{}

// Handle answers a review of a pod's creation with a patch.
func (m *mutator) Handle(ctx context.Context, req admission.Request) admission.Response {
	if !isPodRequest(req) || req.Operation != admissionv1.Create {
		return admission.Allowed("")
	}
	pod := &corev1.Pod{}
	if err := m.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; isMirror {
		return admission.Allowed("")
	}
	if pod.Spec.Priority == nil {
		if err := setPriority(ctx, m.client, pod); err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
	}
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		selector, err := defaultSelector(ctx, m.client, pod, req.Namespace)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		if !isEmpty(selector) {
			pod.Spec.TopologySpreadConstraints = defaultConstraints(selector)
		}
	}
	marshalled, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, marshalled)
}

func isPodRequest(req admission.Request) bool {
	return req.Resource == metav1.GroupVersionResource{Version: "v1", Resource: "pods"} && req.SubResource == ""
}
