package main

import (
	"fmt"
	"reflect"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
)

const gpuD, nicD = "gpu.example.com", "nic.example.com"

var goodCEL = []string{
	`device.driver == "gpu.example.com"`,
	`device.attributes["gpu.example.com"].model == "a"`,
	`has(device.attributes["gpu.example.com"].model) && device.attributes["gpu.example.com"].model in ["a", "b"]`,
	`device.attributes["gpu.example.com"].index >= 1`,
	`device.attributes["gpu.example.com"].index % 2 == 0`,
	`device.attributes["gpu.example.com"].ecc`,
	`!device.attributes["gpu.example.com"].ecc || device.attributes["gpu.example.com"].index > 0`,
	`device.attributes["gpu.example.com"].fw.isGreaterThan(semver("1.2.0"))`,
	`device.attributes["gpu.example.com"].fw.compareTo(semver("1.10.0")) <= 0`,
	`device.attributes["gpu.example.com"].fw.major() == 1 && device.attributes["gpu.example.com"].fw.minor() > 1`,
	`device.attributes["gpu.example.com"].fw == semver("2.0.0-rc.1")`,
	`device.capacity["gpu.example.com"].memory.compareTo(quantity("16Gi")) >= 0`,
	`device.capacity["gpu.example.com"].memory.isLessThan(quantity("20G"))`,
	`quantity("1Gi").add(quantity("15Gi")) == device.capacity["gpu.example.com"].memory`,
	`device.capacity["gpu.example.com"].memory.asInteger() > 9000000000`,
	`"model" in device.attributes["gpu.example.com"]`,
	`device.attributes["pcie.example.com"].root.startsWith("r")`,
	`has(device.attributes["unknown.example.com"].x)`,
	`!has(device.attributes["unknown.example.com"].x)`,
	`device.attributes["gpu.example.com"].model == 3`,
	`device.attributes["gpu.example.com"].model.lowerAscii().matches("^(a|c).*$")`,
	`cel.bind(a, device.attributes["gpu.example.com"], a.model == "a" || a.index == 1)`,
	`device.driver.endsWith(".example.com") && device.allowMultipleAllocations == false`,
	`device.allowMultipleAllocations`,
	`device.driver == "gpu.example.com" ? device.attributes["gpu.example.com"].index < 2 : true`,
	`["a", "c"].exists(m, m == device.attributes["gpu.example.com"].model)`,
	`device.attributes["gpu.example.com"].model != "b" && true`,
	`isQuantity("10Gi") && isSemver("1.0.0") && size(device.driver) > 3`,
}

var riskyCEL = []string{
	`device.attributes["gpu.example.com"].missing == "a"`,
	`device.attributes["unknown.example.com"].x == 1`,
	`device.attributes["gpu.example.com"].model > 3`,
	`device.attributes["gpu.example.com"].model`,
	`device.capacity["nic.example.com"].bandwidth.isGreaterThan(quantity("1G"))`,
	`device.attributes["gpu.example.com"].missing == "a" || device.driver == "gpu.example.com"`,
	`device.attributes["gpu.example.com"].missing == "a" && device.driver == "other"`,
	`device.attributes["gpu.example.com"].?missing.orValue("a") == "a"`,
}

func (c *cluster) celSel() L {
	g := c.g
	e := pick(g, goodCEL...)
	if g.p(0.06) {
		e = pick(g, riskyCEL...)
	}
	if g.p(0.6) {
		e = `device.driver == "gpu.example.com" && (` + e + `)`
	}
	return L{M{"cel": M{"expression": e}}}
}

