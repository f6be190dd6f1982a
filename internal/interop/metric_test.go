package interop

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"mcpd/internal/mcptest"
)

// metric returns the sum of the series of a metric.
func metric(t *testing.T, host *mcptest.Host, name string) (sum float64) {
	t.Helper()
	w := newWire(t, host.Admin, "")
	// Tests that wait read the metrics often, and the listener allows few connections.
	w.carrier = &http.Transport{DisableKeepAlives: true}
	r := w.do(http.MethodGet, host.Admin+"/metrics", "")
	for _, m := range regexp.MustCompile(`(?m)^`+name+
		`(?:\{[^}]*\})? (\S+)$`).FindAllSubmatch(r.body, -1) {
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}
