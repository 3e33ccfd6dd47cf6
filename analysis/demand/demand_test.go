package demand

import (
	"slices"
	"testing"
)

func TestAGaugeMayBeALoadUnlessItCountsWhatTheProcessHolds(t *testing.T) {
	for name, want := range map[string]bool{
		"app_tenants": true, "shop_customers_registered": true, "controller_managed_clusters": true,
		"app_sessions_open": false, "http_requests_in_flight": false, "db_connections": false, "active_streams": false, "work_queue_depth": false,
		"go_goroutines": false, "process_open_fds": false, "app_heap_bytes": false, "app_start_time_seconds": false, "jvm_threads_live": false,
		"kubelet_running_pods": false, // it is one
	} {
		if got := MayBe(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestOnlyWhatOthersAskIsDemand(t *testing.T) {
	for name, want := range map[string]string{
		"http_requests_total":                              "request",
		"kubelet_http_requests_total":                      "request",
		"haproxy_frontend_http_requests_total":             "request",
		"shop_http_request_duration_seconds_count":         "request",
		"http_server_requests_seconds_count":               "request",
		"http_server_request_duration_seconds_count":       "request",
		"grpc_server_started_total":                        "call",
		"apiserver_request_total":                          "request",
		"etcd_server_client_requests_total":                "request",
		"coredns_dns_requests_total":                       "query",
		"kafka_server_brokertopicmetrics_messagesin_total": "message",
		"net_conntrack_listener_conn_accepted_total":       "connection",

		"":                                               "",
		"myhttp_requests_total":                          "",
		"http_requests_total_errors":                     "",
		"http_requests_in_flight":                        "",
		"http_request_duration_seconds_sum":              "",
		"http_request_duration_seconds_bucket":           "",
		"rest_client_requests_total":                     "",
		"shop_client_http_requests_total":                "",
		"outgoing_http_requests_total":                   "",
		"envoy_cluster_upstream_rq_total":                "",
		"haproxy_backend_http_requests_total":            "",
		"http_client_request_duration_seconds_count":     "",
		"grpc_client_started_total":                      "",
		"retries_http_requests_total":                    "",
		"etcd_request_duration_seconds_count":            "",
		"net_conntrack_dialer_conn_attempted_total":      "",
		"envoy_http_downstream_cx_active":                "",
		"promhttp_metric_handler_requests_total":         "",
		"prometheus_http_requests_total":                 "",
		"prometheus_http_request_duration_seconds_count": "",
		"kubelet_running_pods":                           "",
	} {
		if got, ok := AsCounter(name); got.Unit != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got.Unit, ok, want)
		}
	}
}

func TestStartedCallsComeBeforeThoseThatWereHandled(t *testing.T) {
	got := Counters([]string{"b_http_requests_total", "grpc_server_handled_total", "go_goroutines", "a_http_requests_total", "grpc_server_started_total"})
	var names []string
	for _, c := range got {
		names = append(names, c.Name)
	}
	if want := []string{"a_http_requests_total", "b_http_requests_total", "grpc_server_started_total", "grpc_server_handled_total"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestAGaugeOfDemandIsNoCounter(t *testing.T) {
	if !IsGauge("kubelet_running_pods") || IsGauge("http_requests_total") || !slices.Equal(Gauges(), []string{"prometheus_sd_discovered_targets", "kubelet_running_pods", "kubelet_desired_pods", "pods_on_node"}) {
		t.Error(Gauges())
	}
}