func (c *cluster) dev(driver, name string, k int, multi bool) M {
	g := c.g
	d := M{"name": name}
	at := M{}
	if driver == gpuD || driver == nicD && false {
		if g.p(0.985) {
			at["model"] = M{"string": pick(g, "a", "A", "b", "c")}
		}
		at["index"] = M{"int": k}
		at["ecc"] = M{"bool": g.p(0.6)}
		at["gpu.example.com/fw"] = M{"version": pick(g, "1.2.0", "1.10.1", "2.0.0-rc.1", "2.0.0", "1.3.0+b1")}
		d["capacity"] = M{"memory": M{"value": pick(g, "8Gi", "16Gi", "16384Mi", "40Gi")}}
	} else {
		at["speed"] = M{"int": pick(g, 10, 25, 100)}
		if g.p(0.7) {
			d["capacity"] = M{"bandwidth": M{"value": pick(g, "1G", "10G", "25G")}}
		}
	}
	if g.p(0.85) {
		at["pcie.example.com/root"] = M{"string": pick(g, "r0", "r1")}
	}
	if g.p(0.985) {
		d["attributes"] = at
	}
	if multi && g.p(0.7) {
		d["allowMultipleAllocations"] = true
		for n, x := range func() M { m, _ := d["capacity"].(M); return m }() {
			q := x.(M)["value"].(string)
			cp := x.(M)
			if n == "memory" {
				switch g.IntN(4) {
				case 0:
					cp["requestPolicy"] = M{"default": "1Gi", "validRange": M{"min": "1Gi", "step": "1Gi"}}
				case 1:
					cp["requestPolicy"] = M{"default": "2Gi", "validValues": L{"2Gi", "4Gi", "8Gi"}}
				case 2:
					cp["requestPolicy"] = M{"default": "1Gi", "validRange": M{"min": "512Mi", "max": "8Gi"}}
				}
			} else if g.p(0.5) {
				cp["requestPolicy"] = M{"default": "500M", "validRange": M{"min": "100M", "max": q, "step": "100M"}}
			}
		}
	}
	if g.p(0.12) {
		t := M{"key": pick(g, "maint", "broken"), "effect": pick(g, "NoSchedule", "NoExecute", "None"), "timeAdded": "2026-01-01T00:00:00Z"}
		if g.p(0.5) {
			t["value"] = pick(g, "x", "y")
		}
		d["taints"] = L{t}
	}
	if g.p(0.06) {
		d["bindingConditions"] = L{"Ready"}
		d["bindingFailureConditions"] = L{"Failed"}
		if g.p(0.5) {
			d["bindsToNode"] = true
		}
	}
	return d
}

type devRef struct {
	driver, pool, name, node string
	multi                    bool
	cap                      M
}

// pool adds the slices of one pool.
func (c *cluster) pool(driver, name, node string, target M, devs *[]devRef) {
	g := c.g
	gen := g.rng(1, 2)
	multi := g.p(0.25)
	nsl := pick(g, 1, 1, 2)
	var sl []M
	k := 0
	part := g.p(0.2)
	perDev := g.p(0.1)
	for s := 0; s < nsl; s++ {
		ds := L{}
		for x := 0; x < g.rng(1, 3); x++ {
			dn := fmt.Sprint("dev", k)
			if g.p(0.02) {
				dn = "dev0"
			}
			d := c.dev(driver, dn, k, multi)
			if part && g.p(0.85) {
				cs := M{"counterSet": "cs", "counters": M{"slots": M{"value": pick(g, "1", "2", "3")}}}
				if g.p(0.3) {
					cs["counters"].(M)["mem"] = M{"value": pick(g, "4Gi", "8Gi")}
				}
				if g.p(0.03) {
					cs["counterSet"] = "nope"
				}
				d["consumesCounters"] = L{cs}
			}
			if perDev {
				if node != "" {
					d["nodeName"] = node
				} else if g.p(0.5) {
					d["allNodes"] = true
				} else {
					d["nodeSelector"] = M{"nodeSelectorTerms": L{M{"matchExpressions": L{M{"key": zone, "operator": "In", "values": L{fmt.Sprint("z", g.rng(1, 3))}}}}}}
				}
			}
			ds = append(ds, d)
			cp, _ := d["capacity"].(M)
			*devs = append(*devs, devRef{driver, name, dn, node, d["allowMultipleAllocations"] != nil, cp})
			k++
		}
		spec := M{"driver": driver, "devices": ds}
		if perDev {
			spec["perDeviceNodeSelection"] = true
		} else {
			for a, b := range target {
				spec[a] = b
			}
		}
		sl = append(sl, M{"metadata": M{"name": fmt.Sprintf("%s-%s-%d", pick(g, "s", "t"), driver[:3]+"-"+name, s)}, "spec": spec})
	}
	if part {
		cs := M{"name": "cs", "counters": M{"slots": M{"value": pick(g, "3", "4")}, "mem": M{"value": "16Gi"}}}
		spec := M{"driver": driver, "sharedCounters": L{cs}}
		for a, b := range target {
			spec[a] = b
		}
		sl = append(sl, M{"metadata": M{"name": fmt.Sprintf("c-%s", driver[:3]+"-"+name)}, "spec": spec})
	}
	n := len(sl)
	if g.p(0.04) {
		n++ // incomplete
	}
	for j, s := range sl {
		pg := gen
		if g.p(0.02) {
			pg = gen - 1 + 2*g.IntN(2)
		}
		s["spec"].(M)["pool"] = M{"name": name, "generation": pg, "resourceSliceCount": n}
		_ = j
		c.add("resourceSlices", s)
	}
}

