package main

// Pods for the suite pod_security, put together from parts that break its checks or keep them.

import "fmt"

var securedContainerParts = []string{
	`{'securityContext':{}}`,
	`{'securityContext':{'privileged':true}}`,
	`{'securityContext':{'privileged':false}}`,
	`{'securityContext':{'allowPrivilegeEscalation':true}}`,
	`{'securityContext':{'allowPrivilegeEscalation':false}}`,
	`{'securityContext':{'capabilities':{}}}`,
	`{'securityContext':{'capabilities':{'drop':['ALL']}}}`,
	`{'securityContext':{'capabilities':{'drop':['NET_RAW','all']}}}`,
	`{'securityContext':{'capabilities':{'add':['NET_BIND_SERVICE']}}}`,
	`{'securityContext':{'capabilities':{'add':['CHOWN','KILL','SETUID','SYS_CHROOT','MKNOD']}}}`,
	`{'securityContext':{'capabilities':{'add':['AUDIT_WRITE','DAC_OVERRIDE','FOWNER','FSETID','SETFCAP','SETGID','SETPCAP']}}}`,
	`{'securityContext':{'capabilities':{'add':['SYS_ADMIN','NET_RAW']}}}`,
	`{'securityContext':{'capabilities':{'add':['CAP_CHOWN','net_admin','ALL','NET_ADMIN']}}}`,
	`{'securityContext':{'runAsNonRoot':true}}`,
	`{'securityContext':{'runAsNonRoot':false}}`,
	`{'securityContext':{'runAsUser':0}}`,
	`{'securityContext':{'runAsUser':1000}}`,
	`{'securityContext':{'seccompProfile':{'type':'Unconfined'}}}`,
	`{'securityContext':{'seccompProfile':{'type':'RuntimeDefault'}}}`,
	`{'securityContext':{'seccompProfile':{'type':'Localhost','localhostProfile':'p.json'}}}`,
	`{'securityContext':{'seccompProfile':{'type':'Other'},'appArmorProfile':{'type':'Other'}}}`,
	`{'securityContext':{'appArmorProfile':{'type':'Unconfined'}}}`,
	`{'securityContext':{'appArmorProfile':{'type':'RuntimeDefault'}}}`,
	`{'securityContext':{'appArmorProfile':{'type':'Localhost','localhostProfile':'p'}}}`,
	`{'securityContext':{'seLinuxOptions':{'type':'spc_t'}}}`,
	`{'securityContext':{'seLinuxOptions':{'type':'container_t'}}}`,
	`{'securityContext':{'seLinuxOptions':{'type':'container_engine_t'}}}`,
	`{'securityContext':{'seLinuxOptions':{'type':'container_kvm_t','level':'s0'}}}`,
	`{'securityContext':{'seLinuxOptions':{'user':'u'}}}`,
	`{'securityContext':{'seLinuxOptions':{'role':'r','type':'other_t'}}}`,
	`{'securityContext':{'procMount':'Unmasked'}}`,
	`{'securityContext':{'procMount':'Default'}}`,
	`{'securityContext':{'windowsOptions':{'hostProcess':true}}}`,
	`{'securityContext':{'windowsOptions':{'hostProcess':false}}}`,
	`{'ports':[{'containerPort':80,'hostPort':80}]}`,
	`{'ports':[{'containerPort':8080,'hostPort':8080},{'containerPort':9,'hostPort':9,'protocol':'UDP'}]}`,
	`{'ports':[{'containerPort':53}]}`,
	`{'ports':[{'containerPort':81,'hostPort':0},{'containerPort':80,'hostPort':80,'hostIP':'10.0.0.1'}]}`,
	`{'livenessProbe':{'httpGet':{'port':80,'host':'a.example.com'}}}`,
	`{'readinessProbe':{'tcpSocket':{'port':80,'host':'10.0.0.1'}},'startupProbe':{'httpGet':{'port':80,'host':'b'}}}`,
	`{'livenessProbe':{'tcpSocket':{'port':80}},'startupProbe':{'tcpSocket':{'port':80,'host':'127.0.0.1'}}}`,
	`{'readinessProbe':{'httpGet':{'port':80,'host':''}},'livenessProbe':{'grpc':{'port':80}}}`,
	`{'lifecycle':{'preStop':{'httpGet':{'port':80,'host':'c'}}}}`,
	`{'lifecycle':{'postStart':{'tcpSocket':{'port':80,'host':'d'}},'preStop':{'sleep':{'seconds':1}}}}`,
	`{'lifecycle':{'postStart':{'httpGet':{'port':80,'host':'a.example.com'}},'preStop':{'tcpSocket':{'port':80,'host':'c'}}}}`,
}

