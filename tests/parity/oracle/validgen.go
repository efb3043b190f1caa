package main

// Objects for the suite validate: valid ones put together from parts, and mutants of them.

import (
	"encoding/json"
	"strings"
)

// part reads a part of an object. Quotes are written as single ones.
func part(text string) M {
	m := M{}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "'", `"`)), &m); err != nil {
		panic(text + ": " + err.Error())
	}
	return m
}

// join adds a part: objects are joined, lists are concatenated.
func join(into, from M) {
	for key, value := range from {
		switch own := into[key].(type) {
		case M:
			if more, ok := value.(M); ok {
				join(own, more)
				continue
			}
		case L:
			if more, ok := value.(L); ok {
				into[key] = append(own, more...)
				continue
			}
		}
		into[key] = value
	}
}

// drawn joins up to k of the parts.
func drawn(g *G, k int, parts []string) M {
	m := M{}
	for _, text := range sample(g, g.IntN(k+1), parts) {
		join(m, part(text))
	}
	return m
}

var containerParts = []string{
	`{'ports':[{'containerPort':80,'name':'http'},{'containerPort':53,'protocol':'UDP','hostIP':'10.0.0.1'}]}`,
	`{'ports':[{'containerPort':8080,'hostPort':8080}]}`,
	`{'env':[{'name':'A','value':'1'},{'name':'b.c-d','valueFrom':{'fieldRef':{'fieldPath':'metadata.name'}}},{'name':'E','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':'metadata.labels[\u0027app\u0027]'}}}]}`,
	`{'env':[{'name':'R','valueFrom':{'resourceFieldRef':{'resource':'limits.memory','divisor':'1Mi'}}},{'name':'S','valueFrom':{'secretKeyRef':{'name':'s','key':'k.x','optional':true}}},{'name':'C','valueFrom':{'configMapKeyRef':{'name':'c','key':'k'}}}]}`,
	`{'envFrom':[{'prefix':'P_','configMapRef':{'name':'c'}},{'secretRef':{'name':'s','optional':false}}]}`,
	`{'resources':{'requests':{'cpu':'100m','memory':'64Mi'},'limits':{'cpu':1,'memory':'128Mi'}}}`,
	`{'resources':{'requests':{'cpu':'1','memory':'1Gi','ephemeral-storage':'1Gi'}}}`,
	`{'resources':{'limits':{'cpu':'500m','memory':'64Mi','hugepages-2Mi':'4Mi','example.com/gpu':'2'}}}`,
	`{'resources':{'requests':{'nvidia.com/gpu':'1','cpu':'0'},'limits':{'nvidia.com/gpu':'1'},'claims':[{'name':'dev'}]}}`,
	`{'livenessProbe':{'httpGet':{'path':'/z','port':'http','scheme':'HTTPS','httpHeaders':[{'name':'X-A','value':'b'}]},'initialDelaySeconds':1,'periodSeconds':5,'timeoutSeconds':2,'failureThreshold':3,'terminationGracePeriodSeconds':10}}`,
	`{'readinessProbe':{'tcpSocket':{'port':80},'successThreshold':2},'startupProbe':{'exec':{'command':['true']},'failureThreshold':30}}`,
	`{'readinessProbe':{'grpc':{'port':9000,'service':'x'}},'livenessProbe':{'tcpSocket':{'port':'http','host':'h'},'successThreshold':1}}`,
	`{'lifecycle':{'preStop':{'exec':{'command':['sleep','5']}},'postStart':{'httpGet':{'port':80,'path':'/'}}}}`,
	`{'lifecycle':{'preStop':{'sleep':{'seconds':5}}}}`,
	`{'securityContext':{'runAsUser':1000,'runAsGroup':0,'runAsNonRoot':true,'allowPrivilegeEscalation':false,'readOnlyRootFilesystem':true,'capabilities':{'drop':['ALL'],'add':['NET_BIND_SERVICE']},'seccompProfile':{'type':'RuntimeDefault'}}}`,
	`{'securityContext':{'privileged':true,'allowPrivilegeEscalation':true,'procMount':'Default','appArmorProfile':{'type':'Localhost','localhostProfile':'p'},'seccompProfile':{'type':'Localhost','localhostProfile':'a/b.json'},'seLinuxOptions':{'level':'s0:c1,c2'}}}`,
	`{'volumeMounts':[{'name':'data','mountPath':'/data','subPath':'a/b'},{'name':'tmp','mountPath':'/tmp','readOnly':true}]}`,
	`{'volumeMounts':[{'name':'data','mountPath':'/data','mountPropagation':'HostToContainer','subPathExpr':'$(A)'},{'name':'tmp','mountPath':'/t','readOnly':true,'recursiveReadOnly':'IfPossible'}]}`,
	`{'volumeDevices':[{'name':'claim','devicePath':'/dev/xvda'}]}`,
	`{'imagePullPolicy':'Always','terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'FallbackToLogsOnError','stdin':true,'tty':true,'stdinOnce':true}`,
	`{'command':['a'],'args':['b','c'],'workingDir':'/w'}`,
	`{'env':[{'name':'F','valueFrom':{'fileKeyRef':{'volumeName':'data','path':'a/b','key':'K','optional':true}}},{'name':'U','valueFrom':{'fieldRef':{'fieldPath':'metadata.annotations[\u0027a.b/c\u0027]'}}},{'name':'ip','valueFrom':{'fieldRef':{'fieldPath':'status.podIPs'}}}]}`,
	`{'restartPolicy':'Never','restartPolicyRules':[{'action':'Restart','exitCodes':{'operator':'NotIn','values':[0]}}]}`,
	`{'readinessProbe':{'httpGet':{'port':'http'}},'lifecycle':{'preStop':{'tcpSocket':{'port':'http'}}}}`,
	`{'securityContext':{'windowsOptions':{'runAsUserName':'NT AUTHORITY\\SYSTEM','hostProcess':true}}}`,
	`{'securityContext':{'procMount':'Unmasked','capabilities':{'add':['CAP_SYS_ADMIN']},'allowPrivilegeEscalation':true}}`,
	`{'resizePolicy':[{'resourceName':'cpu','restartPolicy':'NotRequired'},{'resourceName':'memory','restartPolicy':'RestartContainer'}]}`,
}

