package main

// Generator of cluster states for suite schedule. A case is steered by a theme
// (slot i mod len(themes)), so that every plugin gets its share; other features
// are mixed in at a low rate.

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

var themes = []string{
	"generic", "generic", "generic", "generic", "generic",
	"taints", "taints", "nodeaffinity", "nodeaffinity", "nodeaffinity", "ports", "ports", "ports", "resources", "resources", "resources",
	"spreadhard", "spreadhard", "spreadhard", "spreadhard", "spreadhard", "spreadhard", "spreadsoft", "spreadsoft", "spreadsoft", "spreadsoft",
	"spreadlist", "spreadlist", "spreadlist", "spreadsystem", "spreadsystem",
	"affinity", "affinity", "affinity", "antiaffinity", "antiaffinity", "antiaffinity",
	"volbound", "volbound", "volbound", "volwait", "volwait", "volzone", "volzone", "volzone",
	"volrestrict", "volrestrict", "volrestrict", "vollimits", "vollimits", "vollimits",
	"nodename", "nodename", "nodename", "dra", "dra", "dra", "declared", "declared", "declared", "unsched", "unsched",
	"preempt", "preempt", "preempt", "preempt", "preempt", "preempt", "preempt", "preempt", "preemptpdb", "preemptpdb", "preemptpdb", "preemptpdb", "preemptpdb", "preempttie", "preempttie",
	"preemptports", "preemptports", "preemptanti", "preemptanti", "preemptspread", "preemptspread", "preemptnom", "preemptnom", "nominated", "nominated", "preempttie",
	"gates", "mix", "mix",
	"dra", "dra", "declared", "declared", "vollimits", "vollimits", "vollimits", "vollimits", "volrestrict", "volrestrict", "volrestrict", "volzone", "volzone", "nodename",
}

const (
	hostname = "kubernetes.io/hostname"
	zone     = "topology.kubernetes.io/zone"
	region   = "topology.kubernetes.io/region"
)

type cluster struct {
	g     *G
	theme string
	nodes []M
	pods  []M // existing (bound) and nominated pods
	pod   M   // the incoming pod
	objs  map[string]L
	cfg   L // pluginConfig
	nz    int
	npod  int
	t0    time.Time
	noST  bool
	used  map[int]v1.ResourceList
	cnt   map[int]int64
}

func (c *cluster) is(ts ...string) bool {
	for _, t := range ts {
		if t == c.theme {
			return true
		}
	}
	return false
}

// th gives p for the theme(s), otherwise q.
func (c *cluster) th(p, q float64, ts ...string) bool {
	if c.is(ts...) {
		return c.g.p(p)
	}
	if c.is("mix") {
		q = min(1, q*3)
	}
	return c.g.p(q)
}

func (c *cluster) add(kind string, o M) { c.objs[kind] = append(c.objs[kind], o) }

// big: themes about resources use larger requests.
func (c *cluster) big() bool {
	return c.is("resources", "preempt", "preemptpdb", "preemptnom", "preempttie", "nominated")
}

func isPreempt(t string) bool { return len(t) > 6 && t[:7] == "preempt" }

