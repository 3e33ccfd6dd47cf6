package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/store"
)

// counts are what the server counts of itself.
type counts struct {
	uploads  prometheus.Counter
	bytes    prometheus.Counter
	refusals *prometheus.CounterVec
	ingests  prometheus.Histogram
	failures *prometheus.CounterVec
	alerts   *prometheus.CounterVec
}

func newCounts() *counts {
	alerts := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "leakdiff_alert_attempts_total",
		Help: "Attempts to tell the webhook of an alert, by result."}, []string{"result"})
	for _, result := range []string{alertTaken, alertFailed} {
		alerts.WithLabelValues(result)
	}
	return &counts{
		alerts:  alerts,
		uploads: prometheus.NewCounter(prometheus.CounterOpts{Name: "leakdiff_uploads_total", Help: "Uploads acknowledged."}),
		bytes:   prometheus.NewCounter(prometheus.CounterOpts{Name: "leakdiff_upload_bytes_total", Help: "Bytes of acknowledged uploads."}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "leakdiff_uploads_refused_total",
			Help: "Uploads refused, by the code of the refusal."}, []string{"reason"}),
		ingests: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "leakdiff_ingest_seconds",
			Help: "Seconds in which an upload was read and its result saved.", Buckets: []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900}}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "leakdiff_ingest_failures_total",
			Help: "Readings that ended without a result, by the code of the fault."}, []string{"kind"}),
	}
}

const alertTaken, alertFailed = "taken", "failed"

// alertSent counts an attempt to deliver an alert.
func (c *counts) alertSent(taken bool) {
	result := alertFailed
	if taken {
		result = alertTaken
	}
	c.alerts.WithLabelValues(result).Inc()
}

// refused counts refusals of uploads. A code is one of the program's own words.
func (c *counts) refused(r *http.Request, code string) {
	path := r.URL.Path
	if r.Method == http.MethodPost && (path == "/upload" || path == "/api/v1/bundles") || r.Method == http.MethodPut && strings.HasPrefix(path, "/api/v1/bundles") {
		c.refusals.WithLabelValues(code).Inc()
	}
}

// observed counts what happens to a store.
type observed struct {
	Storage
	counts *counts
	now    func() time.Time

	mu sync.Mutex
	// claimed is when each running job was claimed.
	claimed map[string]time.Time
}

func (o *observed) OpenCase(ctx context.Context, title, sample, name string, files []store.File, receipts ...store.Receipt) (c store.Case, b store.Bundle, ownerKey string, err error) {
	c, b, ownerKey, err = o.Storage.OpenCase(ctx, title, sample, name, files, receipts...)
	o.added(files, err)
	return c, b, ownerKey, err
}

func (o *observed) AddBundle(ctx context.Context, caseID, name string, files []store.File, receipts ...store.Receipt) (store.Bundle, store.Job, error) {
	b, job, err := o.Storage.AddBundle(ctx, caseID, name, files, receipts...)
	o.added(files, err)
	return b, job, err
}

func (o *observed) added(files []store.File, err error) {
	if err != nil {
		return
	}
	o.counts.uploads.Inc()
	for _, f := range files {
		o.counts.bytes.Add(float64(f.Size))
	}
}

func (o *observed) ClaimChosen(ctx context.Context, choose func(queued []store.QueuedJob) int) (store.Job, bool, error) {
	job, claimed, err := o.Storage.ClaimChosen(ctx, choose)
	if claimed && err == nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.claimed[job.ID] = o.now()
	}
	return job, claimed, err
}

func (o *observed) FinishJob(ctx context.Context, job store.Job, r store.Result) error {
	err := o.Storage.FinishJob(ctx, job, r)
	began, known := o.ended(job.ID)
	if err == nil && known {
		o.counts.ingests.Observe(max(0, o.now().Sub(began).Seconds()))
	}
	return err
}

func (o *observed) FailJob(ctx context.Context, job store.Job, why *analysis.Fault) error {
	err := o.Storage.FailJob(ctx, job, why)
	o.failed(job.ID, why, err)
	return err
}

func (o *observed) PostponeJob(ctx context.Context, job store.Job, why *analysis.Fault) error {
	err := o.Storage.PostponeJob(ctx, job, why)
	o.failed(job.ID, why, err)
	return err
}

func (o *observed) CancelJob(ctx context.Context, job store.Job) error {
	o.ended(job.ID)
	return o.Storage.CancelJob(ctx, job)
}

func (o *observed) failed(jobID string, why *analysis.Fault, err error) {
	o.ended(jobID)
	if err == nil && why != nil { // a reader that hands its job on has no reason
		o.counts.failures.WithLabelValues(why.Code).Inc()
	}
}

func (o *observed) ended(jobID string) (began time.Time, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	began, known = o.claimed[jobID]
	delete(o.claimed, jobID)
	return began, known
}

// waits collects what waits in the store, with one query for each scrape.
type waits struct {
	server                          *Server
	jobs, queueAge, reports, alerts *prometheus.Desc
}

func newWaits(s *Server) *waits {
	return &waits{
		server:   s,
		jobs:     prometheus.NewDesc("leakdiff_jobs", "Uploads that wait or are being read, by state.", []string{"state"}, nil),
		queueAge: prometheus.NewDesc("leakdiff_queue_age_seconds", "Seconds that the oldest queued upload has waited; 0 without one.", nil, nil),
		reports:  prometheus.NewDesc("leakdiff_report_age_seconds", "Seconds since the first change of a case whose report is not made again yet; 0 without one.", nil, nil),
		alerts:   prometheus.NewDesc("leakdiff_alert_age_seconds", "Seconds that the oldest alert waits to be taken by the webhook; 0 without one.", nil, nil),
	}
}