var initParts = []string{
	`{'restartPolicy':'Always'}`,
	`{'livenessProbe':{'exec':{'command':['a']}}}`, `{'lifecycle':{'preStop':{'sleep':{'seconds':1}}}}`,
	`{'restartPolicy':'OnFailure','resizePolicy':[{'resourceName':'memory','restartPolicy':'RestartContainer'}]}`,
	`{'restartPolicy':'Always','startupProbe':{'exec':{'command':['a']}},'readinessProbe':{'httpGet':{'port':80}},'lifecycle':{'preStop':{'sleep':{'seconds':1}}}}`,
	`{'command':['a'],'args':['b','c']}`,
	`{'resources':{'requests':{'cpu':'100m','memory':'64Mi'},'limits':{'cpu':1,'memory':'128Mi'}}}`,
	`{'volumeMounts':[{'name':'data','mountPath':'/data'}]}`,
	`{'env':[{'name':'A','value':'1'}],'securityContext':{'runAsUser':1}}`,
	`{'restartPolicy':'Always','restartPolicyRules':[{'action':'Restart','exitCodes':{'operator':'In','values':[1,42]}}]}`,
}

var podParts = []string{
	`{'volumes':[{'name':'data','emptyDir':{}},{'name':'tmp','emptyDir':{'medium':'Memory','sizeLimit':'64Mi'}}]}`,
	`{'volumes':[{'name':'data','configMap':{'name':'c','defaultMode':420,'items':[{'key':'k','path':'p/q','mode':256}]}},{'name':'tmp','secret':{'secretName':'s','optional':true,'items':[{'key':'k','path':'p'}]}}]}`,
	`{'volumes':[{'name':'data','persistentVolumeClaim':{'claimName':'pvc','readOnly':true}},{'name':'tmp','hostPath':{'path':'/tmp','type':'DirectoryOrCreate'}}]}`,
	`{'volumes':[{'name':'claim','persistentVolumeClaim':{'claimName':'pvc'}}]}`,
	`{'volumes':[{'name':'proj','projected':{'defaultMode':420,'sources':[{'serviceAccountToken':{'audience':'a','expirationSeconds':3600,'path':'token'}},{'configMap':{'name':'c','items':[{'key':'k','path':'p'}]}},{'secret':{'name':'s'}},{'downwardAPI':{'items':[{'path':'l','fieldRef':{'fieldPath':'metadata.labels'}},{'path':'cpu','resourceFieldRef':{'containerName':'c0','resource':'limits.cpu','divisor':'1m'}}]}},{'clusterTrustBundle':{'name':'b','path':'ca'}}]}}]}`,
	`{'volumes':[{'name':'down','downwardAPI':{'defaultMode':420,'items':[{'path':'ann','fieldRef':{'fieldPath':'metadata.annotations'}}]}},{'name':'csi','csi':{'driver':'d.example.com','readOnly':true,'volumeAttributes':{'a':'b'},'nodePublishSecretRef':{'name':'s'}}}]}`,
	`{'volumes':[{'name':'eph','ephemeral':{'volumeClaimTemplate':{'metadata':{'labels':{'a':'b'}},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'fast','resources':{'requests':{'storage':'1Gi'}}}}}},{'name':'img','image':{'reference':'r','pullPolicy':'Always'}}]}`,
	`{'volumes':[{'name':'nfs','nfs':{'server':'s','path':'/p'}},{'name':'iscsi','iscsi':{'targetPortal':'1.2.3.4:3260','iqn':'iqn.2001-04.com.example:storage','lun':1,'fsType':'ext4'}},{'name':'fc','fc':{'targetWWNs':['a'],'lun':2}}]}`,
	`{'volumes':[{'name':'gce','gcePersistentDisk':{'pdName':'p','partition':1}},{'name':'ebs','awsElasticBlockStore':{'volumeID':'v'}},{'name':'git','gitRepo':{'repository':'r','directory':'d'}},{'name':'az','azureDisk':{'diskName':'d','diskURI':'/subscriptions/x','kind':'Managed'}},{'name':'azf','azureFile':{'secretName':'s','shareName':'h'}}]}`,
	`{'volumes':[{'name':'ceph','cephfs':{'monitors':['m'],'path':'/'}},{'name':'rbd','rbd':{'monitors':['m'],'image':'i'}},{'name':'gl','glusterfs':{'endpoints':'e','path':'p'}},{'name':'cinder','cinder':{'volumeID':'v'}},{'name':'flex','flexVolume':{'driver':'a/b','options':{'x':'y'}}},{'name':'flocker','flocker':{'datasetName':'d'}}]}`,
	`{'volumes':[{'name':'vs','vsphereVolume':{'volumePath':'v'}},{'name':'quo','quobyte':{'registry':'h:1','volume':'v'}},{'name':'ph','photonPersistentDisk':{'pdID':'p'}},{'name':'pw','portworxVolume':{'volumeID':'v'}},{'name':'sio','scaleIO':{'gateway':'g','system':'s','secretRef':{'name':'x'},'volumeName':'v'}},{'name':'sos','storageos':{'volumeName':'v'}}]}`,
	`{'nodeSelector':{'disk':'ssd','kubernetes.io/os':'linux'},'tolerations':[{'key':'a','operator':'Exists','effect':'NoExecute','tolerationSeconds':30},{'key':'b','value':'c','effect':'NoSchedule'},{'operator':'Exists'}]}`,
	`{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator':'In','values':['a','b']},{'key':'n','operator':'Gt','values':['3']}],'matchFields':[{'key':'metadata.name','operator':'In','values':['n1']}]}]},'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':10,'preference':{'matchExpressions':[{'key':'x','operator':'DoesNotExist'}]}}]}}}`,
	`{'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{'matchLabels':{'app':'a'},'matchExpressions':[{'key':'t','operator':'NotIn','values':['x']}]},'topologyKey':'zone','namespaces':['ns'],'matchLabelKeys':['rev']}]},'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':100,'podAffinityTerm':{'labelSelector':{'matchLabels':{'app':'a'}},'namespaceSelector':{},'topologyKey':'kubernetes.io/hostname'}}]}}}`,
	`{'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'zone','whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchLabels':{'app':'a'}},'minDomains':2,'nodeAffinityPolicy':'Ignore','nodeTaintsPolicy':'Honor','matchLabelKeys':['rev']},{'maxSkew':2,'topologyKey':'host','whenUnsatisfiable':'ScheduleAnyway'}]}`,
	`{'priorityClassName':'high','terminationGracePeriodSeconds':60,'activeDeadlineSeconds':600,'schedulerName':'my-scheduler','preemptionPolicy':'Never','priority':10}`,
	`{'dnsPolicy':'None','dnsConfig':{'nameservers':['1.1.1.1'],'searches':['a.b.'],'options':[{'name':'ndots','value':'2'},{'name':'x'}]},'hostname':'h','subdomain':'s','setHostnameAsFQDN':true}`,
	`{'dnsPolicy':'ClusterFirstWithHostNet','hostNetwork':true,'hostPID':true,'shareProcessNamespace':false}`,
	`{'hostAliases':[{'ip':'10.1.2.3','hostnames':['a.b','c']},{'ip':'::1'}],'enableServiceLinks':false,'serviceAccountName':'sa','automountServiceAccountToken':false,'imagePullSecrets':[{'name':'s'}]}`,
	`{'securityContext':{'runAsUser':1000,'runAsNonRoot':true,'fsGroup':2000,'fsGroupChangePolicy':'OnRootMismatch','supplementalGroups':[1,2],'supplementalGroupsPolicy':'Merge','sysctls':[{'name':'kernel.shm_rmid_forced','value':'0'},{'name':'net.core.somaxconn','value':'1'}],'seccompProfile':{'type':'RuntimeDefault'},'seLinuxOptions':{'user':'u'},'seLinuxChangePolicy':'Recursive'}}`,
	`{'schedulingGates':[{'name':'example.com/gate'},{'name':'b'}]}`,
	`{'resources':{'requests':{'cpu':'2','memory':'2Gi'},'limits':{'cpu':'8','memory':'8Gi'}}}`,
	`{'overhead':{'cpu':'100m','memory':'10Mi'},'runtimeClassName':'kata'}`,
	`{'os':{'name':'linux'},'readinessGates':[{'conditionType':'example.com/ready'}]}`,
	`{'resourceClaims':[{'name':'dev','resourceClaimName':'c'},{'name':'dev2','resourceClaimTemplateName':'t'}]}`,
	`{'hostUsers':false}`,
	`{'hostUsers':false,'hostnameOverride':'my.host'}`,
	`{'securityContext':{'windowsOptions':{'hostProcess':true,'gmsaCredentialSpec':'{}','runAsUserName':'NT AUTHORITY\\Local Service'}},'hostNetwork':true}`,
	`{'securityContext':{'sysctls':[{'name':'net/ipv4/ip_local_port_range','value':'1'},{'name':'kernel.sem','value':'1'}],'appArmorProfile':{'type':'RuntimeDefault'},'seLinuxChangePolicy':'MountOption','fsGroup':0},'hostIPC':true}`,
	`{'dnsConfig':{'nameservers':['1.1.1.1','8.8.8.8','::1'],'searches':['ns1.svc.cluster.local','.','a_b.c']}}`,
	`{'nodeName':'n1'}`,
	`{'securityContext':{'windowsOptions':{'runAsUserName':'ContainerUser','gmsaCredentialSpecName':'g'}},'os':{'name':'windows'}}`,
}

