package main

// Suite schedule: the real scheduler (scheduler.New with the default profile,
// fed by fake-clientset informers) is asked about one pod.
//
// Per case: SchedulePod (the scheduler's own filter+score+pick), every node's
// Filter verdict, per-plugin weighted normalised scores, and, when nothing
// fits, the real PostFilter (DefaultPreemption).

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"sync"
	"time"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

func init() {
	suites["schedule"] = scheduleSuite
	suites["schedule_dra"] = scheduleDRASuite
	suites["profile"] = profileSuite // one line, for reference
	summaries["schedule"] = schedCoverage
}

var cov = map[string]int{}

// privateField reads an unexported struct field of upstream (no copy).
func privateField(ptr any, name string) any {
	f := reflect.ValueOf(ptr).Elem().FieldByName(name)
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Interface()
}

// toStored turns a created pod into what the API server would store as far as
// the scheduler cares: podStrategy.PrepareForCreate merges matchLabelKeys into
// the label selectors. Returns the JSON to use and whether it changed.
func toStored(p M) (M, bool) {
	if b, _ := json.Marshal(p["spec"]); !bytes.Contains(b, []byte("matchLabelKeys")) {
		return p, false
	}
	st, _ := storedPod(decode[v1.Pod](p))
	out := M{}
	for k, v := range p {
		out[k] = v
	}
	spec := M{}
	for k, v := range p["spec"].(M) {
		spec[k] = v
	}
	for k, v := range map[string]any{"affinity": st.Spec.Affinity, "topologySpreadConstraints": st.Spec.TopologySpreadConstraints} {
		if spec[k] != nil {
			b, _ := json.Marshal(v)
			var x any
			json.Unmarshal(b, &x)
			spec[k] = x
		}
	}
	out["spec"] = spec
	a, _ := json.Marshal(p["spec"])
	var norm any
	json.Unmarshal(a, &norm)
	b, _ := json.Marshal(spec)
	a, _ = json.Marshal(norm)
	return out, !bytes.Equal(a, b)
}

func objList[T any, PT interface {
	*T
	runtime.Object
}](l L) []runtime.Object {
	out := []runtime.Object{}
	for _, m := range l {
		out = append(out, defaulted(PT(decode[T](m))))
	}
	return out
}

// richDRA: the clusters of suite schedule_dra. Their devices have attributes,
// capacity, counters, taints, and their claims use all kinds of requests.
var richDRA bool

func scheduleDRASuite(g *G, i int) (any, any, bool) {
	richDRA, themes = true, []string{"dra"}
	return scheduleSuite(g, i)
}

func scheduleSuite(g *G, i int) (any, any, bool) {
	c := genCluster(g, i)
	in := M{"theme": c.theme}
	// What the scheduler sees is the stored form of each pod.
	for k, p := range c.pods {
		c.pods[k], _ = toStored(p)
	}
	if st, changed := toStored(c.pod); changed {
		in["createdPod"] = c.pod // before podStrategy.PrepareForCreate
		c.pod = st
	}
	in["pod"], in["nodes"], in["pods"] = c.pod, c.nodes, c.pods
	for k, v := range c.objs {
		in[k] = v
	}
	in["schedulerConfiguration"] = M{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"percentageOfNodesToScore": 100,
		"profiles":                 L{M{"schedulerName": "default-scheduler", "pluginConfig": c.cfg}}}
	// The answer must not depend on map order, goroutines or clocks: the whole
	// case is evaluated again by fresh schedulers, and all must agree. Pools of
	// devices come in map order until 1.35, and so do several resources that are
	// short: one more look would miss every second case.
	looks := 4
	if richDRA {
		looks = looksAtDevices
	}
	outs := lookedAt(in, looks)
	out := outs[0]
	a, _ := json.Marshal(out)
	for _, other := range outs[1:] {
		b, _ := json.Marshal(other)
		if bytes.Equal(a, b) {
			continue
		}
		cov["~nondeterministic, redrawn"]++
		fmt.Fprintln(os.Stderr, "nondeterministic case dropped:", i, c.theme)
		return nil, nil, false
	}
	if !richDRA {
		countCoverage(c, in, out)
	}
	return in, out, true
}