var securedPodParts = []string{
	`{'hostNetwork':true}`, `{'hostPID':true}`, `{'hostIPC':true,'hostNetwork':false}`, `{'hostPID':true,'hostIPC':true,'hostNetwork':true}`,
	`{'hostUsers':false}`, `{'hostUsers':false}`, `{'hostUsers':true}`,
	`{'os':{'name':'windows'}}`, `{'os':{'name':'linux'}}`,
	`{'securityContext':{'runAsNonRoot':true}}`,
	`{'securityContext':{'runAsNonRoot':false}}`,
	`{'securityContext':{'runAsUser':0}}`,
	`{'securityContext':{'runAsUser':5}}`,
	`{'securityContext':{'seccompProfile':{'type':'Unconfined'}}}`,
	`{'securityContext':{'seccompProfile':{'type':'RuntimeDefault'}}}`,
	`{'securityContext':{'seccompProfile':{'type':'Localhost','localhostProfile':'p.json'}}}`,
	`{'securityContext':{'appArmorProfile':{'type':'Unconfined'}}}`,
	`{'securityContext':{'appArmorProfile':{'type':'RuntimeDefault'}}}`,
	`{'securityContext':{'appArmorProfile':{'type':'Localhost','localhostProfile':'p'}}}`,
	`{'securityContext':{'seLinuxOptions':{'type':'container_engine_t'}}}`,
	`{'securityContext':{'seLinuxOptions':{'type':'container_init_t','user':'u','role':'r'}}}`,
	`{'securityContext':{'seLinuxOptions':{'type':'spc_t','level':'s0'}}}`,
	`{'securityContext':{'sysctls':[{'name':'kernel.shm_rmid_forced','value':'0'},{'name':'net.ipv4.ip_local_port_range','value':'1 2'},{'name':'net.ipv4.tcp_syncookies','value':'1'},{'name':'net.ipv4.ping_group_range','value':'1 2'},{'name':'net.ipv4.ip_unprivileged_port_start','value':'0'}]}}`,
	`{'securityContext':{'sysctls':[{'name':'net.ipv4.ip_local_reserved_ports','value':'1'}]}}`,
	`{'securityContext':{'sysctls':[{'name':'net.ipv4.tcp_keepalive_time','value':'1'},{'name':'net.ipv4.tcp_fin_timeout','value':'1'},{'name':'net.ipv4.tcp_keepalive_intvl','value':'1'},{'name':'net.ipv4.tcp_keepalive_probes','value':'1'}]}}`,
	`{'securityContext':{'sysctls':[{'name':'net.ipv4.tcp_wmem','value':'1'},{'name':'net.ipv4.tcp_rmem','value':'1'}]}}`,
	`{'securityContext':{'sysctls':[{'name':'net.ipv4.tcp_slow_start_after_idle','value':'1'},{'name':'net.ipv4.tcp_notsent_lowat','value':'1'}]}}`,
	`{'securityContext':{'sysctls':[{'name':'net/ipv4/tcp_syncookies','value':'1'},{'name':'kernel.msgmax','value':'1'},{'name':'net.core.somaxconn','value':'1'}]}}`,
	`{'securityContext':{'windowsOptions':{'hostProcess':true}},'hostNetwork':true}`,
	`{'securityContext':{'windowsOptions':{'hostProcess':false}}}`,
}

// safePod and safeContainer are what restricted asks for.
const (
	safePod       = `{'securityContext':{'runAsNonRoot':true,'seccompProfile':{'type':'RuntimeDefault'}}}`
	safeContainer = `{'securityContext':{'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']}}}`
)