var metadataParts = []string{
	`{'labels':{'app':'a','example.com/x':'Y_1'}}`,
	`{'annotations':{'a.b/c':'any thing','d':''}}`,
	`{'finalizers':['example.com/f']}`,
	`{'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':'o','uid':'u','controller':true,'blockOwnerDeletion':true}]}`,
	`{'namespace':'ns'}`,
	`{'annotations':{'cluster-autoscaler.kubernetes.io/safe-to-evict':'true','prometheus.io/scrape':'true'}}`,
	`{'annotations':{'controller.kubernetes.io/pod-deletion-cost':'5','container.apparmor.security.beta.kubernetes.io/c0':'runtime/default'}}`,
	`{'annotations':{'scheduler.alpha.kubernetes.io/tolerations':'[]','seccomp.security.alpha.kubernetes.io/pod':'unconfined'}}`,
	`{'annotations':{'scheduler.alpha.kubernetes.io/tolerations':'[{\"key\":\"a\",\"operator\":\"Exists\"}]','container.seccomp.security.alpha.kubernetes.io/c0':'localhost/a.json','container.apparmor.security.beta.kubernetes.io/c1':'localhost/p'}}`,
}

func containers(g *G, prefix string, n, k int, parts []string) L {
	all := L{}
	for i := 0; i < n; i++ {
		c := drawn(g, k, parts)
		c["name"] = prefix + string(rune('0'+i))
		c["image"] = pick(g, "nginx", "registry/x:1")
		all = append(all, c)
	}
	return all
}

