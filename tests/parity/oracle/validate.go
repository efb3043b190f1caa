package main

// Suite validate: what the API server says of an object on create, after strict decoding and defaulting. Admission is
// not asked.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	registrypod "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
)

func init() { suites["validate"] = validateSuite }

// anyPrivilege is what --allow-privileged sets, which most API servers are started with.
var anyPrivilege = sync.OnceFunc(func() { capabilities.Setup(true, 0) })

var strategies = map[string]rest.RESTCreateStrategy{
	"Pod":                     registrypod.Strategy,
	"ReplicationController":   replicationcontroller.Strategy,
	"LimitRange":              limitrange.Strategy,
	"PersistentVolumeClaim":   persistentvolumeclaim.Strategy,
	"ResourceQuota":           resourcequota.Strategy,
	"Deployment":              deployment.Strategy,
	"ReplicaSet":              replicaset.Strategy,
	"StatefulSet":             statefulset.Strategy,
	"DaemonSet":               daemonset.Strategy,
	"Job":                     job.Strategy,
	"CronJob":                 cronjob.Strategy,
	"HorizontalPodAutoscaler": horizontalpodautoscaler.Strategy,
	"PodDisruptionBudget":     poddisruptionbudget.Strategy,
	"PriorityClass":           priorityclass.Strategy,
}

var strictCodecs = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)

// created is the object as the API server decodes it, or why it cannot.
func created(object M) (runtime.Object, schema.GroupVersionKind, error) {
	gvk := schema.FromAPIVersionAndKind(object["apiVersion"].(string), object["kind"].(string))
	content, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	internal := schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal}
	decoder := strictCodecs.DecoderToVersion(strictCodecs.UniversalDeserializer(), internal)
	decoded, _, err := decoder.Decode(content, &gvk, nil)
	return decoded, gvk, err
}

// validated is what BeforeCreate says of an object; ok is false where the answer has a name or uid drawn at random, and where
// upstream's own code panics.
func validated(object M) (answer M, ok bool) {
	defer func() {
		if recover() != nil {
			answer, ok = nil, false
		}
	}()
	decoded, gvk, err := created(object)
	if err != nil {
		return M{"refused": true, "errors": L{strings.TrimPrefix(err.Error(), gvk.String()+": ")}}, true
	}
	anyPrivilege()
	strategy := strategies[gvk.Kind]
	accessor, err := meta.Accessor(decoded)
	if err != nil {
		panic(err)
	}
	namespace := accessor.GetNamespace()
	if namespace == "" && strategy.NamespaceScoped() {
		namespace = metav1.NamespaceDefault
	}
	ctx := genericapirequest.WithNamespace(context.Background(), namespace)
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: gvk.Group, APIVersion: gvk.Version, Namespace: namespace,
	})
	drawn := ""
	if accessor.GetName() == "" && accessor.GetGenerateName() != "" {
		name := strategy.GenerateName(accessor.GetGenerateName())
		drawn = name[len(name)-5:]
		accessor.SetName(name)
	}
	rest.FillObjectMetaSystemFields(accessor)
	err = rest.BeforeCreate(strategy, ctx, decoded)
	said := L{}
	if err != nil {
		status := apierrors.APIStatus(nil)
		if !errors.As(err, &status) {
			panic(err)
		}
		if details := status.Status().Details; details == nil || len(details.Causes) == 0 {
			said = append(said, err.Error())
		} else {
			seen := map[string]bool{}
			for _, cause := range details.Causes {
				text := fmt.Sprintf("%s: %s", cause.Field, cause.Message)
				if !seen[text] {
					said = append(said, text)
				}
				seen[text] = true
			}
		}
	}
	for _, text := range said {
		if strings.Contains(text.(string), string(accessor.GetUID())) || drawn != "" && strings.Contains(text.(string), drawn) {
			return nil, false
		}
	}
	return M{"refused": err != nil, "errors": said}, true
}

func validateSuite(g *G, i int) (any, any, bool) {
	object := validObject(g)
	if i%10 != 0 {
		for n := pick(g, 1, 1, 1, 2, 3); n > 0; n-- {
			mutate(g, object)
		}
	}
	answer, ok := validated(object)
	return M{"object": object}, answer, ok
}