var volumeSources = []string{
	`{}`, `{'emptyDir':{}}`, `{'configMap':{'name':'c'}}`, `{'secret':{'secretName':'s'}}`, `{'persistentVolumeClaim':{'claimName':'c'}}`,
	`{'downwardAPI':{'items':[{'path':'l','fieldRef':{'fieldPath':'metadata.labels'}}]}}`, `{'projected':{'sources':[{'secret':{'name':'s'}}]}}`,
	`{'csi':{'driver':'d.example.com'}}`, `{'image':{'reference':'r'}}`,
	`{'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}}}`,
	`{'hostPath':{'path':'/tmp'}}`, `{'hostPath':{'path':'/etc'}}`, `{'gcePersistentDisk':{'pdName':'p'}}`, `{'awsElasticBlockStore':{'volumeID':'v'}}`,
	`{'gitRepo':{'repository':'r'}}`, `{'nfs':{'server':'s','path':'/p'}}`, `{'iscsi':{'targetPortal':'1.2.3.4:3260','iqn':'iqn.2001-04.com.example:storage','lun':1}}`,
	`{'glusterfs':{'endpoints':'e','path':'p'}}`, `{'rbd':{'monitors':['m'],'image':'i'}}`, `{'flexVolume':{'driver':'a/b'}}`, `{'cinder':{'volumeID':'v'}}`,
	`{'cephfs':{'monitors':['m']}}`, `{'flocker':{'datasetName':'d'}}`, `{'fc':{'targetWWNs':['a'],'lun':2}}`, `{'azureFile':{'secretName':'s','shareName':'h'}}`,
	`{'vsphereVolume':{'volumePath':'v'}}`, `{'quobyte':{'registry':'h:1','volume':'v'}}`, `{'azureDisk':{'diskName':'d','diskURI':'/subscriptions/x'}}`,
	`{'photonPersistentDisk':{'pdID':'p'}}`, `{'portworxVolume':{'volumeID':'v'}}`,
	`{'scaleIO':{'gateway':'g','system':'s','secretRef':{'name':'x'},'volumeName':'v'}}`, `{'storageos':{'volumeName':'v'}}`,
}

var securedAnnotations = []string{
	"container.apparmor.security.beta.kubernetes.io/c0", "container.apparmor.security.beta.kubernetes.io/c0",
	"container.apparmor.security.beta.kubernetes.io/c1", "container.apparmor.security.beta.kubernetes.io/i0",
	"container.apparmor.security.beta.kubernetes.io/none", "seccomp.security.alpha.kubernetes.io/pod",
	"container.seccomp.security.alpha.kubernetes.io/c0", "container.seccomp.security.alpha.kubernetes.io/c1",
	"container.seccomp.security.alpha.kubernetes.io/i0", "example.com/other",
}

var annotatedProfiles = []any{"unconfined", "unconfined", "unconfined", "runtime/default", "docker/default", "localhost/p", "localhost/", "", "other", "a \"b\"\\c", "é\u0001\n"}

func securedContainers(g *G, prefix string, n int, safe bool) L {
	all := containers(g, prefix, n, 0, nil)
	for _, one := range all {
		c := one.(M)
		if safe {
			join(c, part(safeContainer))
		}
		for _, text := range sample(g, pick(g, 0, 0, 1, 1, 2, 3), securedContainerParts) {
			join(c, part(text))
		}
	}
	return all
}

func securedSpec(g *G) M {
	if g.p(0.2) {
		spec := podSpec(g)
		if g.p(0.3) {
			spec["restartPolicy"] = "Always"
		}
		return spec
	}
	safe := g.p(0.5)
	spec := M{}
	if safe {
		spec = part(safePod)
	}
	for _, text := range sample(g, pick(g, 0, 0, 1, 1, 2, 3), securedPodParts) {
		join(spec, part(text))
	}
	spec["containers"] = securedContainers(g, "c", pick(g, 1, 1, 1, 2, 3), safe)
	if g.p(0.3) {
		spec["initContainers"] = securedContainers(g, "i", g.rng(1, 2), safe)
	}
	if g.p(0.1) {
		// Only a pod with users of its own may unmask.
		spec["hostUsers"] = false
		list, _ := pick(g, spec["containers"], spec["containers"], spec["initContainers"]).(L)
		for _, one := range list {
			if g.p(0.6) {
				join(one.(M), part(`{'securityContext':{'procMount':'Unmasked'}}`))
			}
		}
	}
	if g.p(0.02) {
		spec["ephemeralContainers"] = securedContainers(g, "e", g.rng(1, 2), safe)
	}
	if g.p(0.35) {
		volumes := L{}
		for i, text := range sample(g, g.rng(1, 4), volumeSources) {
			volume := part(text)
			volume["name"] = fmt.Sprintf("v%d", i)
			if g.p(0.03) {
				join(volume, part(pick(g, volumeSources...)))
			}
			volumes = append(volumes, volume)
		}
		spec["volumes"] = volumes
	}
	return spec
}

