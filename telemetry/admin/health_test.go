package admin

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

func TestReadiness(t *testing.T) {
	ok, broken, down := Check{Name: "a", OK: true}, Check{Name: "observability",
		Detail: "down"}, Check{Name: "listeners", Required: true}
	tests := []struct {
		health Health
		word   string
		code   int
	}{
		{Health{}, "starting", 503},
		{Health{Phase: Starting, Checks: []Check{ok, broken}}, "starting", 503},
		{Health{Phase: Serving, Checks: []Check{ok}}, "ready", 200},
		{Health{Phase: Serving, Checks: []Check{ok, broken}}, "degraded", 200},
		{Health{Phase: Serving, Checks: []Check{broken, down, ok}}, "starting", 503},
		{Health{Phase: Draining, Checks: []Check{ok}}, "draining", 503},
		{Health{Phase: Draining, Checks: []Check{down}}, "draining", 503},
		{Health{Phase: SafeMode, Checks: []Check{ok}}, "safe_mode", 503},
	}
	var health Health
	h := start(t, func(o *Options) { o.Health = func() Health { return health } })
	for _, test := range tests {
		health = test.health
		status, _, answer := h.do(http.MethodGet, "/readyz", "")
		var body mcpdv1.Health
		if err := protojson.Unmarshal([]byte(answer), &body); err != nil {
			t.Fatal(err)
		}
		if status != test.code || body.GetStatus() != test.word ||
			len(body.GetChecks()) != len(test.health.Checks) {
			t.Errorf("%+v: %d %s, want %d %s and every check", test.health, status, answer,
				test.code, test.word)
		}
		if live, _, _ := h.do(http.MethodGet, "/livez", ""); live != 200 {
			t.Errorf("%+v: /livez is %d, want 200 whatever readiness says", test.health, live)
		}
	}
}

func TestMetricsAreServed(t *testing.T) {
	h := start(t, nil)
	if status, _, answer := h.do(http.MethodGet, "/metrics", ""); status != 200 ||
		!strings.Contains(answer, `mcpd_build_info{commit="",goversion="",version="1.0.0"} 1`) {
		t.Errorf("/metrics: %d %.200s", status, answer)
	}
}
