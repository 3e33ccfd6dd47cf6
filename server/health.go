package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// healthz reports whether the database answers.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	if err := s.cfg.Store.Ping(r.Context()); err != nil {
		s.cfg.Log.Error("the database does not answer", "error", err)
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
}

// metrics serves the server's own figures in the text format of Prometheus.
func (s *Server) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "leakdiff_disk_free_bytes", Help: "Bytes free on the volume that holds the uploads."}, func() float64 {
			free, err := s.cfg.Blobs.Free()
			if err != nil {
				return -1
			}
			return float64(free)
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "leakdiff_ingest_running", Help: "1 while a bundle is being read."}, func() float64 {
			if s.queue.Busy() {
				return 1
			}
			return 0
		}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