func securedMetadata(g *G, meta M) M {
	if g.p(0.25) {
		annotations := M{}
		for _, key := range sample(g, pick(g, 1, 1, 2, 3), securedAnnotations) {
			annotations[key] = pick(g, annotatedProfiles...)
		}
		join(meta, M{"annotations": annotations})
	}
	return meta
}

func securedTemplate(g *G) M {
	return M{"metadata": securedMetadata(g, part(`{'labels':{'app':'a','tier':'t'}}`)), "spec": securedSpec(g)}
}

func securedObject(g *G) M {
	kind := pick(g, "Pod", "Pod", "Pod", "Pod", "Pod", "Pod", "Pod", "Pod", "Pod", "Pod", "Pod", "Deployment", "StatefulSet", "DaemonSet",
		"ReplicaSet", "ReplicationController", "Job", "CronJob", "PodTemplate")
	object := M{"apiVersion": "apps/v1", "kind": kind, "metadata": M{"name": "x"}}
	selector := part(`{'matchLabels':{'app':'a'}}`)
	switch kind {
	case "Pod":
		object["apiVersion"], object["spec"] = "v1", securedSpec(g)
		securedMetadata(g, object["metadata"].(M))
	case "PodTemplate":
		object["apiVersion"], object["template"] = "v1", securedTemplate(g)
	case "ReplicationController":
		object["apiVersion"], object["spec"] = "v1", M{"selector": M{"app": "a"}, "template": securedTemplate(g)}
		if g.p(0.1) {
			object["spec"] = M{"selector": M{"app": "a"}}
		}
	case "Job", "CronJob":
		object["apiVersion"] = "batch/v1"
		template := securedTemplate(g)
		template["spec"].(M)["restartPolicy"] = pick(g, "Never", "OnFailure")
		object["spec"] = M{"template": template}
		if kind == "CronJob" {
			object["spec"] = M{"schedule": "@daily", "jobTemplate": M{"spec": object["spec"]}}
		}
	default:
		object["spec"] = M{"selector": selector, "template": securedTemplate(g)}
	}
	return object
}

func podSecurityVersion(g *G) string {
	switch {
	case g.p(0.3):
		return "latest"
	case g.p(0.15):
		return fmt.Sprintf("v1.%d", pick(g, 0, 5, 7, 8, 18, 19, 38, 99))
	default:
		return fmt.Sprintf("v1.%d", g.rng(20, 37))
	}
}

// labelled is how often a namespace names a level.
var labelled = map[string]float64{"enforce": 0.8, "audit": 0.3, "warn": 0.5}

func podSecurityLabels(g *G) map[string]string {
	labels := map[string]string{}
	if g.p(0.03) {
		return labels
	}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		chance := labelled[mode]
		if g.p(chance) {
			labels["pod-security.kubernetes.io/"+mode] = pick(g, "restricted", "restricted", "restricted", "restricted", "baseline", "baseline",
				"baseline", "privileged", "privileged", pick(g, "", "Restricted", "default", "restricted "))
		}
		if g.p(chance * 0.6) {
			version := podSecurityVersion(g)
			if g.p(0.1) {
				version = pick(g, "", "1.30", "v1.030", "v1.", "v2.1", "v1.30.1", "Latest", "v1.9223372036854775807", "v1.9223372036854775808", "v1.30\n", "v1.٣", "v1.-1")
			}
			labels["pod-security.kubernetes.io/"+mode+"-version"] = version
		}
	}
	if g.p(0.3) {
		labels["kubernetes.io/metadata.name"] = "default"
	}
	return labels
}