func genCluster(g *G, i int) *cluster {
	c := &cluster{g: g, theme: themes[i%len(themes)], objs: map[string]L{}, t0: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	n := pick(g, g.rng(3, 6), g.rng(3, 8), g.rng(5, 12), g.rng(3, 20))
	if g.p(0.04) {
		n = g.rng(20, 40)
	}
	if isPreempt(c.theme) {
		n = pick(g, g.rng(3, 5), g.rng(3, 8))
	}
	c.nz = g.rng(1, 4)
	missing := g.p(0.2)
	for j := 0; j < n; j++ {
		c.nodes = append(c.nodes, c.genNode(j, missing))
	}
	for _, ns := range []M{{"name": "default"}, {"name": "ns2", "labels": M{"team": "x"}}, {"name": "ns3", "labels": M{"team": "y", "env": "prod"}}} {
		c.add("namespaces", M{"metadata": ns})
	}
	per := pick(g, 0.5, 1.5, 2.5)
	if isPreempt(c.theme) {
		per = pick(g, 2.0, 3.0, 4.0)
	}
	if c.is("vollimits", "volrestrict") {
		per = pick(g, 1.5, 2.5)
	}
	if n > 12 {
		per = min(per, 1.5)
	}
	cnt := int(per*float64(n)) + g.rng(0, 2)
	if c.is("preempt", "preemptpdb", "preemptnom", "preempttie") {
		cnt = n * 7 // fill the nodes up
	}
	over := g.p(0.08) && !c.is("preempttie") // overcommitted nodes are possible too (shrunk nodes)
	for k := 0; k < cnt; k++ {
		j := g.IntN(n)
		p := c.genExisting(j)
		if !over && !c.fits(p, j) {
			c.pods = c.pods[:len(c.pods)-1]
		}
	}
	c.genIncoming()
	c.genOwners()
	c.genVolumes()
	c.genDRA()
	if c.th(1, 0.1, "preemptpdb", "preempt") {
		c.genPDBs()
	}
	c.genConfig()
	return c
}

// fits keeps generated clusters realistic: does pod p still fit in node j?
// (Only the generator uses this; answers come from the scheduler.)
func (c *cluster) fits(p M, j int) bool {
	if c.used == nil {
		c.used, c.cnt = map[int]v1.ResourceList{}, map[int]int64{}
	}
	alloc := decode[v1.Node](c.nodes[j]).Status.Allocatable
	if c.used[j] == nil {
		c.used[j] = v1.ResourceList{}
	}
	sum := v1.ResourceList{}
	for k, q := range resourcehelper.PodRequests(decode[v1.Pod](p), resourcehelper.PodResourcesOptions{}) {
		t := q.DeepCopy()
		t.Add(c.used[j][k])
		if a := alloc[k]; t.Cmp(a) > 0 {
			return false
		}
		sum[k] = t
	}
	if c.cnt[j]+1 > alloc.Pods().Value() {
		return false
	}
	c.cnt[j]++
	for k, q := range sum {
		c.used[j][k] = q
	}
	return true
}

func (c *cluster) genNode(j int, missing bool) M {
	g := c.g
	name := fmt.Sprintf("n%d", j)
	l := M{hostname: name, zone: fmt.Sprintf("z%d", g.IntN(c.nz)), region: pick(g, "r0", "r0", "r1")}
	if missing {
		if g.p(0.25) {
			delete(l, zone)
		}
		if g.p(0.15) {
			delete(l, hostname)
		}
	}
	if g.p(0.2) {
		delete(l, region)
	}
	if g.p(0.6) {
		l["disk"] = pick(g, "ssd", "hdd")
	}
	if g.p(0.4) {
		l["cores"] = pick(g, "4", "8", "16", "x")
	}
	if g.p(0.3) {
		l["rack"] = pick(g, "k0", "k1", "k2")
	}
	alloc := M{"cpu": pick(g, "2", "4", "4", "8", "3900m"), "memory": pick(g, "4Gi", "8Gi", "8Gi", "16Gi", "7900Mi"), "pods": "110"}
	if isPreempt(c.theme) {
		alloc["cpu"], alloc["memory"] = pick(g, "2", "4"), pick(g, "4Gi", "8Gi")
	}
	if c.th(0.3, 0.03, "resources", "preempt") {
		alloc["pods"] = pick(g, "2", "3", "4")
	}
	if g.p(0.85) {
		alloc["ephemeral-storage"] = pick(g, "10Gi", "50Gi")
	}
	if c.th(0.6, 0.2, "resources", "preempt") {
		alloc["example.com/gpu"] = pick(g, "0", "1", "2", "4")
	}
	node := M{"metadata": M{"name": name, "labels": l}, "status": M{"allocatable": alloc}}
	spec := M{}
	taints := L{}
	if c.th(0.2, 0.02, "unsched") {
		spec["unschedulable"] = true
		if g.p(0.6) {
			taints = append(taints, M{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
		}
	}
	if c.th(0.55, 0.08, "taints") {
		for k := 0; k < g.rng(1, 2); k++ {
			t := M{"key": pick(g, "dedicated", "flaky", "maint"), "effect": pick(g, "NoSchedule", "NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute")}
			if g.p(0.7) {
				t["value"] = pick(g, "a", "b")
			}
			taints = append(taints, t)
		}
	}
	if len(taints) > 0 {
		spec["taints"] = taints
	}
	if len(spec) > 0 {
		node["spec"] = spec
	}
	if g.p(0.35) {
		imgs := L{}
		for _, im := range sample(g, g.rng(1, 3), []string{"reg/app:v1", "reg/big:v2", "reg/init:1", "reg/other:latest"}) {
			imgs = append(imgs, M{"names": L{im}, "sizeBytes": map[string]int64{"reg/app:v1": 90e6, "reg/big:v2": 1300e6, "reg/init:1": 15e6, "reg/other:latest": 400e6}[im]})
		}
		node["status"].(M)["images"] = imgs
	}
	if c.th(0.5, 0, "declared") {
		node["status"].(M)["declaredFeatures"] = pick(g, L{"UserNamespacesHostNetworkSupport"}, L{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}, L{"RestartAllContainersOnContainerExits"})
	}
	return node
}

func (c *cluster) labels() M {
	g := c.g
	m := M{}
	if g.p(0.92) {
		m["app"] = pick(g, "a", "a", "b", "c")
		if c.is("preemptanti", "preemptspread") {
			m["app"] = pick(g, "a", "a", "a", "a", "a", "b")
		}
	}
	if g.p(0.5) {
		m["tier"] = pick(g, "x", "y")
	}
	if g.p(0.3) {
		m["pod-template-hash"] = pick(g, "h1", "h2")
	}
	return m
}

func (c *cluster) ns() string {
	if c.is("preemptpdb") {
		return pick(c.g, "default", "default", "default", "default", "ns2")
	}
	return pick(c.g, "default", "default", "default", "ns2", "ns3")
}

// selector over pod labels.
func (c *cluster) sel() M {
	g := c.g
	switch g.IntN(8) {
	case 0:
		return M{"matchExpressions": L{M{"key": "app", "operator": pick(g, "In", "NotIn"), "values": sample(g, g.rng(1, 2), []string{"a", "b", "c"})}}}
	case 1:
		return M{"matchExpressions": L{M{"key": pick(g, "tier", "app", "none"), "operator": pick(g, "Exists", "DoesNotExist")}}}
	case 2:
		return M{"matchLabels": M{"app": pick(g, "a", "b"), "tier": pick(g, "x", "y")}}
	case 3:
		if g.p(0.3) {
			return M{}
		}
	}
	return M{"matchLabels": M{"app": pick(g, "a", "a", "b", "c")}}
}

// term is a PodAffinityTerm.
func (c *cluster) term(keys ...string) M {
	g := c.g
	t := M{"topologyKey": pick(g, keys...)}
	if g.p(0.96) {
		t["labelSelector"] = c.sel()
	}
	switch g.IntN(9) {
	case 0:
		t["namespaces"] = sample(g, g.rng(1, 2), []string{"default", "ns2", "ns3"})
	case 1:
		t["namespaceSelector"] = pick(g, M{}, M{"matchLabels": M{"team": "x"}}, M{"matchExpressions": L{M{"key": "team", "operator": "Exists"}}})
	case 2:
		t["namespaces"], t["namespaceSelector"] = L{"ns2"}, M{"matchLabels": M{"env": "prod"}}
	case 3:
		if t["labelSelector"] != nil && g.p(0.6) {
			t[pick(g, "matchLabelKeys", "matchLabelKeys", "mismatchLabelKeys")] = L{"pod-template-hash"}
		}
	}
	return t
}

func (c *cluster) requests(scale int) M {
	g := c.g
	r := M{}
	if g.p(0.85) {
		r["cpu"] = pick(g, "50m", "100m", "250m", "0.5", "500m", "300m", "1")
		if scale > 1 {
			r["cpu"] = pick(g, "250m", "500m", "500m", "1", "1500m", "2")
		}
	}
	if g.p(0.8) {
		r["memory"] = pick(g, "64Mi", "128Mi", "256Mi", "512Mi", "0.5Gi", "200M", "1Gi")
		if scale > 1 {
			r["memory"] = pick(g, "512Mi", "512Mi", "1Gi", "2Gi", "3Gi")
		}
	}
	if g.p(0.1) {
		r["ephemeral-storage"] = pick(g, "1Gi", "5Gi", "20Gi")
	}
	return r
}

func (c *cluster) container(name string, scale int) M {
	g := c.g
	ct := M{"name": name, "image": pick(g, "x", "x", "reg/app:v1", "reg/big:v2", "reg/other", "reg/init:1")}
	res := M{}
	if r := c.requests(scale); len(r) > 0 {
		res["requests"] = r
		if g.p(0.08) {
			l := M{}
			for k, v := range r {
				l[k] = v
			}
			res["limits"] = l
		}
	}
	if c.th(0.35, 0.04, "resources") {
		q := pick(g, "1", "1", "2", "3")
		if res["requests"] == nil {
			res["requests"] = M{}
		}
		if res["limits"] == nil {
			res["limits"] = M{}
		}
		res["requests"].(M)["example.com/gpu"], res["limits"].(M)["example.com/gpu"] = q, q
	}
	if len(res) > 0 {
		ct["resources"] = res
	}
	return ct
}

func (c *cluster) hostPort() M {
	g := c.g
	p := pick(g, 80, 80, 443, 8080)
	m := M{"containerPort": p, "hostPort": p}
	if g.p(0.4) {
		m["protocol"] = pick(g, "TCP", "UDP", "SCTP")
	}
	if g.p(0.35) {
		m["hostIP"] = pick(g, "127.0.0.1", "0.0.0.0", "10.0.0.1")
	}
	return m
}

// base makes a pod's common parts.
func (c *cluster) base(ns string, scale int) M {
	g := c.g
	meta := M{"name": fmt.Sprintf("p%d", c.npod), "namespace": ns, "uid": fmt.Sprintf("u%d", c.npod)}
	c.npod++
	if l := c.labels(); len(l) > 0 {
		meta["labels"] = l
	}
	cs := L{c.container("c0", scale)}
	if g.p(0.2) {
		cs = append(cs, c.container("c1", scale))
	}
	spec := M{"containers": cs}
	if g.p(0.12) {
		ic := c.container("i0", scale)
		if g.p(0.5) {
			ic["restartPolicy"] = "Always"
		}
		ics := L{ic}
		if g.p(0.4) {
			ics = append(ics, c.container("i1", scale))
		}
		spec["initContainers"] = ics
	}
	if g.p(0.05) { // pod-level resources
		r := M{"cpu": "3", "memory": pick(g, "4Gi", "5Gi")} // not less than the containers'
		if g.p(0.3) {
			delete(r, pick(g, "cpu", "memory"))
		}
		spec["resources"] = M{"requests": r}
	}
	if g.p(0.05) {
		spec["overhead"] = M{"cpu": "250m", "memory": "120Mi"}
	}
	return M{"metadata": meta, "spec": spec}
}

func (c *cluster) genExisting(node int) M {
	g := c.g
	scale := 1
	if c.big() {
		scale = 2
	}
	p := c.base(c.ns(), scale)
	spec := p["spec"].(M)
	spec["nodeName"] = fmt.Sprintf("n%d", node)
	prio := pick(g, 0, 0, 0, 10, 100, -10, 1000)
	if isPreempt(c.theme) {
		prio = pick(g, 0, 0, 5, 10, 10, 50, -10, 2000000000)
		if prio == 2000000000 && g.p(0.6) {
			prio = 0
		}
	}
	if prio != 0 || g.p(0.5) {
		spec["priority"] = prio
	}
	// Distinct start times on one node: upstream sorts victims with an unstable
	// sort and equal keys would make the answer depend on the sort's internals.
	off := g.IntN(1000)*1000 + c.npod
	if c.is("preempttie") { // alike nodes
		prio = 0
		spec["priority"] = 0
		spec["containers"] = L{M{"name": "c0", "image": "x", "resources": M{"requests": M{"cpu": "1"}}}}
		delete(spec, "initContainers")
		off = 3600 * int(c.cnt[node])
	}
	st := M{"phase": "Running", "startTime": c.t0.Add(time.Duration(off) * time.Second).Format(time.RFC3339)}
	if !c.noST && g.p(0.01) {
		c.noST = true // at most one pod without a start time (means "now")
		delete(st, "startTime")
		st["phase"] = "Pending"
	}
	p["status"] = st
	if c.th(0.12, 0.04, "preemptnom", "spreadhard", "affinity") {
		p["metadata"].(M)["deletionTimestamp"] = "2026-02-01T00:00:00Z"
		if g.p(0.5) {
			st["conditions"] = L{M{"type": "DisruptionTarget", "status": "True", "reason": pick(g, "PreemptionByScheduler", "EvictionByEvictionAPI")}}
		}
	}
	if c.is("preemptports") && g.p(0.9) {
		spec["containers"].(L)[0].(M)["ports"] = L{M{"containerPort": 80, "hostPort": 80}}
	} else if c.th(0.45, 0.04, "ports") {
		spec["containers"].(L)[0].(M)["ports"] = L{c.hostPort()}
	}
	aff := M{}
	if c.th(0.3, 0.03, "antiaffinity", "preemptanti") {
		aff["podAntiAffinity"] = M{"requiredDuringSchedulingIgnoredDuringExecution": L{c.term(hostname, hostname, zone)}}
	} else if c.th(0.25, 0.04, "affinity", "antiaffinity") {
		k := pick(g, "podAffinity", "podAntiAffinity")
		aff[k] = M{"preferredDuringSchedulingIgnoredDuringExecution": L{M{"weight": pick(g, 1, 10, 50, 100), "podAffinityTerm": c.term(hostname, zone, zone, "rack")}}}
	} else if c.th(0.2, 0.02, "affinity") {
		aff["podAffinity"] = M{"requiredDuringSchedulingIgnoredDuringExecution": L{c.term(hostname, zone)}}
	}
	if len(aff) > 0 {
		spec["affinity"] = aff
	}
	c.pods = append(c.pods, p)
	return p
}

func (c *cluster) nodeReq() M {
	g := c.g
	switch g.IntN(7) {
	case 0:
		return M{"key": zone, "operator": pick(g, "In", "NotIn"), "values": sample(g, g.rng(1, 2), []string{"z0", "z1", "z2"})}
	case 1:
		return M{"key": "cores", "operator": pick(g, "Gt", "Lt"), "values": L{pick(g, "4", "7", "8")}}
	case 2:
		return M{"key": pick(g, "rack", "disk", "cores"), "operator": pick(g, "Exists", "DoesNotExist")}
	}
	return M{"key": "disk", "operator": pick(g, "In", "In", "NotIn"), "values": sample(g, g.rng(1, 2), []string{"ssd", "hdd"})}
}

func (c *cluster) nodeTerm() M {
	g := c.g
	t := M{}
	if g.p(0.9) {
		e := L{c.nodeReq()}
		if g.p(0.3) {
			e = append(e, c.nodeReq())
		}
		t["matchExpressions"] = e
	}
	if g.p(0.12) {
		t["matchFields"] = L{M{"key": "metadata.name", "operator": pick(g, "In", "In", "NotIn"), "values": L{fmt.Sprintf("n%d", g.IntN(len(c.nodes)+1))}}}
	}
	return t
}

func (c *cluster) spread(hard bool) M {
	g := c.g
	t := M{"maxSkew": pick(g, 1, 1, 1, 2, 3), "topologyKey": pick(g, zone, zone, hostname, hostname, "rack", region), "whenUnsatisfiable": "ScheduleAnyway"}
	if hard {
		t["whenUnsatisfiable"] = "DoNotSchedule"
		if g.p(0.3) {
			t["minDomains"] = pick(g, 1, 2, 3, 5)
		}
	}
	if g.p(0.95) {
		t["labelSelector"] = c.sel()
		if g.p(0.7) {
			t["labelSelector"] = M{"matchLabels": M{"app": "a"}}
		}
		if g.p(0.15) {
			t["matchLabelKeys"] = L{"pod-template-hash"}
		}
	}
	if g.p(0.25) {
		t["nodeAffinityPolicy"] = pick(g, "Honor", "Ignore")
	}
	if g.p(0.3) {
		t["nodeTaintsPolicy"] = pick(g, "Honor", "Ignore")
	}
	return t
}

func (c *cluster) genIncoming() {
	g := c.g
	scale := 1
	if c.big() {
		scale = 2
	}
	ns := "default"
	if g.p(0.1) {
		ns = "ns2"
	}
	p := c.base(ns, scale)
	p["metadata"].(M)["name"], p["metadata"].(M)["uid"] = "incoming", "uin"
	if c.is("spreadhard", "spreadsoft", "spreadlist", "spreadsystem", "preemptspread", "affinity", "antiaffinity") && g.p(0.8) {
		p["metadata"].(M)["labels"] = M{"app": "a", "tier": "x", "pod-template-hash": "h1"}
	}
	spec := p["spec"].(M)
	if isPreempt(c.theme) {
		spec["priority"] = pick(g, 100, 1000, 1000, 7, 2000000000)
		if g.p(0.05) {
			spec["preemptionPolicy"] = "Never"
		}
		if c.is("preempt", "preemptpdb", "preemptnom", "preempttie") {
			spec["containers"].(L)[0].(M)["resources"] = M{"requests": M{"cpu": pick(g, "1", "1500m", "2"), "memory": pick(g, "1Gi", "2Gi", "3Gi")}}
		}
	} else if g.p(0.4) {
		spec["priority"] = pick(g, 0, 10, 100, 1000)
	}
	// node selection
	if c.th(0.5, 0.06, "nodeaffinity") {
		spec["nodeSelector"] = pick(g, M{"disk": "ssd"}, M{"disk": "hdd"}, M{zone: "z0"}, M{zone: "z1", "disk": "ssd"})
	}
	aff := M{}
	na := M{}
	if c.th(0.6, 0.08, "nodeaffinity") {
		ts := L{c.nodeTerm()}
		if g.p(0.4) {
			ts = append(ts, c.nodeTerm())
		}
		na["requiredDuringSchedulingIgnoredDuringExecution"] = M{"nodeSelectorTerms": ts}
	}
	if c.th(0.6, 0.12, "nodeaffinity") {
		ts := L{}
		for k := 0; k < g.rng(1, 3); k++ {
			ts = append(ts, M{"weight": pick(g, 1, 5, 20, 100), "preference": M{"matchExpressions": L{c.nodeReq()}}})
		}
		na["preferredDuringSchedulingIgnoredDuringExecution"] = ts
	}
	if len(na) > 0 {
		aff["nodeAffinity"] = na
	}
	// inter-pod affinity
	pa, pn := M{}, M{}
	if c.th(0.65, 0.03, "affinity") {
		ts := L{c.term(hostname, zone, zone, region)}
		if g.p(0.25) {
			ts = append(ts, c.term(zone, region))
		}
		pa["requiredDuringSchedulingIgnoredDuringExecution"] = ts
	}
	if c.th(0.5, 0.06, "affinity") {
		pa["preferredDuringSchedulingIgnoredDuringExecution"] = L{M{"weight": pick(g, 1, 30, 100), "podAffinityTerm": c.term(hostname, zone, "rack")}}
	}
	if c.th(0.65, 0.03, "antiaffinity", "preemptanti") {
		pn["requiredDuringSchedulingIgnoredDuringExecution"] = L{c.term(hostname, hostname, zone)}
	}
	if c.is("preemptanti") && g.p(0.8) {
		pn["requiredDuringSchedulingIgnoredDuringExecution"] = L{M{"topologyKey": pick(g, hostname, hostname, zone), "labelSelector": M{"matchLabels": M{"app": "a"}}, "namespaceSelector": M{}}}
	}
	if c.th(0.4, 0.05, "antiaffinity") {
		pn["preferredDuringSchedulingIgnoredDuringExecution"] = L{M{"weight": pick(g, 1, 30, 100), "podAffinityTerm": c.term(hostname, zone, "rack")}}
	}
	if len(pa) > 0 {
		aff["podAffinity"] = pa
	}
	if len(pn) > 0 {
		aff["podAntiAffinity"] = pn
	}
	if len(aff) > 0 {
		spec["affinity"] = aff
	}
	// tolerations
	if c.th(0.6, 0.1, "taints", "unsched") {
		ts := L{}
		for k := 0; k < g.rng(1, 2); k++ {
			t := M{}
			switch g.IntN(6) {
			case 0:
				t["operator"] = "Exists"
				if g.p(0.7) {
					t["effect"] = pick(g, "NoSchedule", "PreferNoSchedule", "NoExecute")
				}
			case 1:
				t["key"], t["operator"] = pick(g, "dedicated", "flaky", "maint", "node.kubernetes.io/unschedulable"), "Exists"
			default:
				t["key"] = pick(g, "dedicated", "flaky", "maint")
				if g.p(0.5) {
					t["operator"] = "Equal"
				}
				if g.p(0.85) {
					t["value"] = pick(g, "a", "b")
				}
				if g.p(0.5) {
					t["effect"] = pick(g, "NoSchedule", "PreferNoSchedule", "NoExecute")
				}
			}
			ts = append(ts, t)
		}
		spec["tolerations"] = ts
	}
	// topology spread
	var tsc L
	if c.th(1, 0.12, "spreadhard", "preemptspread") {
		tsc = append(tsc, c.spread(true))
		if c.is("preemptspread") {
			t := M{"maxSkew": 1, "topologyKey": zone, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": M{"matchLabels": M{"app": "a"}}}
			if g.p(0.7) { // another, empty zone counts, but cannot be used
				t["nodeAffinityPolicy"], spec["nodeSelector"] = "Ignore", M{zone: "z0"}
			}
			tsc = L{t}
		}
		if g.p(0.3) {
			tsc = append(tsc, c.spread(g.p(0.6)))
		}
	}
	if c.th(1, 0.12, "spreadsoft") {
		tsc = append(tsc, c.spread(false))
		if g.p(0.4) {
			tsc = append(tsc, c.spread(false))
		}
	}
	if len(tsc) > 0 && !c.is("spreadlist", "spreadsystem") {
		// the API forbids duplicate {topologyKey, whenUnsatisfiable}
		seen, out := map[string]bool{}, L{}
		for _, t := range tsc {
			k := fmt.Sprint(t.(M)["topologyKey"], t.(M)["whenUnsatisfiable"])
			if !seen[k] {
				seen[k] = true
				out = append(out, t)
			}
		}
		spec["topologySpreadConstraints"] = out
	}
	if c.th(0.9, 0.04, "ports", "preemptports") {
		ps := L{c.hostPort()}
		if c.is("preemptports") {
			ps = L{M{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}}
		}
		if q := c.hostPort(); g.p(0.3) && q["hostPort"] != ps[0].(M)["hostPort"] {
			ps = append(ps, q)
		}
		spec["containers"].(L)[0].(M)["ports"] = ps
	}
	if c.is("nodename") {
		spec["nodeName"] = fmt.Sprintf("n%d", g.IntN(len(c.nodes)))
	}
	if c.is("declared") {
		if g.p(0.6) {
			spec["hostNetwork"], spec["hostUsers"] = true, false
		} else {
			ct := spec["containers"].(L)[0].(M)
			ct["restartPolicy"] = "Never"
			ct["restartPolicyRules"] = L{M{"action": "RestartAllContainers", "exitCodes": M{"operator": "In", "values": L{42}}}}
		}
	}
	if c.is("gates") && g.p(0.7) {
		spec["schedulingGates"] = L{M{"name": "example.com/wait"}}
	}
	if c.is("preemptnom", "nominated") {
		if g.p(0.5) {
			p["status"] = M{"nominatedNodeName": fmt.Sprintf("n%d", g.IntN(len(c.nodes)))}
		}
		for k := 0; k < g.rng(1, 2); k++ { // other pods already nominated to nodes
			q := c.genExisting(g.IntN(len(c.nodes)))
			qs := q["spec"].(M)
			q["status"] = M{"phase": "Pending", "nominatedNodeName": qs["nodeName"]}
			delete(q["metadata"].(M), "deletionTimestamp")
			delete(qs, "nodeName")
			qs["priority"] = pick(g, 0, 500, 1000, 5000)
		}
	}
	c.pod = p
}

// genOwners adds services and controllers (they matter for default spreading).
func (c *cluster) genOwners() {
	g := c.g
	l, _ := c.pod["metadata"].(M)["labels"].(M)
	ns := c.pod["metadata"].(M)["namespace"]
	if c.th(0.6, 0.25, "spreadlist", "spreadsystem") {
		s := M{"app": "a"}
		if v, ok := l["app"]; ok {
			s["app"] = v
		}
		c.add("services", M{"metadata": M{"name": "s0", "namespace": ns}, "spec": M{"selector": s}})
	}
	if c.th(0.6, 0.15, "spreadlist", "spreadsystem") && len(l) > 0 {
		kind := pick(g, "ReplicaSet", "ReplicaSet", "StatefulSet", "ReplicationController")
		av, key := "apps/v1", "replicaSets"
		sel := M{}
		for k, v := range l {
			sel[k] = v
		}
		if g.p(0.5) {
			delete(sel, "tier")
		}
		spec := M{"selector": M{"matchLabels": sel}, "template": M{"metadata": M{"labels": l}, "spec": M{"containers": L{}}}}
		switch kind {
		case "StatefulSet":
			key = "statefulSets"
			spec["serviceName"] = "x"
		case "ReplicationController":
			av, key = "v1", "replicationControllers"
			spec = M{"selector": sel}
		}
		if len(sel) > 0 {
			c.pod["metadata"].(M)["ownerReferences"] = L{M{"apiVersion": av, "kind": kind, "name": "o0", "uid": "o", "controller": true}}
			c.add(key, M{"metadata": M{"name": "o0", "namespace": ns}, "spec": spec})
		}
	}
}

func (c *cluster) genPDBs() {
	g := c.g
	for k := 0; k < g.rng(1, 3); k++ {
		pdb := M{"metadata": M{"name": fmt.Sprint("pdb", k), "namespace": pick(g, "default", "default", "default", "ns2")},
			"spec": M{"maxUnavailable": 1}, "status": M{"disruptionsAllowed": pick(g, 0, 0, 0, 1, 2), "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}}
		switch g.IntN(6) {
		case 0:
			pdb["spec"].(M)["selector"] = M{}
		case 1: // no selector
		case 2:
			pdb["spec"].(M)["selector"] = c.sel()
		default:
			pdb["spec"].(M)["selector"] = M{"matchLabels": M{"app": pick(g, "a", "a", "b")}}
		}
		if g.p(0.15) && len(c.pods) > 0 {
			pdb["status"].(M)["disruptedPods"] = M{pick(g, c.pods...)["metadata"].(M)["name"].(string): "2026-01-01T00:00:00Z"}
		}
		c.add("podDisruptionBudgets", pdb)
	}
}

func addVol(p M, v M) {
	s := p["spec"].(M)
	l, _ := s["volumes"].(L)
	v["name"] = fmt.Sprint("v", len(l))
	s["volumes"] = append(l, v)
}

func pvcVol(name string) M { return M{"persistentVolumeClaim": M{"claimName": name}} }

// pv/pvc pair, bound unless claim is to stay unbound.
func (c *cluster) boundPVC(ns any, name, mode string, pvSpec, pvLabels M) {
	meta := M{"name": "pv-" + name}
	if len(pvLabels) > 0 {
		meta["labels"] = pvLabels
	}
	spec := M{"capacity": M{"storage": "1Gi"}, "accessModes": L{mode}, "storageClassName": "std", "claimRef": M{"namespace": ns, "name": name, "uid": "c-" + name}}
	if pvSpec["csi"] == nil {
		spec["hostPath"] = M{"path": "/x"}
	}
	for k, v := range pvSpec {
		spec[k] = v
	}
	c.add("persistentVolumes", M{"metadata": meta, "spec": spec, "status": M{"phase": "Bound"}})
	c.add("persistentVolumeClaims", M{"metadata": M{"name": name, "namespace": ns, "uid": "c-" + name, "annotations": M{"pv.kubernetes.io/bind-completed": "yes"}},
		"spec":   M{"accessModes": L{mode}, "storageClassName": "std", "volumeName": "pv-" + name, "resources": M{"requests": M{"storage": "1Gi"}}},
		"status": M{"phase": "Bound"}})
}

func zoneAff(key string, zs ...any) M {
	return M{"required": M{"nodeSelectorTerms": L{M{"matchExpressions": L{M{"key": key, "operator": "In", "values": L(zs)}}}}}}
}

func (c *cluster) genVolumes() {
	g := c.g
	ns := c.pod["metadata"].(M)["namespace"]
	z := func() any { return fmt.Sprintf("z%d", g.IntN(c.nz+1)) }
	switch {
	case c.is("volbound"):
		for k := 0; k < g.rng(1, 2); k++ {
			n := fmt.Sprint("d", k)
			var aff M
			switch g.IntN(3) {
			case 0:
				aff = zoneAff(hostname, fmt.Sprintf("n%d", g.IntN(len(c.nodes))))
			default:
				aff = zoneAff(zone, z(), z())
			}
			c.boundPVC(ns, n, "ReadWriteOnce", M{"nodeAffinity": aff}, nil)
			addVol(c.pod, pvcVol(n))
		}
	case c.is("volzone"):
		key, v := zone, fmt.Sprint(z())
		if g.p(0.3) {
			v = v + "__" + fmt.Sprint(z())
		}
		if g.p(0.2) {
			key, v = region, pick(g, "r0", "r1")
		}
		if g.p(0.2) {
			key = "failure-domain.beta.kubernetes.io/zone"
		}
		c.boundPVC(ns, "d0", "ReadWriteOnce", M{}, M{key: v})
		addVol(c.pod, pvcVol("d0"))
	case c.is("volwait"):
		sc := M{"metadata": M{"name": "wait"}, "provisioner": pick(g, "csi.x", "csi.x", "kubernetes.io/no-provisioner"), "volumeBindingMode": "WaitForFirstConsumer"}
		if g.p(0.5) {
			sc["allowedTopologies"] = L{M{"matchLabelExpressions": L{M{"key": zone, "values": L{z()}}}}}
		}
		cls := "wait"
		if g.p(0.15) {
			sc["volumeBindingMode"] = "Immediate"
		}
		c.add("storageClasses", sc)
		if g.p(0.6) { // pre-provisioned PVs that could be chosen
			for k := 0; k < g.rng(1, 3); k++ {
				c.add("persistentVolumes", M{"metadata": M{"name": fmt.Sprint("av", k)},
					"spec": M{"capacity": M{"storage": pick(g, "1Gi", "5Gi", "500Mi")}, "accessModes": L{"ReadWriteOnce"}, "storageClassName": "wait",
						"hostPath": M{"path": "/x"}, "nodeAffinity": zoneAff(pick(g, zone, zone, hostname), z(), fmt.Sprintf("n%d", g.IntN(len(c.nodes))))},
					"status": M{"phase": "Available"}})
			}
		}
		name := "d0"
		if g.p(0.1) {
			name = "missing"
		}
		c.add("persistentVolumeClaims", M{"metadata": M{"name": "d0", "namespace": ns, "uid": "c-d0"},
			"spec":   M{"accessModes": L{"ReadWriteOnce"}, "storageClassName": cls, "resources": M{"requests": M{"storage": "1Gi"}}},
			"status": M{"phase": "Pending"}})
		addVol(c.pod, pvcVol(name))
	case c.is("volrestrict"):
		if g.p(0.45) && len(c.pods) > 0 {
			mode := pick(g, "ReadWriteOncePod", "ReadWriteOncePod", "ReadWriteOnce")
			c.boundPVC(ns, "d0", mode, M{}, nil)
			addVol(c.pod, pvcVol("d0"))
			q := pick(g, c.pods...)
			q["metadata"].(M)["namespace"] = ns
			addVol(q, pvcVol("d0"))
			if g.p(0.4) {
				c.pod["spec"].(M)["priority"], q["spec"].(M)["priority"] = 1000, 0
			}
		} else {
			mk := func() M {
				ro := g.p(0.25)
				switch g.IntN(4) {
				case 0:
					return M{"gcePersistentDisk": M{"pdName": pick(g, "pd1", "pd2"), "readOnly": ro}}
				case 1:
					return M{"awsElasticBlockStore": M{"volumeID": pick(g, "e1", "e2"), "readOnly": ro}}
				case 2:
					return M{"iscsi": M{"targetPortal": "1.2.3.4", "iqn": pick(g, "iqn.2026-01.com.example:q1", "iqn.2026-01.com.example:q2"), "lun": 0, "readOnly": ro}}
				}
				return M{"rbd": M{"monitors": L{"m1"}, "image": pick(g, "i1", "i2"), "pool": "rbd", "readOnly": ro}}
			}
			v := mk()
			addVol(c.pod, v)
			for _, q := range c.pods {
				if g.p(0.75) {
					w := mk()
					if g.p(0.5) {
						w = M{}
						for k, x := range v {
							w[k] = x
						}
					}
					addVol(q, w)
				}
			}
			if g.p(0.3) {
				c.pod["spec"].(M)["priority"] = 5000
			}
		}
	case c.is("vollimits"):
		lim := pick(g, 1, 1, 2)
		for j := range c.nodes {
			if g.p(0.9) {
				c.add("csiNodes", M{"metadata": M{"name": fmt.Sprintf("n%d", j)},
					"spec": M{"drivers": L{M{"name": "csi.x", "nodeID": fmt.Sprintf("n%d", j), "topologyKeys": nil, "allocatable": M{"count": lim}}}}})
			}
		}
		k := 0
		mk := func(p M) {
			n := fmt.Sprint("d", k)
			k++
			c.boundPVC(p["metadata"].(M)["namespace"], n, "ReadWriteOnce", M{"csi": M{"driver": pick(g, "csi.x", "csi.x", "csi.x", "csi.y"), "volumeHandle": pick(g, "h"+n, "shared")}}, nil)
			addVol(p, pvcVol(n))
		}
		for j := 0; j < g.rng(1, 2); j++ {
			mk(c.pod)
		}
		for _, q := range c.pods {
			for j := 0; j < g.rng(1, 2); j++ {
				mk(q)
			}
		}
	}
	if c.th(0, 0.03, "mix") && !c.is("volbound", "volzone", "volwait", "volrestrict", "vollimits") {
		c.boundPVC(ns, "d0", "ReadWriteOnce", M{"nodeAffinity": zoneAff(zone, z(), z())}, nil)
		addVol(c.pod, pvcVol("d0"))
	}
	if c.objs["persistentVolumeClaims"] != nil && c.objs["storageClasses"] == nil && g.p(0.8) {
		c.add("storageClasses", M{"metadata": M{"name": "std"}, "provisioner": "csi.x", "volumeBindingMode": "WaitForFirstConsumer"})
	}
}

// genDRA adds resource slices and claims (structured parameters).
func (c *cluster) genDRA() {
	if !c.is("dra") {
		return
	}
	g := c.g
	if richDRA && g.p(0.92) {
		c.genDRARich()
		return
	}
	ns := c.pod["metadata"].(M)["namespace"]
	c.add("deviceClasses", M{"metadata": M{"name": "gpu"}, "spec": M{"selectors": L{M{"cel": M{"expression": "device.driver == 'gpu.example.com'"}}}}})
	type dev struct{ node, name string }
	var devs []dev
	for j := range c.nodes {
		if !g.p(0.6) {
			continue
		}
		ds := L{}
		for k := 0; k < g.rng(1, 2); k++ {
			ds = append(ds, M{"name": fmt.Sprint("dev", k)})
			devs = append(devs, dev{fmt.Sprintf("n%d", j), fmt.Sprint("dev", k)})
		}
		n := fmt.Sprintf("n%d", j)
		c.add("resourceSlices", M{"metadata": M{"name": "s-" + n}, "spec": M{"driver": "gpu.example.com", "nodeName": n, "devices": ds,
			"pool": M{"name": n, "generation": 1, "resourceSliceCount": 1}}})
	}
	for k, d := range devs { // some devices are taken by other claims
		if g.p(0.3) {
			c.add("resourceClaims", M{"metadata": M{"name": fmt.Sprint("used", k), "namespace": "ns3", "uid": fmt.Sprint("rc", k)},
				"spec": M{"devices": M{"requests": L{M{"name": "r", "exactly": M{"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}}}},
				"status": M{"allocation": M{"devices": M{"results": L{M{"request": "r", "driver": "gpu.example.com", "pool": d.node, "device": d.name}}},
					"nodeSelector": M{"nodeSelectorTerms": L{M{"matchFields": L{M{"key": "metadata.name", "operator": "In", "values": L{d.node}}}}}}}}})
		}
	}
	if g.p(0.93) {
		c.add("resourceClaims", M{"metadata": M{"name": "mine", "namespace": ns, "uid": "rcm"},
			"spec": M{"devices": M{"requests": L{M{"name": "r", "exactly": M{"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": pick(g, 1, 1, 2)}}}}}})
	}
	spec := c.pod["spec"].(M)
	spec["resourceClaims"] = L{M{"name": "g", "resourceClaimName": "mine"}}
	ct := spec["containers"].(L)[0].(M)
	if ct["resources"] == nil {
		ct["resources"] = M{}
	}
	ct["resources"].(M)["claims"] = L{M{"name": "g"}}
}

// genConfig makes the KubeSchedulerConfiguration pluginConfig.
func (c *cluster) genConfig() {
	g := c.g
	// All potential nodes are preemption candidates: no sampling.
	c.cfg = L{M{"name": "DefaultPreemption", "args": M{"minCandidateNodesPercentage": 100, "minCandidateNodesAbsolute": 100}}}
	if c.is("spreadlist") || (c.is("generic", "mix") && g.p(0.3)) {
		dc := L{}
		for _, k := range sample(g, g.rng(0, 2), []string{zone, hostname, "rack", region}) {
			dc = append(dc, M{"maxSkew": pick(g, 1, 1, 2, 5), "topologyKey": k, "whenUnsatisfiable": pick(g, "ScheduleAnyway", "DoNotSchedule")})
		}
		a := M{"defaultingType": "List"}
		if len(dc) > 0 {
			a["defaultConstraints"] = dc
		}
		c.cfg = append(c.cfg, M{"name": "PodTopologySpread", "args": a})
	}
	if c.th(0.25, 0.03, "affinity") {
		a := M{"hardPodAffinityWeight": pick(g, 0, 1, 10, 100)}
		if g.p(0.3) {
			a["ignorePreferredTermsOfExistingPods"] = true
		}
		c.cfg = append(c.cfg, M{"name": "InterPodAffinity", "args": a})
	}
	if c.th(0.2, 0.02, "nodeaffinity") {
		c.cfg = append(c.cfg, M{"name": "NodeAffinity", "args": M{"addedAffinity": M{"requiredDuringSchedulingIgnoredDuringExecution": M{
			"nodeSelectorTerms": L{M{"matchExpressions": L{M{"key": "disk", "operator": "Exists"}}}}}}}})
	}
	if c.th(0.3, 0.04, "resources") {
		res := L{M{"name": "cpu", "weight": pick(g, 1, 3)}, M{"name": "memory", "weight": 1}}
		if g.p(0.5) {
			res = append(res, M{"name": "example.com/gpu", "weight": pick(g, 1, 5)})
		}
		s := M{"type": pick(g, "MostAllocated", "LeastAllocated", "RequestedToCapacityRatio"), "resources": res}
		if s["type"] == "RequestedToCapacityRatio" {
			s["requestedToCapacityRatio"] = M{"shape": L{M{"utilization": 0, "score": pick(g, 0, 10)}, M{"utilization": 70, "score": 6}, M{"utilization": 100, "score": pick(g, 0, 10)}}}
		}
		c.cfg = append(c.cfg, M{"name": "NodeResourcesFit", "args": M{"scoringStrategy": s}})
	}
}
