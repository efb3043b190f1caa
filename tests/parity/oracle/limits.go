package main

// Suite limits: what the LimitRanges and ResourceQuotas of a namespace do with a new pod: defaulting, the LimitRanger
// plugin, the strategy, and then the validating plugins, as the API server runs them.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	quotacore "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	registrypod "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/utils/clock"
)

func init() {
	suites["limits"] = limitsSuite
	summaries["limits"] = func() {
		for _, word := range sortedKeys(limitsSeen) {
			fmt.Fprintf(os.Stderr, "%s: %d\n", word, limitsSeen[word])
		}
	}
}

// maxRoom is how often a pod is asked for again at most.
const maxRoom = 25

var limitAmounts = map[string][]string{
	"cpu":                                    {"0", "50m", "100m", "100m", "250m", "0.5", "500m", "1", "1", "1500m", "2", "4", "1e0", "0.0005", "100u"},
	"memory":                                 {"0", "64Mi", "128Mi", "128974848", "123Mi", "512Mi", "1Gi", "1Gi", "1024Mi", "1G", "1e9", "2Gi", "1.5Gi", "100M", "100m", "1.500Gi"},
	"ephemeral-storage":                      {"0", "500M", "1Gi", "1Gi", "2Gi", "1e9", "3.5Gi"},
	"hugepages-2Mi":                          {"2Mi", "4Mi", "4Mi", "64Mi", "0"},
	"hugepages-1Gi":                          {"1Gi", "2Gi"},
	"example.com/gpu":                        {"1", "1", "2", "4", "0"},
	"kubernetes.io/odd":                      {"1", "2"},
	"deviceclass.resource.kubernetes.io/gpu": {"1", "2", "3"},
}
var enormous = []string{"8Pi", "9Pi", "16Pi", "9223372036854775", "9223372036854776", "9Ei", "7E", "12E"}

func limitAmount(g *G, name string) string {
	if (name == "memory" || name == "ephemeral-storage") && g.p(0.02) {
		return pick(g, enormous...)
	}
	return pick(g, limitAmounts[name]...)
}

// limitList has each of the usual resources with a probability, and now and then one of the others.
func limitList(g *G, common, rare float64) M {
	out := M{}
	for _, name := range []string{"cpu", "memory"} {
		if g.p(common) {
			out[name] = limitAmount(g, name)
		}
	}
	for _, name := range sortedKeys(limitAmounts) {
		if name != "cpu" && name != "memory" && g.p(rare) {
			out[name] = limitAmount(g, name)
		}
	}
	return out
}

// asked are the requests and limits of a container or a pod: most as validation wants them, some not.
func asked(g *G, common, rare float64) M {
	out := M{}
	limits := limitList(g, common, rare)
	requests := M{}
	for name, amount := range limits {
		if g.p(0.3) || strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages") {
			requests[name] = amount
		} else if g.p(0.5) {
			requests[name] = limitAmount(g, name)
		}
	}
	for name, amount := range limitList(g, common*0.5, rare*0.3) {
		if requests[name] == nil && limits[name] == nil {
			requests[name] = amount
		}
	}
	if len(limits) > 0 {
		out["limits"] = limits
	}
	if len(requests) > 0 && g.p(0.9) {
		out["requests"] = requests
	}
	return out
}

