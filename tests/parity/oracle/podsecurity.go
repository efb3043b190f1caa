package main

// Suite pod_security: what Pod Security admission says of a Pod, or of a workload's template, in a namespace with labels;
// and what its checks say of it at one level and version. The object is as validating admission sees it: decoded,
// defaulted and prepared by its strategy. The plugin has kube-apiserver's default configuration.

import (
	"context"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	genericadmissioninit "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecurity"
	podsecurityadmission "k8s.io/pod-security-admission/admission"
	podsecurityapi "k8s.io/pod-security-admission/api"
	podsecuritypolicy "k8s.io/pod-security-admission/policy"
)

func init() { suites["pod_security"] = podSecuritySuite }

// podSecurity is the plugin, and the namespaces that it knows.
type podSecurity struct {
	plugin     admission.ValidationInterface
	namespaces cache.Indexer
	evaluator  podsecuritypolicy.Evaluator
}

// Initialize gives the plugin what an API server gives it.
func (p *podSecurity) Initialize(plugin admission.Interface) {
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	inspectVersion(plugin)
	plugin.(genericadmissioninit.WantsExternalKubeClientSet).SetExternalKubeClientSet(client)
	plugin.(genericadmissioninit.WantsExternalKubeInformerFactory).SetExternalKubeInformerFactory(factory)
	p.namespaces = factory.Core().V1().Namespaces().Informer().GetIndexer()
	p.plugin = plugin.(admission.ValidationInterface)
	if err := plugin.(admission.InitializationValidator).ValidateInitialization(); err != nil {
		panic(err)
	}
}

var thePodSecurity = sync.OnceValue(func() *podSecurity {
	p := &podSecurity{}
	plugins := &admission.Plugins{}
	podsecurity.Register(plugins)
	if _, err := plugins.InitPlugin(podsecurity.PluginName, nil, p); err != nil {
		panic(err)
	}
	evaluator, err := newPodSecurityEvaluator()
	if err != nil {
		panic(err)
	}
	p.evaluator = evaluator
	return p
})

// warned keeps the warnings of one request.
type warned struct{ texts L }

func (w *warned) AddWarning(_, text string) { w.texts = append(w.texts, text) }

// stored is a new object as validating admission sees it; refused reports whether its validation rejects it.
func stored(object M) (decoded runtime.Object, attributes admission.Attributes, refused, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	decoded, gvk, err := created(object)
	if err != nil {
		return nil, nil, false, false
	}
	anyPrivilege()
	strategy := strategies[gvk.Kind]
	if gvk.Kind == "PodTemplate" {
		strategy = podtemplate.Strategy
	}
	accessor, err := meta.Accessor(decoded)
	if err != nil {
		panic(err)
	}
	if accessor.GetNamespace() == "" {
		accessor.SetNamespace(metav1.NamespaceDefault)
	}
	namespace := accessor.GetNamespace()
	ctx := genericapirequest.WithNamespace(context.Background(), namespace)
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: gvk.Group, APIVersion: gvk.Version, Namespace: namespace,
	})
	rest.FillObjectMetaSystemFields(accessor)
	err = rest.BeforeCreate(strategy, ctx, decoded)
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	attributes = admission.NewAttributesRecord(decoded, nil, gvk, namespace, accessor.GetName(), resource, "",
		admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "u"})
	return decoded, attributes, err != nil, true
}

// admitted is what the plugin says of an object in a namespace with these labels.
func admitted(attributes admission.Attributes, labels map[string]string) (refusal any, warnings L) {
	p := thePodSecurity()
	name := attributes.GetNamespace()
	if err := p.namespaces.Add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
		panic(err)
	}
	said := &warned{texts: L{}}
	ctx := warning.WithWarningRecorder(context.Background(), said)
	if err := p.plugin.Validate(ctx, attributes, nil); err != nil {
		_, text, found := strings.Cut(err.Error(), " is forbidden: ")
		if !found {
			panic(err)
		}
		refusal = text
	}
	return refusal, said.texts
}

// checked is what the checks of a level and a version say of an object.
func checked(decoded runtime.Object, attributes admission.Attributes, level, version string) any {
	external, err := legacyscheme.Scheme.New(attributes.GetKind())
	if err != nil {
		panic(err)
	}
	if err := legacyscheme.Scheme.Convert(decoded, external, nil); err != nil {
		panic(err)
	}
	metadata, spec, err := podsecurityadmission.DefaultPodSpecExtractor{}.ExtractPodSpec(external)
	if err != nil {
		panic(err)
	}
	if spec == nil {
		return nil
	}
	at := podsecurityapi.LevelVersion{}
	if at.Level, err = podsecurityapi.ParseLevel(level); err != nil {
		panic(err)
	}
	if at.Version, err = podsecurityapi.ParseVersion(version); err != nil {
		panic(err)
	}
	result := podsecuritypolicy.AggregateCheckResults(thePodSecurity().evaluator.EvaluatePod(at, metadata, spec))
	return M{"allowed": result.Allowed, "reason": result.ForbiddenReason(), "detail": result.ForbiddenDetail()}
}

func policyOf(labels map[string]string) M {
	privileged := podsecurityapi.LevelVersion{Level: podsecurityapi.LevelPrivileged, Version: podsecurityapi.LatestVersion()}
	defaults := podsecurityapi.Policy{Enforce: privileged, Audit: privileged, Warn: privileged}
	found, errs := podsecurityapi.PolicyToEvaluate(labels, defaults)
	problems := L{}
	for _, err := range errs {
		problems = append(problems, err.Error())
	}
	return M{"enforce": found.Enforce.String(), "audit": found.Audit.String(), "warn": found.Warn.String(), "problems": problems}
}

func podSecuritySuite(g *G, _ int) (any, any, bool) {
	object := securedObject(g)
	if g.p(0.4) {
		for n := pick(g, 1, 1, 2, 3); n > 0; n-- {
			mutate(g, object)
		}
	}
	labels := podSecurityLabels(g)
	level := pick(g, "privileged", "baseline", "baseline", "baseline", "restricted", "restricted", "restricted", "restricted")
	version := podSecurityVersion(g)
	in := M{"object": object, "labels": labels, "level": level, "version": version}
	decoded, attributes, refused, ok := stored(object)
	if !ok || refused && g.p(0.8) {
		return nil, nil, false
	}
	refusal, warnings := admitted(attributes, labels)
	return in, M{
		"evaluation": checked(decoded, attributes, level, version),
		"policy":     policyOf(labels),
		"refusal":    refusal,
		"warnings":   warnings,
	}, true
}
