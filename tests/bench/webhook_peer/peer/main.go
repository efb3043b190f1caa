// Command peer is an admission webhook on controller-runtime, the peer against which this project's own webhook is
// benchmarked.
//
// It does comparable work with the usual means of a Go operator: a manager, its cached client, its webhook server.
//
//	/mutate    on CREATE of a pod: resolves its PriorityClass and writes the spread constraints that the scheduler
//	           would apply by default, with the selector that the scheduler would use
//	/validate  on CREATE of a pod: refuses an unknown PriorityClass; on DELETE: warns a person who force deletes a
//	           pod that may still be running
//
// It is written the idiomatic way and without tricks in either direction: typed objects, the server's own decoder and
// patch, copies from the cache as the client makes them. It exists so that "as fast as a Go webhook" is a measurement
// and not an opinion; it is not meant for deployment.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type options struct {
	host       string
	port       int
	certDir    string
	healthPort int
}

func main() {
	var o options
	// controller-runtime registers --kubeconfig itself.
	flag.StringVar(&o.host, "host", "127.0.0.1", "address to listen on")
	flag.IntVar(&o.port, "port", 9443, "port of the webhook")
	flag.StringVar(&o.certDir, "cert-dir", "", "folder with tls.crt and tls.key")
	flag.IntVar(&o.healthPort, "health-port", 0, "loopback port of /healthz and /readyz; 0 serves neither")
	flag.Parse()

	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.certDir == "" {
		return errors.New("--cert-dir is required")
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Cache:                  cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: healthAddress(o.healthPort),
		LeaderElection:         false,
		WebhookServer: webhook.NewServer(webhook.Options{
			Host:    o.host,
			Port:    o.port,
			CertDir: o.certDir,
			TLSOpts: []func(*tls.Config){onlyHTTP1},
		}),
	})
	if err != nil {
		return err
	}
	if err := watch(ctx, mgr.GetCache()); err != nil {
		return err
	}
	if err := addChecks(mgr); err != nil {
		return err
	}
	decoder := admission.NewDecoder(mgr.GetScheme())
	server := mgr.GetWebhookServer()
	server.Register("/mutate", &admission.Webhook{Handler: &mutator{client: mgr.GetClient(), decoder: decoder}})
	server.Register("/validate", &admission.Webhook{Handler: &validator{client: mgr.GetClient(), live: mgr.GetAPIReader(), decoder: decoder}})
	return mgr.Start(ctx)
}

// onlyHTTP1 offers what the API server uses towards a webhook behind a Service.
func onlyHTTP1(config *tls.Config) {
	config.NextProtos = []string{"http/1.1"}
}

func healthAddress(port int) string {
	if port == 0 {
		return "0"
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// watch makes the cache read at once what the handlers will ask for, so that no review waits for a first list.
func watch(ctx context.Context, c cache.Cache) error {
	for _, object := range []client.Object{
		&corev1.Service{},
		&corev1.ReplicationController{},
		&appsv1.ReplicaSet{},
		&appsv1.StatefulSet{},
		&schedulingv1.PriorityClass{},
		&corev1.Node{},
	} {
		if _, err := c.GetInformer(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// addChecks makes /readyz wait for the cache and the webhook's port.
func addChecks(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", func(*http.Request) error { return nil }); err != nil {
		return err
	}
	synced := func(request *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(request.Context()) {
			return errors.New("the cache has not read everything")
		}
		return nil
	}
	if err := mgr.AddReadyzCheck("cache", synced); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker())
}