// podSpec makes a spec in which volumes that are mounted are mostly there.
func podSpec(g *G) M {
	spec := drawn(g, 4, podParts)
	spec["containers"] = containers(g, "c", pick(g, 1, 1, 1, 2, 3), 4, containerParts)
	if g.p(0.25) {
		spec["initContainers"] = containers(g, "i", g.rng(1, 2), 2, initParts)
	}
	if g.p(0.03) {
		spec["ephemeralContainers"] = containers(g, "e", 1, 1, containerParts)
	}
	if g.p(0.2) {
		spec["restartPolicy"] = pick(g, "Always", "Never", "OnFailure")
	}
	supply(g, spec)
	return spec
}

// supply adds the volumes and claims that containers name.
func supply(g *G, spec M) {
	there := map[string]bool{}
	volumes, _ := spec["volumes"].(L)
	for _, v := range volumes {
		there[v.(M)["name"].(string)] = true
	}
	text, _ := json.Marshal(spec["containers"])
	more, _ := json.Marshal(spec["initContainers"])
	used := string(text) + string(more)
	for _, name := range []string{"data", "tmp"} {
		if strings.Contains(used, `"name":"`+name+`"`) && !there[name] && g.p(0.97) {
			volumes = append(volumes, M{"name": name, "emptyDir": M{}})
		}
	}
	if strings.Contains(used, `"name":"claim"`) && !there["claim"] && g.p(0.97) {
		volumes = append(volumes, M{"name": "claim", "persistentVolumeClaim": M{"claimName": "pvc"}})
	}
	if len(volumes) > 0 {
		spec["volumes"] = volumes
	}
	if strings.Contains(used, `"name":"dev"`) && spec["resourceClaims"] == nil && g.p(0.97) {
		spec["resourceClaims"] = L{M{"name": "dev", "resourceClaimName": "c"}}
	}
}