func (c *cluster) exact(class string) M {
	g := c.g
	r := M{"deviceClassName": class, "allocationMode": "ExactCount", "count": pick(g, 1, 1, 1, 2, 2, 3)}
	if g.p(0.12) {
		r = M{"deviceClassName": class, "allocationMode": "All"}
	}
	if g.p(0.38) {
		r["selectors"] = c.celSel()
		if g.p(0.2) {
			r["selectors"] = append(r["selectors"].(L), c.celSel()...)
		}
	}
	if g.p(0.3) {
		t := M{"key": pick(g, "maint", "broken"), "operator": "Exists"}
		switch g.IntN(4) {
		case 0:
			t = M{"operator": "Exists"}
		case 1:
			t = M{"key": "maint", "operator": "Equal", "value": "x", "effect": "NoSchedule"}
		}
		r["tolerations"] = L{t}
	}
	if g.p(0.15) {
		r["capacity"] = M{"requests": M{"memory": pick(g, "1Gi", "1500Mi", "3Gi", "6Gi", "12Gi")}}
	} else if class == "nic" && g.p(0.3) {
		r["capacity"] = M{"requests": M{"bandwidth": pick(g, "1G", "150M", "900M")}}
	}
	return r
}

func (c *cluster) claimSpec() M {
	g := c.g
	cls := func() string {
		if g.p(0.01) {
			return "nope"
		}
		return pick(g, "gpu", "gpu", "gpu", "nic", "sel", "any")
	}
	reqs, names := L{}, []string{}
	for k := 0; k < pick(g, 1, 1, 2, 2, 3); k++ {
		n := fmt.Sprint("r", k)
		names = append(names, n)
		if g.p(0.3) {
			fa := L{}
			for s := 0; s < g.rng(1, 3); s++ {
				sub := c.exact(cls())
				sub["name"] = fmt.Sprint("s", s)
				fa = append(fa, sub)
				if g.p(0.15) {
					names = append(names, fmt.Sprintf("r%d/s%d", k, s))
				}
			}
			reqs = append(reqs, M{"name": n, "firstAvailable": fa})
		} else {
			e := c.exact(cls())
			if g.p(0.08) {
				e["adminAccess"] = true
			}
			if g.p(0.01) {
				e["count"] = 40
			}
			reqs = append(reqs, M{"name": n, "exactly": e})
		}
	}
	dv := M{"requests": reqs}
	if g.p(0.3) {
		cn := L{}
		for k := 0; k < g.rng(1, 2); k++ {
			x := M{}
			at := pick(g, "pcie.example.com/root", "pcie.example.com/root", "gpu.example.com/model", "gpu.example.com/fw", "gpu.example.com/index", "gpu.example.com/ecc")
			if g.p(0.3) {
				x["distinctAttribute"] = at
			} else {
				x["matchAttribute"] = at
			}
			if g.p(0.5) {
				l := L{}
				for _, n := range sample(g, g.rng(1, len(names)), names) {
					l = append(l, n)
				}
				x["requests"] = l
			}
			cn = append(cn, x)
		}
		dv["constraints"] = cn
	}
	return M{"devices": dv}
}

