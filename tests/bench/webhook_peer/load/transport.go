package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"
)

const userAgent = "kube-apiserver-admission"

// sender has one connection to the webhook; it is opened again when it was closed.
type sender struct {
	client  *http.Client
	url     string
	review  *review
	want    string
	timeout time.Duration
}

func newSender(o options, r *review, opened *atomic.Int64) (*sender, error) {
	target, err := url.Parse(o.url)
	if err != nil {
		return nil, err
	}
	target.RawQuery = url.Values{"timeout": {o.timeout.String()}}.Encode()
	config, err := tlsConfig(o.ca)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			opened.Add(1)
			return dialer.DialContext(ctx, network, address)
		},
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxConnsPerHost:     1,
		MaxIdleConnsPerHost: 1,
		IdleConnTimeout:     90 * time.Second,
		ForceAttemptHTTP2:   false,
	}
	client := &http.Client{Transport: transport}
	return &sender{client: client, url: target.String(), review: r, want: o.want, timeout: o.timeout}, nil
}

func tlsConfig(ca string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if ca == "" {
		config.InsecureSkipVerify = true
		return config, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", ca)
	}
	return config, nil
}

// send makes one request and returns the time from sending it to having read its answer; checking is not counted.
func (s *sender) send() (time.Duration, error) {
	body, uid := s.review.fresh()
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept", "application/json, */*")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	started := time.Now()
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	got, err := io.ReadAll(response.Body)
	took := time.Since(started)
	response.Body.Close()
	if err != nil {
		return 0, err
	}
	return took, check(response.StatusCode, got, uid, s.want)
}