func metadata(g *G, k int) M {
	m := drawn(g, k, metadataParts)
	if g.p(0.9) {
		m["name"] = pick(g, "x", "web-1", "a.b")
	} else {
		m["generateName"] = "gen-"
	}
	return m
}

// podTemplate has the labels that the selectors here select.
func podTemplate(g *G) M {
	meta := drawn(g, 2, metadataParts)
	delete(meta, "namespace")
	delete(meta, "ownerReferences")
	join(meta, part(`{'labels':{'app':'a','tier':'t'}}`))
	return M{"metadata": meta, "spec": podSpec(g)}
}

var selectorParts = []string{
	`{'matchLabels':{'app':'a'}}`,
	`{'matchLabels':{'app':'a','tier':'t'}}`,
	`{'matchExpressions':[{'key':'app','operator':'In','values':['a','b']},{'key':'none','operator':'DoesNotExist'}]}`,
	`{'matchLabels':{'app':'a'},'matchExpressions':[{'key':'tier','operator':'Exists'}]}`,
}

var workloadParts = map[string][]string{
	"Deployment": {
		`{'replicas':3}`, `{'strategy':{'type':'Recreate'}}`, `{'minReadySeconds':5,'progressDeadlineSeconds':60,'revisionHistoryLimit':2,'paused':true}`,
		`{'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':'25%','maxUnavailable':0}}}`,
		`{'strategy':{'rollingUpdate':{'maxSurge':1,'maxUnavailable':'50%'}}}`,
	},
	"ReplicaSet": {`{'replicas':3}`, `{'minReadySeconds':5}`},
	"DaemonSet": {
		`{'minReadySeconds':5,'revisionHistoryLimit':2}`, `{'updateStrategy':{'type':'OnDelete'}}`,
		`{'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':1,'maxSurge':0}}}`,
		`{'updateStrategy':{'rollingUpdate':{'maxSurge':'10%','maxUnavailable':0}}}`,
	},
	"StatefulSet": {
		`{'replicas':3,'serviceName':'svc'}`, `{'podManagementPolicy':'Parallel','minReadySeconds':1,'revisionHistoryLimit':3}`,
		`{'updateStrategy':{'type':'OnDelete'}}`, `{'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{'partition':1,'maxUnavailable':1}}}`,
		`{'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Delete','whenScaled':'Retain'}}`, `{'ordinals':{'start':1}}`,
		`{'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}]}`,
	},
	"Job": {
		`{'parallelism':2,'completions':4}`, `{'completionMode':'Indexed','completions':3,'backoffLimitPerIndex':1,'maxFailedIndexes':2}`,
		`{'backoffLimit':2,'activeDeadlineSeconds':60,'ttlSecondsAfterFinished':10,'suspend':true}`,
		`{'podFailurePolicy':{'rules':[{'action':'FailJob','onExitCodes':{'containerName':'c0','operator':'In','values':[1,42]}},{'action':'Ignore','onPodConditions':[{'type':'DisruptionTarget','status':'True'}]}]}}`,
		`{'completionMode':'Indexed','completions':5,'successPolicy':{'rules':[{'succeededIndexes':'0-2,4','succeededCount':2}]}}`,
		`{'podReplacementPolicy':'Failed','managedBy':'example.com/x'}`,
		`{'manualSelector':true,'selector':{'matchLabels':{'app':'a'}}}`,
	},
}

func jobSpec(g *G) M {
	spec := drawn(g, 2, workloadParts["Job"])
	template := podTemplate(g)
	template["spec"].(M)["restartPolicy"] = pick(g, "Never", "Never", "OnFailure")
	spec["template"] = template
	return spec
}