// lookedAt evaluates a case several times at once: each look waits for caches
// far longer than it computes.
func lookedAt(in M, looks int) []M {
	outs := make([]M, looks)
	var all sync.WaitGroup
	for k := range outs {
		all.Go(func() { outs[k] = runSchedule(in) })
	}
	all.Wait()
	return outs
}

func statusJSON(s *fwk.Status) M {
	m := M{"code": s.Code().String()}
	if s == nil { // nil means Success
		return m
	}
	if s.Plugin() != "" {
		m["plugin"] = s.Plugin()
	}
	if len(s.Reasons()) > 0 {
		m["reasons"] = s.Reasons()
	}
	return m
}

func mlist[T any](v []T) L {
	out := L{}
	for _, x := range v {
		out = append(out, x)
	}
	return out
}

func asL(v any) L {
	switch x := v.(type) {
	case nil:
		return nil
	case L:
		return x
	case []M:
		return mlist(x)
	}
	panic(fmt.Sprintf("%T", v))
}

func runSchedule(in M) M {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	logger := klog.FromContext(ctx)

	// Objects, decoded from the recorded JSON and given API defaults.
	objs := objList[v1.Node](asL(in["nodes"]))
	nNodes := len(objs)
	objs = append(objs, objList[v1.Pod](asL(in["pods"]))...)
	bound := 0
	for _, o := range objs[nNodes:] {
		if o.(*v1.Pod).Spec.NodeName != "" {
			bound++
		}
	}
	pod := defaulted(decode[v1.Pod](in["pod"]))
	// A pod with spec.nodeName is never given to the scheduler by the real
	// event handlers; it is only used to show the NodeName filter.
	assigned := pod.Spec.NodeName != ""
	if !assigned {
		objs = append(objs, pod.DeepCopy())
	}
	for _, l := range [][]runtime.Object{
		objList[v1.Namespace](asL(in["namespaces"])), objList[v1.Service](asL(in["services"])),
		objList[v1.ReplicationController](asL(in["replicationControllers"])), objList[appsv1.ReplicaSet](asL(in["replicaSets"])),
		objList[appsv1.StatefulSet](asL(in["statefulSets"])), objList[policyv1.PodDisruptionBudget](asL(in["podDisruptionBudgets"])),
		objList[v1.PersistentVolume](asL(in["persistentVolumes"])), objList[v1.PersistentVolumeClaim](asL(in["persistentVolumeClaims"])),
		objList[storagev1.StorageClass](asL(in["storageClasses"])), objList[storagev1.CSINode](asL(in["csiNodes"])),
		objList[resourcev1.DeviceClass](asL(in["deviceClasses"])), objList[resourcev1.ResourceSlice](asL(in["resourceSlices"])),
		objList[resourcev1.ResourceClaim](asL(in["resourceClaims"])),
	} {
		objs = append(objs, l...)
	}
	client := fake.NewSimpleClientset(objs...)
	factory := newInformerFactory(client)

	// Versioned configuration, as from a --config file.
	b, _ := json.Marshal(in["schedulerConfiguration"])
	o, _, err := scheme.Codecs.UniversalDecoder().Decode(b, nil, nil)
	if err != nil {
		panic(err)
	}
	cfg := o.(*config.KubeSchedulerConfiguration)
	if err := validation.ValidateKubeSchedulerConfiguration(cfg); err != nil {
		panic(fmt.Sprint(err, string(b)))
	}
	rec := func(string) eventRecorder { return events.NewFakeRecorder(1000) }
	sched, err := scheduler.New(ctx, client, factory, nil, rec,
		scheduler.WithProfiles(cfg.Profiles...), scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore))
	if err != nil {
		panic(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		panic(err)
	}
	snap := privateField(sched, "nodeInfoSnapshot").(*internalcache.Snapshot)
	// Event handlers of the plugins' own caches run asynchronously.
	for t := 0; ; t++ {
		if err := sched.Cache.UpdateSnapshot(logger, snap); err != nil {
			panic(err)
		}
		pc := 0
		infos, _ := snap.NodeInfos().List()
		for _, ni := range infos {
			pc += len(ni.GetPods())
		}
		if len(infos) == nNodes && pc == bound {
			break
		}
		if t > 500 {
			panic(fmt.Sprint("cache did not fill: ", len(infos), nNodes, pc, bound))
		}
		time.Sleep(5 * time.Millisecond)
	}
	fw := sched.Profiles["default-scheduler"]
	if in["deviceClasses"] != nil {
		waitDRA(fw.SharedDRAManager(), in)
	}
	dp := privateField(fw, "pluginsMap").(map[string]plugin)["DefaultPreemption"].(*defaultpreemption.DefaultPreemption)
	preemptNobody(dp)

	out := M{}
	for _, pl := range fw.PreEnqueuePlugins() {
		if s := pl.PreEnqueue(ctx, pod); !s.IsSuccess() {
			out["preEnqueue"] = statusJSON(s.WithPlugin(pl.Name()))
			return out // never reaches a scheduling cycle
		}
	}

	// The scheduler's own algorithm.
	state := framework.NewCycleState()
	res, schedErr := schedulePod(ctx, sched, fw, state, pod)

	// The same cycle again step by step, on its own state, for all nodes.
	st2 := framework.NewCycleState()
	preRes, s, _ := fw.RunPreFilterPlugins(ctx, st2, pod)
	pre := statusJSON(s)
	if sk := st2.GetSkipFilterPlugins(); sk.Len() > 0 {
		l := sk.UnsortedList()
		sort.Strings(l)
		pre["skipFilterPlugins"] = l
	}
	if !preRes.AllNodes() {
		l := preRes.NodeNames.UnsortedList()
		sort.Strings(l)
		pre["nodes"] = l
	}
	out["preFilter"] = pre
	infos, _ := fw.SnapshotSharedLister().NodeInfos().List()
	sort.Slice(infos, func(i, j int) bool { return natLess(infos[i].Node().Name, infos[j].Node().Name) })
	var feasible []fwk.NodeInfo
	rejected := M{}
	if s.IsSuccess() {
		for _, ni := range infos {
			if !preRes.AllNodes() && !preRes.NodeNames.Has(ni.Node().Name) {
				continue // excluded by PreFilter
			}
			fs := fw.RunFilterPluginsWithNominatedPods(ctx, st2, pod, ni)
			if fs.IsSuccess() {
				feasible = append(feasible, ni)
			} else {
				rejected[ni.Node().Name] = statusJSON(fs)
			}
		}
	}
	out["rejected"] = rejected
	names := []string{}
	for _, ni := range feasible {
		names = append(names, ni.Node().Name)
	}
	out["feasible"] = names
	if richDRA {
		if a := draAllocations(st2); len(a) > 0 {
			out["draAllocations"] = a
		}
	}

	if fe, ok := schedErr.(*framework.FitError); ok {
		// The scheduler's own verdict on every node, including those PreFilter left out.
		ns := M{}
		for _, ni := range infos {
			ns[ni.Node().Name] = statusJSON(fe.Diagnosis.NodeToStatus.Get(ni.Node().Name))
		}
		if len(ns) != len(rejected) {
			out["nodeStatuses"] = ns // otherwise the same as "rejected"
		}
		up := fe.Diagnosis.UnschedulablePlugins.UnsortedList()
		sort.Strings(up)
		out["unschedulablePlugins"] = up
		// cross-check with the step-by-step run
		if len(feasible) != 0 {
			return disagreed(out, "SchedulePod found nothing, but filters pass")
		}
		for n, v := range rejected {
			if !reflect.DeepEqual(v, ns[n]) {
				if richDRA {
					// NodeResourcesFit gives several scalar resources in map order.
					continue
				}
				panic(fmt.Sprint("verdicts differ: ", n, v, ns[n]))
			}
		}
		if !assigned {
			postFilter(ctx, fw, dp, state, pod, fe, out)
		}
		out["message"] = fe.Error()
		return out
	}
	if schedErr != nil {
		out["error"] = schedErr.Error()
		return out
	}
	if len(feasible) == 0 {
		return disagreed(out, "SchedulePod succeeded, but no node passes")
	}
	// With one feasible node the scheduler does not score; scores are shown anyway.
	out["feasibleNodesSeenByScheduler"] = res.FeasibleNodes
	if s := fw.RunPreScorePlugins(ctx, st2, pod, feasible); !s.IsSuccess() {
		out["preScore"] = statusJSON(s)
		return out
	}
	sk := st2.GetSkipScorePlugins().UnsortedList()
	sort.Strings(sk)
	out["skipScorePlugins"] = sk
	scores, s := fw.RunScorePlugins(ctx, st2, pod, feasible)
	if !s.IsSuccess() {
		out["score"] = statusJSON(s)
		return out
	}
	var plugins []string
	per, totals := M{}, M{}
	best := int64(-1 << 62)
	for k, n := range scores {
		row := []int64{}
		for _, ps := range n.Scores {
			if k == 0 {
				plugins = append(plugins, ps.Name)
			}
			row = append(row, ps.Score)
		}
		per[n.Name], totals[n.Name] = row, n.TotalScore
		best = max(best, n.TotalScore)
	}
	var top []string
	for _, n := range names {
		if totals[n].(int64) == best {
			top = append(top, n)
		}
	}
	// scorePlugins names the columns of scores (weighted, normalised).
	out["scorePlugins"], out["scores"], out["totals"], out["best"] = plugins, per, totals, top
	// Cross-check: what the scheduler picked must be one of the best (or the
	// nominated node, which is tried first and alone).
	ok := false
	for _, n := range top {
		ok = ok || n == res.SuggestedHost
	}
	if res.FeasibleNodes != len(feasible) || pod.Status.NominatedNodeName == res.SuggestedHost {
		if pod.Status.NominatedNodeName != res.SuggestedHost {
			return disagreed(out, "unexpected feasible count")
		}
		out["pickedNominatedNode"] = res.SuggestedHost
	} else if !ok {
		return disagreed(out, fmt.Sprint("scheduler picked ", res.SuggestedHost, " not in ", top))
	}
	return out
}

