// Command create creates pods through an API server over several connections: what a webhook costs those who wait.
//
// Each connection is a closed loop over HTTP/1.1 and TLS, as in ../load. The pod has a generateName, so one body is
// enough. The result is one JSON object on standard output. The exit code is 1 when any pod was refused, or stored
// without what it should carry; 2 for a wrong command line.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

type options struct {
	url, bodyFile, ca, certificate, key string
	connections, pods                   int
	constraints                         bool
}

// result is what is printed; latencies in microseconds.
type result struct {
	Pods    int     `json:"pods"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"rate"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", "", "where to POST, such as https://127.0.0.1:6443/api/v1/namespaces/shop/pods")
	flag.StringVar(&o.bodyFile, "body", "", "file with a pod as JSON, with metadata.generateName")
	flag.StringVar(&o.ca, "ca", "", "PEM file of the authority that signed the API server's certificate")
	flag.StringVar(&o.certificate, "certificate", "", "PEM file of the client's certificate")
	flag.StringVar(&o.key, "key", "", "PEM file of its private key")
	flag.IntVar(&o.connections, "connections", 8, "connections, each with one pod under way")
	flag.IntVar(&o.pods, "pods", 1500, "pods, of all connections together")
	flag.BoolVar(&o.constraints, "constraints", false, "whether each stored pod must have topologySpreadConstraints")
	flag.Parse()
	if flag.NArg() > 0 || o.connections < 1 || o.pods < o.connections {
		fmt.Fprintln(os.Stderr, "error: only flags are taken; --connections at least 1, --pods at least as many")
		os.Exit(2)
	}
	found, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(o options) (*result, error) {
	body, err := os.ReadFile(o.bodyFile)
	if err != nil {
		return nil, err
	}
	config, err := tlsConfig(o)
	if err != nil {
		return nil, err
	}
	var left atomic.Int64
	left.Store(int64(o.pods))
	took := make([][]time.Duration, o.connections)
	failed := make([]error, o.connections)
	var all sync.WaitGroup
	started := time.Now()
	for i := range o.connections {
		client := &http.Client{
			Timeout:   40 * time.Second,
			Transport: &http.Transport{TLSClientConfig: config.Clone(), MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1},
		}
		all.Go(func() {
			for failed[i] == nil && left.Add(-1) >= 0 {
				before := time.Now()
				failed[i] = create(client, o, body)
				took[i] = append(took[i], time.Since(before))
			}
		})
	}
	all.Wait()
	seconds := time.Since(started).Seconds()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	sorted := slices.Sorted(slices.Values(slices.Concat(took...)))
	at := func(share float64) float64 {
		return float64(sorted[int(share*float64(len(sorted)-1))].Microseconds())
	}
	return &result{Pods: o.pods, Seconds: seconds, Rate: float64(o.pods) / seconds, P50: at(0.5), P99: at(0.99)}, nil
}

func tlsConfig(o options) (*tls.Config, error) {
	pem, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", o.ca)
	}
	own, err := tls.LoadX509KeyPair(o.certificate, o.key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: authorities, Certificates: []tls.Certificate{own}, NextProtos: []string{"http/1.1"}}, nil
}

// create makes one pod and looks at what was stored.
func create(client *http.Client, o options, body []byte) error {
	response, err := client.Post(o.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	stored, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("status %d: %.300s", response.StatusCode, stored)
	}
	if o.constraints && !bytes.Contains(stored, []byte(`"topologySpreadConstraints":[`)) {
		return errors.New("a pod was stored without topologySpreadConstraints")
	}
	return nil
}