var otherSpecs = map[string][]string{
	"HorizontalPodAutoscaler": {
		`{'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'web'},'minReplicas':2,'maxReplicas':5}`,
		`{'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'web'},'maxReplicas':5,'metrics':[{'type':'Resource','resource':{'name':'cpu','target':{'type':'Utilization','averageUtilization':80}}},{'type':'Pods','pods':{'metric':{'name':'qps'},'target':{'type':'AverageValue','averageValue':'10'}}}]}`,
		`{'scaleTargetRef':{'kind':'Deployment','name':'web'},'maxReplicas':5,'metrics':[{'type':'Object','object':{'describedObject':{'kind':'Service','name':'s'},'metric':{'name':'m'},'target':{'type':'Value','value':'10'}}},{'type':'External','external':{'metric':{'name':'e','selector':{'matchLabels':{'a':'b'}}},'target':{'type':'AverageValue','averageValue':'1'}}},{'type':'ContainerResource','containerResource':{'name':'memory','container':'c','target':{'type':'AverageValue','averageValue':'1Gi'}}}]}`,
		`{'scaleTargetRef':{'kind':'Deployment','name':'web'},'maxReplicas':5,'behavior':{'scaleUp':{'stabilizationWindowSeconds':0,'selectPolicy':'Max','policies':[{'type':'Percent','value':100,'periodSeconds':15}]},'scaleDown':{'policies':[{'type':'Pods','value':1,'periodSeconds':60}],'selectPolicy':'Disabled'}}}`,
	},
	"PodDisruptionBudget": {
		`{'minAvailable':1,'selector':{'matchLabels':{'app':'a'}}}`,
		`{'maxUnavailable':'25%','selector':{'matchExpressions':[{'key':'app','operator':'In','values':['a']}]},'unhealthyPodEvictionPolicy':'AlwaysAllow'}`,
		`{'minAvailable':'100%'}`, `{'maxUnavailable':0,'selector':{},'unhealthyPodEvictionPolicy':'IfHealthyBudget'}`,
	},
	"LimitRange": {
		`{'limits':[{'type':'Container','default':{'cpu':'500m','memory':'512Mi'},'defaultRequest':{'cpu':'100m','memory':'64Mi'},'max':{'cpu':'2','memory':'1Gi'},'min':{'cpu':'10m'},'maxLimitRequestRatio':{'cpu':'10'}}]}`,
		`{'limits':[{'type':'Pod','max':{'cpu':'2'},'min':{'cpu':'1'},'maxLimitRequestRatio':{'memory':'2'}},{'type':'PersistentVolumeClaim','max':{'storage':'10Gi'},'min':{'storage':'1Gi'}}]}`,
		`{'limits':[{'type':'Container','max':{'example.com/gpu':'2'},'default':{'example.com/gpu':'1'}}]}`,
		`{'limits':[{'type':'example.com/thing','max':{'cpu':'2'}}]}`,
	},
	"PersistentVolumeClaim": {
		`{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}`,
		`{'accessModes':['ReadWriteMany','ReadOnlyMany'],'resources':{'requests':{'storage':'1Gi'},'limits':{'storage':'2Gi'}},'storageClassName':'fast','volumeMode':'Block','volumeName':'pv','selector':{'matchLabels':{'a':'b'}}}`,
		`{'accessModes':['ReadWriteOncePod'],'resources':{'requests':{'storage':'1Gi'}},'dataSource':{'apiGroup':'snapshot.storage.k8s.io','kind':'VolumeSnapshot','name':'s'},'volumeAttributesClassName':'gold'}`,
		`{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},'dataSourceRef':{'kind':'PersistentVolumeClaim','name':'c'},'storageClassName':''}`,
	},
	"ResourceQuota": {
		`{'hard':{'pods':'10','requests.cpu':'4','limits.memory':'8Gi','count/deployments.apps':'5','services.loadbalancers':'1'}}`,
		`{'hard':{'cpu':'10','memory':'20Gi','requests.storage':'1Ti','requests.nvidia.com/gpu':'4','hugepages-2Mi':'4Mi','persistentvolumeclaims':'3','gold.storageclass.storage.k8s.io/requests.storage':'5Gi'}}`,
		`{'hard':{'pods':'10'},'scopes':['BestEffort','NotTerminating']}`,
		`{'hard':{'pods':'10','cpu':'1'},'scopeSelector':{'matchExpressions':[{'scopeName':'PriorityClass','operator':'In','values':['high']},{'scopeName':'NotBestEffort','operator':'Exists'}]}}`,
		`{'hard':{'cpu':'1'},'scopes':['Terminating','NotBestEffort','CrossNamespacePodAffinity']}`,
	},
}