func (c *waits) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.jobs, c.queueAge, c.reports, c.alerts} {
		out <- d
	}
}

func (c *waits) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	state, err := c.server.cfg.Store.State(ctx)
	if err != nil {
		for _, d := range []*prometheus.Desc{c.jobs, c.queueAge, c.reports, c.alerts} {
			out <- prometheus.NewInvalidMetric(d, err)
		}
		return
	}
	age := func(since time.Time) float64 {
		if since.IsZero() {
			return 0
		}
		return max(0, c.server.cfg.Now().Sub(since).Seconds())
	}
	out <- prometheus.MustNewConstMetric(c.jobs, prometheus.GaugeValue, float64(state.Queued), "queued")
	out <- prometheus.MustNewConstMetric(c.jobs, prometheus.GaugeValue, float64(state.Running), "running")
	out <- prometheus.MustNewConstMetric(c.queueAge, prometheus.GaugeValue, age(state.OldestQueued))
	out <- prometheus.MustNewConstMetric(c.reports, prometheus.GaugeValue, age(state.OutdatedSince))
	out <- prometheus.MustNewConstMetric(c.alerts, prometheus.GaugeValue, age(state.OldestDelivery))
}

// mostLeaks bounds the processes of cases that /metrics names, those captured last, and
// leakDays is how many days back a capture counts, as for alerts.
const (
	mostLeaks = 200
	leakDays  = 30
)

// leakFigures collects what leaks in the cases, with one query for each scrape.
type leakFigures struct {
	server                               *Server
	families, since, captured, processes *prometheus.Desc
}

func newLeakFigures(s *Server) *leakFigures {
	of := []string{"case", "process", "host"}
	return &leakFigures{
		server:    s,
		families:  prometheus.NewDesc("leakdiff_leaking_families", "Families that leak in a process of a case, still at its last capture, of captures within 30 days.", of, nil),
		since:     prometheus.NewDesc("leakdiff_leaking_since_timestamp_seconds", "Unix time of the first capture that shows one of the families that leak in a process of a case.", of, nil),
		captured:  prometheus.NewDesc("leakdiff_leaking_captured_timestamp_seconds", "Unix time of the last capture that shows one of the families that leak in a process of a case.", of, nil),
		processes: prometheus.NewDesc("leakdiff_leaking_processes", fmt.Sprintf("Processes of cases in which a family leaks, still at the last capture. The other figures name the %d that were captured last.", mostLeaks), nil, nil),
	}
}

func (c *leakFigures) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.families, c.since, c.captured, c.processes} {
		out <- d
	}
}

func (c *leakFigures) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	now := c.server.cfg.Now()
	found, total, err := c.server.cfg.Store.Leaks(ctx, store.LeakQuery{Since: now.AddDate(0, 0, -leakDays), Until: now, Limit: mostLeaks})
	if err != nil {
		for _, d := range []*prometheus.Desc{c.families, c.since, c.captured, c.processes} {
			out <- prometheus.NewInvalidMetric(d, err)
		}
		return
	}
	out <- prometheus.MustNewConstMetric(c.processes, prometheus.GaugeValue, float64(total))
	for _, l := range found {
		// Names come from dumps. Printable also makes them UTF-8, which labels must be.
		of := []string{l.CaseID, wording.Printable(l.Process), wording.Printable(l.Host)}
		for d, value := range map[*prometheus.Desc]float64{c.families: float64(l.Families), c.since: float64(l.First.Unix()), c.captured: float64(l.Last.Unix())} {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, of...)
		}
	}
}

// metrics serves the server's own figures in the text format of Prometheus.
func (s *Server) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		s.counts.uploads, s.counts.bytes, s.counts.refusals, s.counts.ingests, s.counts.failures, s.counts.alerts,
		newWaits(s), newLeakFigures(s),
		gauge("leakdiff_disk_free_bytes", "Bytes free on the volume that holds the uploads; -1 if it does not answer.", func() float64 {
			free, err := s.cfg.Blobs.Free()
			if err != nil {
				return -1
			}
			return float64(free)
		}),
		gauge("leakdiff_damaged_uploads", "Uploads that were set aside as damaged and not put back; -1 if the volume does not answer.", func() float64 {
			damaged, err := s.cfg.Blobs.Damaged()
			if err != nil {
				return -1
			}
			return float64(damaged)
		}),
		gauge("leakdiff_ingest_running", "1 while a bundle is being read.", func() float64 {
			if s.queue.Busy() {
				return 1
			}
			return 0
		}),
		counter("leakdiff_deletions_total", "Deletions of cases, bundles and results since the start.", func() float64 {
			deleted, _ := s.cfg.Store.Deletions()
			return float64(deleted)
		}),
		counter("leakdiff_deletions_reaped_total", "Deletions of which the data directory contains no byte any more.", func() float64 {
			_, reaped := s.cfg.Store.Deletions()
			return float64(reaped)
		}),
	)
	// One query that fails must not hide the other figures.
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

func gauge(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
}

func counter(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value)
}