func limitsPod(g *G) M {
	common, rare := pick(g, 0.0, 0.2, 0.5, 0.8, 0.95, 1.0), pick(g, 0, 0.05, 0.15)
	containers := func(prefix string, n int) L {
		out := L{}
		for i := range n {
			c := M{"name": fmt.Sprintf("%s%d", prefix, 9-i), "image": "x"}
			if r := asked(g, common, rare); len(r) > 0 {
				c["resources"] = r
			}
			if prefix == "i" && g.p(0.5) {
				c["restartPolicy"] = "Always"
			}
			out = append(out, c)
		}
		return out
	}
	spec := M{"containers": containers("c", pick(g, 1, 1, 1, 2, 3))}
	if n := pick(g, 0, 0, 0, 1, 1, 2, 3); n > 0 {
		spec["initContainers"] = containers("i", n)
	}
	if g.p(0.25) {
		spec["resources"] = M{}
		if r := asked(g, 0.7, 0); len(r) > 0 {
			spec["resources"] = r
		}
		if g.p(0.2) {
			join(spec["resources"].(M), M{"requests": M{"hugepages-2Mi": "4Mi"}, "limits": M{"hugepages-2Mi": "4Mi"}})
		}
	}
	if g.p(0.2) {
		spec["overhead"] = limitList(g, 0.8, 0.05)
	}
	if g.p(0.3) {
		spec["activeDeadlineSeconds"] = pick(g, 1, 60, 3600)
	}
	if g.p(0.4) {
		spec["priorityClassName"] = pick(g, "high", "low", "system-node-critical")
	}
	if g.p(0.3) {
		spec["affinity"] = limitsAffinity(g)
	}
	pod := M{"metadata": M{"name": pick(g, "p", "web-6d4cf56db6-x7k2p"), "namespace": "shop"}, "spec": spec}
	if g.p(0.1) {
		pod["status"] = M{"phase": pick(g, "Succeeded", "Running"), "qosClass": pick(g, "BestEffort", "Burstable"),
			"containerStatuses": L{M{"name": "c9", "image": "x", "imageID": "", "ready": true, "restartCount": 0, "resources": asked(g, 1, 0)}}}
	}
	return pod
}

func limitsAffinity(g *G) M {
	term := func() M {
		t := M{"topologyKey": "zone", "labelSelector": M{"matchLabels": M{"a": "b"}}}
		if g.p(0.25) {
			t["namespaces"] = L{"other"}
		}
		if g.p(0.25) {
			t["namespaceSelector"] = pick(g, M{}, M{"matchLabels": M{"a": "b"}})
		}
		return t
	}
	out := M{}
	for _, side := range sample(g, g.rng(0, 2), []string{"podAffinity", "podAntiAffinity"}) {
		terms := M{}
		if g.p(0.6) {
			terms["requiredDuringSchedulingIgnoredDuringExecution"] = L{term()}
		}
		if g.p(0.6) {
			terms["preferredDuringSchedulingIgnoredDuringExecution"] = L{M{"weight": 1, "podAffinityTerm": term()}}
		}
		out[side] = terms
	}
	return out
}

func limitsRange(g *G, i int) M {
	limits := L{}
	kinds := sample(g, pick(g, 1, 1, 2, 3), []string{"Container", "Pod", "PersistentVolumeClaim"})
	if g.p(0.1) {
		kinds = append(kinds, "Container")
	}
	for _, kind := range kinds {
		limit := M{"type": kind}
		set := func(field string, p, common float64) {
			if l := limitList(g, common, 0.04); len(l) > 0 && g.p(p) {
				limit[field] = l
			}
		}
		switch kind {
		case "PersistentVolumeClaim":
			limit["max"] = M{"storage": "10Gi"}
		case "Container":
			set("default", 0.5, 0.6)
			set("defaultRequest", 0.5, 0.6)
			fallthrough
		default:
			set("min", 0.35, 0.4)
			set("max", 0.35, 0.4)
			if g.p(0.25) {
				ratio := M{}
				for _, name := range sample(g, g.rng(1, 2), []string{"cpu", "cpu", "memory", "memory", "ephemeral-storage", "example.com/gpu"}) {
					ratio[name] = pick(g, "1", "1500m", "2", "3", "4", "1.2", "9223372036854776", "1000000000000000000")
				}
				limit["maxLimitRequestRatio"] = ratio
			}
		}
		if g.p(0.2) && kind != "PersistentVolumeClaim" { // rather large, so that not everything is refused
			limit["max"] = M{pick(g, "cpu", "memory"): pick(g, "16", "32Gi", "64Ti", "9Pi")}
		}
		limits = append(limits, limit)
	}
	return M{"metadata": M{"name": fmt.Sprintf("lr%d", i), "namespace": "shop"}, "spec": M{"limits": limits}}
}