func (c *cluster) genDRARich() {
	g := c.g
	ns := c.pod["metadata"].(M)["namespace"]
	class := func(n string, spec M) {
		if g.p(0.25) {
			spec["extendedResourceName"] = map[string]string{"gpu": "example.com/dra", "sel": "example.com/gpu", "nic": "example.com/nic", "any": "example.com/any"}[n]
		}
		c.add("deviceClasses", M{"metadata": M{"name": n, "creationTimestamp": pick(g, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")}, "spec": spec})
	}
	class("gpu", M{"selectors": L{M{"cel": M{"expression": "device.driver == 'gpu.example.com'"}}}})
	class("nic", M{"selectors": L{M{"cel": M{"expression": "device.driver == 'nic.example.com'"}}}})
	class("sel", M{"selectors": append(L{M{"cel": M{"expression": "device.driver == 'gpu.example.com'"}}}, c.celSel()...)})
	class("any", M{})
	var devs []devRef
	for j := range c.nodes {
		n := fmt.Sprintf("n%d", j)
		if g.p(0.75) {
			c.pool(gpuD, n, n, M{"nodeName": n}, &devs)
		}
		if g.p(0.35) {
			c.pool(nicD, n+"-nic", n, M{"nodeName": n}, &devs)
		}
	}
	if g.p(0.25) {
		c.pool(pick(g, gpuD, nicD), "fabric", "", M{"allNodes": true}, &devs)
	}
	if g.p(0.25) {
		z := fmt.Sprint("z", g.rng(1, 3))
		c.pool(pick(g, gpuD, nicD), "zonal", "", M{"nodeSelector": M{"nodeSelectorTerms": L{M{"matchExpressions": L{M{"key": zone, "operator": pick(g, "In", "NotIn"), "values": L{z}}}}}}}, &devs)
	}
	rate := pick(g, 0.1, 0.2, 0.4)
	for k, d := range devs {
		if !g.p(rate) {
			continue
		}
		res := M{"request": "r", "driver": d.driver, "pool": d.pool, "device": d.name}
		if d.multi && g.p(0.85) {
			res["shareID"] = fmt.Sprintf("a671734a-e8e5-11e4-8fde-%012d", k)
			cc := M{}
			for n := range d.cap {
				cc[n] = pick(g, "1Gi", "2Gi", "100M")
			}
			// The API server keeps no empty map.
			if len(cc) > 0 {
				res["consumedCapacity"] = cc
			}
		}
		if g.p(0.06) {
			res["adminAccess"] = true
		}
		c.add("resourceClaims", M{"metadata": M{"name": fmt.Sprint("used", k), "namespace": "ns3", "uid": fmt.Sprint("rc", k)},
			"spec":   M{"devices": M{"requests": L{M{"name": "r", "exactly": M{"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}}}},
			"status": M{"allocation": M{"devices": M{"results": L{res}}}}})
	}
	spec := c.pod["spec"].(M)
	ct := spec["containers"].(L)[0].(M)
	if ct["resources"] == nil {
		ct["resources"] = M{}
	}
	if g.p(0.2) { // extended resources
		rs := ct["resources"].(M)
		rq, _ := rs["requests"].(M)
		if rq == nil {
			rq = M{}
		}
		n := pick(g, "example.com/dra", "deviceclass.resource.kubernetes.io/gpu", "deviceclass.resource.kubernetes.io/sel")
		q := pick(g, "1", "1", "2")
		rq[n] = q
		rs["requests"] = rq
		l, _ := rs["limits"].(M)
		if l == nil {
			l = M{}
		}
		l[n] = q
		rs["limits"] = l
		if g.p(0.3) {
			ic, _ := spec["initContainers"].(L)
			i := M{"name": "ix", "image": "x", "resources": M{"requests": M{n: pick(g, "1", "3")}, "limits": M{n: "3"}}}
			if g.p(0.3) {
				i["restartPolicy"] = "Always"
			}
			spec["initContainers"] = append(ic, i)
		}
		if g.p(0.6) {
			return
		}
	}
	var pcs, use, sts L
	for k := 0; k < pick(g, 1, 1, 1, 2); k++ {
		n := fmt.Sprint("mine", k)
		md := M{"name": n, "namespace": ns, "uid": "u" + n}
		pc := M{"name": fmt.Sprint("g", k), "resourceClaimName": n}
		if g.p(0.15) {
			pc = M{"name": fmt.Sprint("g", k), "resourceClaimTemplateName": "tpl"}
			if g.p(0.9) {
				st := M{"name": pc["name"]}
				if g.p(0.95) {
					st["resourceClaimName"] = n
				}
				sts = append(sts, st)
			}
			if g.p(0.85) {
				md["ownerReferences"] = L{M{"apiVersion": "v1", "kind": "Pod", "name": "incoming", "uid": c.pod["metadata"].(M)["uid"], "controller": true}}
			}
		}
		if g.p(0.02) {
			md["deletionTimestamp"] = "2026-01-01T00:00:00Z"
			md["finalizers"] = L{"x"}
		}
		claim := M{"metadata": md, "spec": c.claimSpec()}
		if g.p(0.08) && len(devs) > 0 { // already allocated
			d := pick(g, devs...)
			res := M{"request": "r0", "driver": d.driver, "pool": d.pool, "device": d.name}
			al := M{"devices": M{"results": L{res}}}
			if d.node != "" {
				al["nodeSelector"] = M{"nodeSelectorTerms": L{M{"matchFields": L{M{"key": "metadata.name", "operator": "In", "values": L{d.node}}}}}}
			}
			st := M{"allocation": al}
			if g.p(0.3) {
				res["bindingConditions"] = L{"Ready"}
				res["bindingFailureConditions"] = L{"Failed"}
				if g.p(0.7) {
					al["allocationTimestamp"] = pick(g, "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z")
				}
				if g.p(0.6) {
					st["devices"] = L{M{"driver": d.driver, "pool": d.pool, "device": d.name, "conditions": L{M{"type": pick(g, "Ready", "Failed"), "status": pick(g, "True", "False"), "reason": "x", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}}
				}
			}
			if g.p(0.3) {
				st["reservedFor"] = L{M{"resource": "pods", "name": "other", "uid": "uother"}}
			}
			claim["status"] = st
		}
		if g.p(0.98) {
			c.add("resourceClaims", claim)
		}
		pcs = append(pcs, pc)
		use = append(use, M{"name": pc["name"]})
	}
	spec["resourceClaims"] = pcs
	ct["resources"].(M)["claims"] = use
	if len(sts) > 0 {
		st, _ := c.pod["status"].(M)
		if st == nil {
			st = M{}
		}
		st["resourceClaimStatuses"] = sts
		c.pod["status"] = st
	}
}

// draAllocations shows what the plugin's Filter picked, by node.
func draAllocations(state fwk.CycleState) M {
	s, err := state.Read("DynamicResources")
	if err != nil {
		return nil
	}
	f := reflect.ValueOf(s).Elem().FieldByName("nodeAllocations")
	f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
	out := M{}
	for it := f.MapRange(); it.Next(); {
		v := reflect.New(it.Value().Type()).Elem()
		v.Set(it.Value())
		a := v.FieldByName("allocationResults")
		rs := reflect.NewAt(a.Type(), unsafe.Pointer(a.UnsafeAddr())).Elem().Interface().([]resourcev1.AllocationResult)
		l := L{}
		for _, r := range rs {
			ds := L{}
			for _, d := range r.Devices.Results {
				cc := M{}
				for k, q := range d.ConsumedCapacity {
					cc[string(k)] = q.String()
				}
				x := M{"request": d.Request, "device": d.Driver + "/" + d.Pool + "/" + d.Device}
				if len(cc) > 0 {
					x["consumed"] = cc
				}
				if d.ShareID != nil {
					x["shared"] = true
				}
				ds = append(ds, x)
			}
			l = append(l, ds)
		}
		out[it.Key().String()] = l
	}
	return out
}

func waitDRARich(m sharedDRAManager, in M) bool {
	sharing := utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity)
	ded, sh := map[string]bool{}, map[string]bool{}
	for _, c := range asL(in["resourceClaims"]) {
		cl := decode[resourcev1.ResourceClaim](c)
		if cl.Status.Allocation == nil {
			continue
		}
		for _, r := range cl.Status.Allocation.Devices.Results {
			if r.AdminAccess != nil && *r.AdminAccess {
				continue
			}
			id := r.Driver + "/" + r.Pool + "/" + r.Device
			if sharing && r.ShareID != nil {
				sh[id+string(*r.ShareID)] = true
			} else {
				ded[id] = true
			}
		}
	}
	cl, e1 := m.ResourceClaims().List()
	sl, e2 := m.ResourceSlices().ListWithDeviceTaintRules()
	dc, e3 := m.DeviceClasses().List()
	al, e4 := m.ResourceClaims().GatherAllocatedState()
	if e1 != nil || e2 != nil || e3 != nil || e4 != nil || len(cl) != len(asL(in["resourceClaims"])) ||
		len(sl) != len(asL(in["resourceSlices"])) || len(dc) != len(asL(in["deviceClasses"])) ||
		len(al.AllocatedDevices) != len(ded) || sharing && len(al.AllocatedSharedDeviceIDs) != len(sh) {
		return false
	}
	for _, d := range dc {
		if !resolvesClass(m, v1.ResourceName(resourcev1.ResourceDeviceClassPrefix+d.Name)) {
			return false
		}
	}
	return true
}