// disagreed ends a look at which the scheduler and the step-by-step run differ.
// That is a mistake here, but for pools of devices that come in map order: then no
// two looks agree, and the case is redrawn.
func disagreed(out M, what string) M {
	if !richDRA {
		panic(what)
	}
	out["unstable"] = time.Now().UnixNano()
	return out
}

// profileSuite prints the default profile after upstream defaulting: plugins
// with weights per extension point, and the default plugin arguments.
func profileSuite(*G, int) (any, any, bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewSimpleClientset()
	rec := func(string) eventRecorder { return events.NewFakeRecorder(10) }
	var got config.KubeSchedulerProfile
	sched, err := scheduler.New(ctx, client, newInformerFactory(client), nil, rec,
		scheduler.WithBuildFrameworkCapturer(func(p config.KubeSchedulerProfile) { got = p }))
	if err != nil {
		panic(err)
	}
	args := M{}
	for _, c := range got.PluginConfig {
		args[c.Name] = c.Args
	}
	gates := M{}
	for f := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		gates[string(f)] = utilfeature.DefaultFeatureGate.Enabled(f)
	}
	return M{}, M{"plugins": sched.Profiles["default-scheduler"].ListPlugins(), "pluginArgs": args, "featureGates": gates}, true
}

// waitDRA waits until the DRA caches have seen all objects.
func waitDRA(m sharedDRAManager, in M) {
	for t := 0; t < 2000; t++ {
		if waitDRARich(m, in) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	panic("DRA caches did not fill")
}

func natLess(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// postFilter records preemption: all candidates (DryRunPreemption), the ones
// the evaluator may choose among (ties are broken by Go map order), and the
// framework's real PostFilter answer.
func postFilter(ctx context.Context, fw framework.Framework, dp *defaultpreemption.DefaultPreemption, state fwk.CycleState, pod *v1.Pod, fe *framework.FitError, out M) {
	m := fe.Diagnosis.NodeToStatus
	pf := M{}
	var cands []preemption.Candidate
	eligible, why := dp.PodEligibleToPreemptOthers(ctx, pod, m.Get(pod.Status.NominatedNodeName))
	potential, err := m.NodesForStatusCode(fw.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil {
		panic(err)
	}
	pn := []string{}
	for _, n := range potential {
		pn = append(pn, n.Node().Name)
	}
	sort.Slice(pn, func(i, j int) bool { return natLess(pn[i], pn[j]) })
	pf["potentialNodes"] = pn
	if !eligible {
		pf["notEligible"] = why
	} else if len(potential) > 0 {
		pdbs, err := dp.Evaluator.PdbLister.List(everything)
		if err != nil {
			panic(err)
		}
		_, num := dp.GetOffsetAndNumCandidates(int32(len(potential)))
		// With a state of its own: DynamicResources notes there which claims its
		// Filter could not use, and its PostFilter below would go by them.
		own := framework.NewCycleState()
		if _, st, _ := fw.RunPreFilterPlugins(ctx, own, pod); !st.IsSuccess() {
			panic(st.Message())
		}
		cs, dry, err := dp.Evaluator.DryRunPreemption(ctx, own, pod, potential, pdbs, 0, num)
		if err != nil {
			pf["dryRunError"] = err.Error()
		}
		cands = cs
		cj := M{}
		for _, c := range cs {
			vs := []string{}
			for _, v := range c.Victims().Pods {
				vs = append(vs, v.Namespace+"/"+v.Name)
			}
			// victims are in upstream's order
			cj[c.Name()] = M{"victims": vs, "numPDBViolations": c.Victims().NumPDBViolations}
		}
		pf["candidates"] = cj
		no := M{}
		dry.ForEachExplicitNode(func(n string, s *fwk.Status) { no[n] = statusJSON(s) })
		pf["noCandidate"] = no
	}
	r, s := fw.RunPostFilterPlugins(ctx, state, pod, m)
	fe.Diagnosis.PostFilterMsg = s.Message()
	for k, v := range statusJSON(s) {
		pf[k] = v
	}
	if r != nil && r.NominatingInfo != nil {
		pf["nominatingMode"] = nominatingMode(r)
		// The nominated node is one of "best"; with ties upstream takes any.
		best := bestCandidates(ctx, dp, cands)
		if r.NominatedNodeName != "" {
			found := false
			for _, b := range best {
				found = found || b == r.NominatedNodeName
			}
			if !found {
				panic(fmt.Sprint("nominated ", r.NominatedNodeName, " not among ", best))
			}
			pf["best"] = best
			if len(best) == 1 {
				pf["nominatedNodeName"] = best[0]
			}
		} else {
			pf["nominatedNodeName"] = ""
		}
	}
	out["postFilter"] = pf
}

// bestCandidates asks the real SelectCandidate (its tie-break is Go's random
// map order) pairwise until the set of equally good nodes is known.
func bestCandidates(ctx context.Context, dp *defaultpreemption.DefaultPreemption, cs []preemption.Candidate) []string {
	if len(cs) == 0 {
		return nil
	}
	w := dp.Evaluator.SelectCandidate(ctx, cs)
	out := []string{w.Name()}
	for _, c := range cs {
		if c.Name() == w.Name() {
			continue
		}
		for k := 0; k < 250; k++ {
			if dp.Evaluator.SelectCandidate(ctx, []preemption.Candidate{w, c}).Name() == c.Name() {
				out = append(out, c.Name())
				break
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return natLess(out[i], out[j]) })
	return out
}