var quotaUnits = map[string][]string{
	"cpu": {"0", "500m", "1", "2.500", "4", "10", "1500m", "8"}, "memory": {"0", "1Gi", "3G", "8Gi", "20Gi", "5000M", "1e10"},
	"ephemeral-storage": {"0", "2Gi", "10Gi", "5G"}, "hugepages-2Mi": {"0", "4Mi", "64Mi", "1Gi"}, "hugepages-1Gi": {"2Gi", "4Gi"},
	"count": {"0", "1", "3", "10", "20", "100", "1k"},
}

// quotaHard draws names that a quota may have, with an amount for each and what of it is used.
func quotaHard(g *G) (hard, used M) {
	hard, used = M{}, M{}
	units := map[string]string{}
	for _, name := range []string{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi"} {
		units[name], units["requests."+name] = name, name
	}
	for _, name := range []string{"cpu", "memory", "ephemeral-storage"} {
		units["limits."+name] = name
	}
	for _, name := range []string{"pods", "count/pods", "requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/gpu",
		"requests.kubernetes.io/odd", "services", "count/deployments.apps", "limits.example.com/gpu", "requests.storage"} {
		units[name] = "count"
	}
	for _, name := range sample(g, pick(g, 0, 1, 1, 2, 3, 4, 6), sortedKeys(units)) {
		hard[name] = pick(g, quotaUnits[units[name]]...)
		if units[name] == "count" && g.p(0.5) {
			used[name] = pick(g, "0", "1", "2")
		} else if g.p(0.5) {
			used[name] = "0"
		} else {
			used[name] = pick(g, quotaUnits[units[name]]...)
		}
	}
	return hard, used
}

func limitsQuota(g *G, i int) M {
	hard, used := quotaHard(g)
	spec, status := M{"hard": hard}, M{"hard": hard, "used": used}
	switch {
	case g.p(0.03):
		status = M{}
	case g.p(0.03):
		for _, name := range sample(g, 1, sortedKeys(used)) {
			delete(used, name)
		}
	case g.p(0.1):
		status["hard"], _ = quotaHard(g)
	}
	if g.p(0.3) {
		scopes := L{}
		for _, scope := range sample(g, pick(g, 1, 1, 2), []string{"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "PriorityClass",
			"CrossNamespacePodAffinity", "VolumeAttributesClass"}) {
			scopes = append(scopes, scope)
		}
		spec["scopes"] = scopes
	}
	if g.p(0.3) {
		terms := L{}
		for range pick(g, 1, 1, 2) {
			term := M{"scopeName": pick(g, "BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "PriorityClass", "PriorityClass",
				"PriorityClass", "CrossNamespacePodAffinity"), "operator": "Exists"}
			if term["scopeName"] == "PriorityClass" {
				term["operator"] = pick(g, "In", "NotIn", "Exists", "DoesNotExist")
				if term["operator"] == "In" || term["operator"] == "NotIn" {
					term["values"] = pick(g, L{"high"}, L{"low", "high"}, L{"other"})
				}
			}
			terms = append(terms, term)
		}
		spec["scopeSelector"] = M{"matchExpressions": terms}
	}
	return M{"metadata": M{"name": fmt.Sprintf("q%d", i), "namespace": "shop"}, "spec": spec, "status": status}
}

// resourcesOf is what a pod's containers, and the pod itself, have as requests and limits.
func resourcesOf(in *core.Pod) M {
	pod := &v1.Pod{}
	if err := legacyscheme.Scheme.Convert(in, pod, nil); err != nil {
		panic(err)
	}
	out := M{}
	add := func(name string, r v1.ResourceRequirements) {
		list := func(l v1.ResourceList) M {
			amounts := M{}
			for k, q := range l {
				amounts[string(k)] = q.String()
			}
			return amounts
		}
		out[name] = M{"requests": list(r.Requests), "limits": list(r.Limits)}
	}
	for _, c := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		add(c.Name, c.Resources)
	}
	if pod.Spec.Resources != nil {
		add("", *pod.Spec.Resources)
	}
	return out
}