func validObject(g *G) M {
	kind := pick(g, "Pod", "Pod", "Pod", "Pod", "Pod", "Deployment", "Deployment", "StatefulSet", "StatefulSet", "DaemonSet",
		"ReplicaSet", "ReplicationController", "Job", "Job", "CronJob", "CronJob", "HorizontalPodAutoscaler", "PodDisruptionBudget",
		"PriorityClass", "LimitRange", "ResourceQuota", "PersistentVolumeClaim")
	object := M{"kind": kind, "metadata": metadata(g, 2)}
	switch kind {
	case "Pod":
		object["apiVersion"], object["spec"] = "v1", podSpec(g)
	case "ReplicationController":
		object["apiVersion"] = "v1"
		object["spec"] = M{"replicas": 2, "selector": M{"app": "a"}, "template": podTemplate(g)}
	case "Job":
		object["apiVersion"], object["spec"] = "batch/v1", jobSpec(g)
	case "CronJob":
		object["apiVersion"] = "batch/v1"
		spec := drawn(g, 2, []string{`{'concurrencyPolicy':'Forbid','timeZone':'Etc/UTC'}`, `{'startingDeadlineSeconds':10,'suspend':false}`, `{'successfulJobsHistoryLimit':1,'failedJobsHistoryLimit':0}`})
		spec["schedule"] = pick(g, "*/5 * * * *", "@daily", "0 3 * * 1-5", "@every 1h")
		spec["jobTemplate"] = M{"spec": jobSpec(g)}
		object["spec"] = spec
	case "PriorityClass":
		object["apiVersion"] = "scheduling.k8s.io/v1"
		object["value"] = pick(g, 0, 1000, 1000000000, -5, 1000000001)
		join(object, drawn(g, 2, []string{`{'globalDefault':true}`, `{'preemptionPolicy':'Never'}`, `{'description':'d'}`}))
		delete(object["metadata"].(M), "namespace")
	case "HorizontalPodAutoscaler", "PodDisruptionBudget", "LimitRange", "ResourceQuota", "PersistentVolumeClaim":
		object["apiVersion"] = map[string]string{"HorizontalPodAutoscaler": "autoscaling/v2", "PodDisruptionBudget": "policy/v1"}[kind]
		if object["apiVersion"] == "" {
			object["apiVersion"] = "v1"
		}
		object["spec"] = part(pick(g, otherSpecs[kind]...))
	default:
		object["apiVersion"] = "apps/v1"
		spec := drawn(g, 3, workloadParts[kind])
		spec["selector"] = part(pick(g, selectorParts...))
		spec["template"] = podTemplate(g)
		object["spec"] = spec
	}
	return object
}

// place is a value within an object, and how to replace it.
type place struct {
	key    string
	value  any
	parent any
	index  int
	set    func(any)
}

func places(value any, into *[]place) {
	switch at := value.(type) {
	case M:
		for _, key := range sortedKeys(at) {
			*into = append(*into, place{key: key, value: at[key], parent: at, set: func(v any) { at[key] = v }})
			places(at[key], into)
		}
	case L:
		for i := range at {
			*into = append(*into, place{value: at[i], parent: at, index: i, set: func(v any) { at[i] = v }})
			places(at[i], into)
		}
	}
}

var oddValues = []any{"", "a", "a<b>&c", "t\tq\"\\", "A_b", "-a", "a b", "é", "a/b", "/abs", "../x", "a..b", "a:b", "$(A)", "10", "5%", "101%", "1.5", "-1", "1Gi", "0.5", "100m", "1k1",
	strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("b", 254), strings.Repeat("c.", 130) + "c", "example.com/x", "kubernetes.io/x", "a.example.com/b/c", "10.0.0.1", "::ffff:1.2.3.4", "010.0.0.1", "fe80::1",
	0, 1, 2, -1, 100, 101, 511, 512, 65535, 65536, 2147483647, 1.5, true, false, L{}, M{}, nil}

