package run

import (
	"testing"

	"mcpd/chaos/record"
)

const metrics = `# HELP mcpd_sessions Downstream sessions
# TYPE mcpd_sessions gauge
mcpd_sessions{era="legacy"} 3
mcpd_sessions{era="modern"} 2
mcpd_sessions_opened_total{transport="streamable"} 9
mcpd_queue_high_water{queue="requests"} 7
mcpd_queue_limit{queue="requests"} 256
mcpd_chaos_faults_struck_total{action="panic",tenant="a b"} 1.5e+01
go_goroutines 35
`

func TestMetricsAreSummedByName(t *testing.T) {
	for metric, want := range map[string]float64{
		"mcpd_sessions": 5, `mcpd_sessions{era="legacy"}`: 3, `mcpd_sessions{era="leg"}`: 0, "mcpd": 0,
		"go_goroutines": 35,
		`mcpd_chaos_faults_struck_total{tenant="a b"}`:                15,
		`mcpd_chaos_faults_struck_total{tenant="a b",action="panic"}`: 15,
		`mcpd_chaos_faults_struck_total{action="slow"}`:               0,
	} {
		if got, ok := scrape(metrics).sum(metric); got != want || ok != (want != 0) {
			t.Errorf("%s: %v, %t, want %v", metric, got, ok, want)
		}
	}
}

func TestPeaksAreTheHighestThatWasSeen(t *testing.T) {
	p := newPeaks()
	p.see(scrape(metrics))
	p.see(scrape("go_goroutines 34\nmcpd_queue_high_water{queue=\"requests\"} 6\n"))
	if got := p.value("goroutines"); got != 35 {
		t.Errorf("goroutines %v", got)
	}
	q := p.queues()
	if want := (record.Holding{Name: "queue requests", Peak: 7, Limit: 256}); len(q) != 1 ||
		q[0] != want {
		t.Errorf("queues %+v, want %+v", q, want)
	}
}

func TestAnswersAreHeldAgainstWhatIsWanted(t *testing.T) {
	for _, test := range []struct {
		want, is string
		right    bool
	}{
		{"200", "200", true}, {"200", "503", false}, {"", "anything", true}, {"<= 3", "3", true},
		{"< 3", "3", false}, {">= 3", "3", true}, {"> 3", "4", true}, {"> 3", "x", false},
	} {
		if got := right(test.want, test.is); got != test.right {
			t.Errorf("%q for %q: %t", test.is, test.want, got)
		}
	}
}