// refusal is the text of the LimitRanger's refusal, with its problems sorted: upstream has them in the order of Go maps.
func refusal(a admission.Attributes, err error) string {
	text := admission.NewForbidden(a, err).Error()
	seen := map[string]bool{}
	for _, one := range err.(utilerrors.Aggregate).Errors() {
		seen[one.Error()] = true
	}
	said := sortedKeys(seen)
	if len(said) == 1 {
		return text
	}
	at := strings.Index(text, "[")
	sorted := text[:at] + "[" + strings.Join(said, ", ") + "]"
	if len(sorted) != len(text) {
		panic(text)
	}
	return sorted
}

func limitsAnswer(in M) M {
	ctx := genericapirequest.WithNamespace(context.Background(), "shop")
	pod := toInternal(defaulted(decode[v1.Pod](in["pod"])), &core.Pod{})
	ranges, plugin := []*v1.LimitRange{}, &limitranger.DefaultLimitRangerActions{}
	for _, m := range in["limitRanges"].(L) {
		ranges = append(ranges, defaulted(decode[v1.LimitRange](m)))
	}
	quotas := []v1.ResourceQuota{}
	for _, m := range in["resourceQuotas"].(L) {
		quotas = append(quotas, *defaulted(decode[v1.ResourceQuota](m)))
	}
	for _, r := range ranges {
		if err := plugin.MutateLimit(r, "pods", pod); err != nil {
			panic(err)
		}
	}
	out := M{"filled": resourcesOf(pod)}
	registrypod.Strategy.PrepareForCreate(ctx, pod)
	out["stored"], out["qosClass"] = resourcesOf(pod), pod.Status.QOSClass
	// The validating plugins see a copy (registry.Store.create).
	attributes := func() admission.Attributes {
		return admission.NewAttributesRecord(pod.DeepCopy(), nil, core.Kind("Pod").WithVersion("v1"), pod.Namespace, pod.Name,
			core.Resource("pods").WithVersion("v1"), "", admission.Create, nil, false, nil)
	}
	for _, r := range ranges {
		a := attributes()
		if err := plugin.ValidateLimit(r, "pods", a.GetObject()); err != nil {
			out["limitRangeRefusal"] = refusal(a, err)
			break
		}
	}
	evaluator := quotacore.NewPodEvaluator(nil, clock.RealClock{})
	for room := range maxRoom {
		var err error
		quotas, err = resourcequota.CheckRequest(quotas, attributes(), evaluator, nil)
		if err != nil {
			out["room"], out["nextRefusal"] = room, err.Error()
			if room == 0 {
				out["quotaRefusal"] = err.Error()
			}
			break
		}
	}
	return out
}

// limitsSeen counts what the cases came to.
var limitsSeen = map[string]int{}

func limitsSuite(g *G, _ int) (any, any, bool) {
	ranges, quotas := L{}, L{}
	for i := range pick(g, 0, 1, 1, 1, 2, 3) {
		ranges = append(ranges, limitsRange(g, i))
	}
	for i := range pick(g, 0, 1, 1, 2, 3, 4) {
		quotas = append(quotas, limitsQuota(g, i))
	}
	in := M{"pod": limitsPod(g), "limitRanges": ranges, "resourceQuotas": quotas}
	first, second := limitsAnswer(in), limitsAnswer(in)
	one, _ := json.Marshal(first)
	two, _ := json.Marshal(second)
	if string(one) != string(two) {
		return nil, nil, false
	}
	for _, key := range []string{"limitRangeRefusal", "quotaRefusal", "room"} {
		if first[key] != nil {
			limitsSeen[key]++
		}
	}
	return in, first, true
}