var enumWords = []any{"Always", "Never", "OnFailure", "IfNotPresent", "TCP", "UDP", "SCTP", "Exists", "Equal", "In", "NotIn", "DoesNotExist", "Gt", "Lt", "NoSchedule", "NoExecute", "PreferNoSchedule",
	"DoNotSchedule", "ScheduleAnyway", "Honor", "Ignore", "HTTP", "HTTPS", "RuntimeDefault", "Localhost", "Unconfined", "Default", "Unmasked", "None", "ClusterFirst", "Memory", "HugePages", "HugePages-2Mi",
	"RollingUpdate", "Recreate", "OnDelete", "Parallel", "OrderedReady", "Indexed", "NonIndexed", "FailJob", "FailIndex", "Count", "Container", "Pod", "PersistentVolumeClaim", "Block", "Filesystem", "ReadWriteOncePod", "ReadWriteMany",
	"Bidirectional", "HostToContainer", "Enabled", "Disabled", "IfPossible", "linux", "windows", "PreemptLowerPriority", "Strict", "Merge", "MountOption", "Recursive", "SIGTERM", "BestEffort", "PriorityClass", "Terminating",
	"cpu", "memory", "hugepages-2Mi", "hugepages-1Gi", "ephemeral-storage", "storage", "example.com/gpu", "requests.cpu", "limits.cpu", "metadata.name", "spec.nodeName", "status.podIP", "metadata.labels['app']", "metadata.annotations['X/y z']", "status.hostIPs",
	"kubernetes.io/hostname", "metadata.uid", "ALL", "SYS_ADMIN", "CAP_SYS_ADMIN", "data", "tmp", "claim", "c0", "c1", "i0", "RestartContainer", "NotRequired", "Restart", "RestartAllContainers", "@hourly", "* * * *", "TZ=UTC 0 0 * * *"}

var fieldNames = []string{"name", "value", "valueFrom", "key", "emptyDir", "hostPath", "configMap", "secret", "exec", "httpGet", "tcpSocket", "sleep", "requests", "limits", "restartPolicy", "lifecycle", "livenessProbe", "minAvailable", "maxUnavailable",
	"selector", "hostNetwork", "hostPort", "readOnly", "subPath", "subPathExpr", "terminationGracePeriodSeconds", "priority", "generateName", "namespace", "stopSignal", "completionMode", "default", "max", "min", "storage", "cpu", "memory", "hugepages-2Mi", "example.com/gpu", "image", "port", "serviceName", "privileged", "procMount", "hostUsers"}

// mutate changes one place below the object's own fields.
func mutate(g *G, object M) {
	all := []place{}
	for _, key := range sortedKeys(object) {
		if key == "kind" || key == "apiVersion" {
			continue
		}
		if key != "metadata" && key != "spec" {
			all = append(all, place{key: key, value: object[key], parent: object, set: func(v any) { object[key] = v }})
		}
		places(object[key], &all)
	}
	if len(all) == 0 {
		return
	}
	at := all[g.IntN(len(all))]
	parent, isObject := at.parent.(M)
	switch g.IntN(9) {
	case 0: // delete
		if isObject {
			delete(parent, at.key)
		} else {
			at.set(nil)
		}
	case 1: // duplicate
		if list, ok := at.value.(L); ok && len(list) > 0 {
			at.set(append(list, list[g.IntN(len(list))]))
		} else if list, ok := at.parent.(L); ok && len(list) > 1 {
			list[(at.index+1)%len(list)] = at.value
		} else {
			at.set(pick(g, oddValues...))
		}
	case 2: // retype
		switch at.value.(type) {
		case string:
			at.set(pick[any](g, 7, true, M{"a": "b"}, L{"a"}))
		case M:
			at.set(pick[any](g, "a", L{}, 3))
		default:
			at.set(pick[any](g, "a", M{}, "5", L{1}))
		}
	case 3: // negate
		switch v := at.value.(type) {
		case float64:
			at.set(-v)
		case int:
			at.set(-v)
		case bool:
			at.set(!v)
		case string:
			at.set("-" + v)
		default:
			at.set(M{})
		}
	case 4: // rename
		if isObject {
			delete(parent, at.key)
			parent[pick(g, append([]string{at.key + "s", strings.ToUpper(at.key), "a b", "x/y/z"}, fieldNames...)...)] = at.value
		}
	case 5: // add a field
		if object, ok := at.value.(M); ok {
			object[pick(g, fieldNames...)] = pick(g, append(append([]any{M{}, M{"port": 80}, M{"seconds": 5}, "a"}, oddValues...), enumWords...)...)
		} else {
			at.set(pick(g, oddValues...))
		}
	case 6: // another's value
		other := all[g.IntN(len(all))]
		if text, ok := other.value.(string); ok {
			at.set(text)
		} else {
			at.set(pick(g, enumWords...))
		}
	case 7:
		at.set(pick(g, oddValues...))
	default:
		at.set(pick(g, enumWords...))
	}
}
