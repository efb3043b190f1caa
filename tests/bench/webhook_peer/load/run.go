package main

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const examplesShown = 5

// outcome is what is printed.
type outcome struct {
	Requests              int           `json:"requests"`
	Seconds               float64       `json:"seconds"`
	Rate                  float64       `json:"rate"`
	Latency               latencies     `json:"latency_us"`
	RequestsPerConnection perConnection `json:"requests_per_connection"`
	// ConnectionsOpened is more than --connections when the webhook, or a failure, closed one.
	ConnectionsOpened int64 `json:"connections_opened"`
	Failures          int   `json:"failures"`

	examples []error
}

// latencies are of the measured requests that succeeded; microseconds.
type latencies struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// perConnection shows whether the webhook serves its connections alike: they draw from one stock of requests.
type perConnection struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// worker owns a connection and what happened on it.
type worker struct {
	sender   *sender
	requests int
	took     []time.Duration
	errors   []error
}

func run(o options) (*outcome, error) {
	review, err := readReview(o.bodyFile)
	if err != nil {
		return nil, err
	}
	var opened atomic.Int64
	workers := make([]*worker, o.connections)
	for i := range workers {
		sender, err := newSender(o, review, &opened)
		if err != nil {
			return nil, err
		}
		workers[i] = &worker{sender: sender}
	}
	// In warm-up each connection has a fixed share, so that all are open when it ends, however unfairly they are served.
	share := (o.warmup + o.connections - 1) / o.connections
	together(workers, func(w *worker) { w.warmUp(share) })
	var stock atomic.Int64
	stock.Store(int64(o.requests))
	started := time.Now()
	together(workers, func(w *worker) { w.measure(&stock) })
	return summarize(o, workers, time.Since(started), opened.Load()), nil
}

// together runs all workers and returns when the last has ended.
func together(workers []*worker, do func(*worker)) {
	var group sync.WaitGroup
	for _, w := range workers {
		group.Go(func() { do(w) })
	}
	group.Wait()
}

// warmUp counts no latencies; failures count, for a webhook may not fail its first reviews either.
func (w *worker) warmUp(requests int) {
	for range requests {
		if _, err := w.sender.send(); err != nil {
			w.errors = append(w.errors, err)
		}
	}
}

func (w *worker) measure(stock *atomic.Int64) {
	for stock.Add(-1) >= 0 {
		took, err := w.sender.send()
		w.requests++
		if err != nil {
			w.errors = append(w.errors, err)
			continue
		}
		w.took = append(w.took, took)
	}
}

func summarize(o options, workers []*worker, elapsed time.Duration, opened int64) *outcome {
	result := &outcome{Requests: o.requests, Seconds: round(elapsed.Seconds(), 6), ConnectionsOpened: opened}
	result.RequestsPerConnection.Min = o.requests
	var took []time.Duration
	for _, w := range workers {
		took = append(took, w.took...)
		result.examples = append(result.examples, w.errors...)
		result.RequestsPerConnection.Min = min(result.RequestsPerConnection.Min, w.requests)
		result.RequestsPerConnection.Max = max(result.RequestsPerConnection.Max, w.requests)
	}
	result.Failures = len(result.examples)
	result.examples = result.examples[:min(examplesShown, len(result.examples))]
	result.Rate = round(float64(len(took))/elapsed.Seconds(), 1)
	slices.Sort(took)
	result.Latency = latencies{
		P50: percentile(took, 50),
		P90: percentile(took, 90),
		P99: percentile(took, 99),
		Max: percentile(took, 100),
	}
	return result
}

// percentile is the nearest rank: the smallest value that at least p percent do not exceed; 0 without values.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return round(float64(sorted[rank-1].Nanoseconds())/1000, 1)
}

func round(value float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(value*scale) / scale
}
