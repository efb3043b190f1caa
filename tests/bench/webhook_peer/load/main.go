// Command load sends one recorded AdmissionReview to a webhook again and again, as the API server would.
//
// What it keeps of the API server's transport towards a Service: TLS, HTTP/1.1 alone, connections that stay open, its
// headers, the ?timeout= parameter with a deadline to match, and its checks of the answer. Each connection is a closed
// loop: the next request leaves as soon as the last one was answered, so its rate is what the webhook can do.
//
// The result is one JSON object on standard output. The exit code is 1 when any request failed, 2 for a wrong command
// line. Only the standard library is used, so that the generator costs little and changes with Go alone.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

type options struct {
	url         string
	bodyFile    string
	want        string
	ca          string
	connections int
	requests    int
	warmup      int
	timeout     time.Duration
}

func main() {
	o := parse()
	outcome, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	for _, failure := range outcome.examples {
		fmt.Fprintln(os.Stderr, "failed:", failure)
	}
	if err := json.NewEncoder(os.Stdout).Encode(outcome); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	if outcome.Failures > 0 {
		os.Exit(1)
	}
}

func parse() options {
	var o options
	flag.StringVar(&o.url, "url", "", "the webhook, such as https://127.0.0.1:9443/mutate")
	flag.StringVar(&o.bodyFile, "body", "", "file with an AdmissionReview as JSON; each request gets a uid of its own")
	flag.StringVar(&o.want, "want", wantAllowed, "what every answer must have: patch, warnings or allowed")
	flag.StringVar(&o.ca, "ca", "", "PEM file of the authority that signed the webhook's certificate; any when not given")
	flag.IntVar(&o.connections, "connections", 1, "connections, each with one request under way")
	flag.IntVar(&o.requests, "requests", 1000, "measured requests, of all connections together")
	flag.IntVar(&o.warmup, "warmup", 0, "requests before these, at least one a connection if any")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Second, "the webhook's timeoutSeconds; a later answer is a failure")
	flag.Parse()
	if err := o.validate(flag.NArg()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	return o
}

func (o options) validate(arguments int) error {
	switch {
	case arguments > 0:
		return errors.New("only flags are taken")
	case o.url == "" || o.bodyFile == "":
		return errors.New("--url and --body are required")
	case o.connections < 1 || o.requests < o.connections || o.warmup < 0:
		return errors.New("--connections must be at least 1, --requests at least as many, --warmup not negative")
	case o.timeout < time.Second:
		return errors.New("--timeout is at least 1s, as timeoutSeconds is")
	}
	return validateWant(o.want)
}
