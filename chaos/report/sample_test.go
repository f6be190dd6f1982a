package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"mcpd/chaos/record"
	"mcpd/internal/chart"
)

// sample is a made-up run with plausible numbers, for tests of the look of reports. None of its
// numbers were measured.
type sample struct {
	name, title, kind string
	seed              uint64
	seconds           float64 // of each phase
	leak              bool    // bystanders are affected
}

var hang = sample{
	name: "hang-request-manager", title: "A request manager hangs (made-up numbers)",
	kind: "actor.hang", seed: 7, seconds: 60,
}

func (s sample) record() record.Record {
	random := rand.New(rand.NewPCG(s.seed, 1))
	end := 3 * s.seconds
	r := record.Record{
		Format: record.Format, Seed: s.seed, Begun: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Experiment: record.Experiment{
			Name: s.name, Title: s.title, Catalogue: []string{"F05"}, Recovery: 2, TargetErrors: -1,
			Hypothesis: "Calls of the target that are in its hands end by their deadlines; it is fenced " +
				"and replaced within its hard deadline; nobody else notices.",
			MayRestart: []string{"mcpd/tenants/acme/request_manager"},
			Restarts:   map[string][2]int{"mcpd/tenants/acme/request_manager": {5, 5}},
		},
		Host: record.Host{
			Version: "v0.5.0-test", Go: "go1.26.8", CPU: "a made-up processor", Cores: 2,
			System: "linux/amd64",
		},
		Phases: []record.Phase{
			{Name: record.Baseline, From: 0, To: s.seconds},
			{Name: record.Fault, From: s.seconds, To: 2 * s.seconds},
			{Name: record.Heal, From: 2 * s.seconds, To: end},
		},
	}
	path := "mcpd/tenants/acme/request_manager"
	var detected []float64
	for at, i := s.seconds+1, 1; i <= 5; i, at = i+1, at+s.seconds/6 {
		lasted := s.seconds / 12 * (0.9 + random.Float64()/5)
		r.Strikes = append(r.Strikes, record.Strike{
			ID: fmt.Sprintf("f%d", i), Kind: s.kind, Target: path, From: at, To: at + lasted, Hits: 1,
			Fatal: true,
		})
		r.Events = append(r.Events,
			record.Event{
				At: at, Level: "warn", Name: "fault_struck", Path: path, Tenant: "acme",
				Message: "fault struck",
				Fields:  map[string]string{"action": "hang", "fault": fmt.Sprintf("f%d", i)},
			},
			record.Event{
				At: at + lasted, Level: "error", Name: "abandoned", Path: path, Tenant: "acme",
				Message: "child did not stop in time and was isolated",
			},
			record.Event{
				At: at + lasted + 0.01, Level: "info", Name: record.Restarted, Path: path, Tenant: "acme",
				Message: "child restarted",
			})
		detected = append(detected, lasted*1000)
	}
	broken := func(second float64) bool {
		return slices.ContainsFunc(r.Strikes, func(k record.Strike) bool {
			return second+1 > k.From && second < k.To
		})
	}
	r.Groups = []record.Group{
		s.group(random, "acme", record.Target, broken),
		s.group(random, "globex", record.Bystander, broken),
		s.group(random, "initech", record.Bystander, broken),
	}
	r.Groups[0].Errors = map[string]uint64{
		`-32005 "request_manager was restarted" {"reason":"overloaded","retryable":true,"maybeExecuted":false}`: 161, "HTTP 503 Service Unavailable": 4,
	}
	r.Rows = sampleRows()
	r.Probes = []record.Probe{{Name: "ready"}, {Name: "request manager runs"}}
	for at := 0.0; at < end; at += 0.5 {
		r.Probes[0].Answers = append(r.Probes[0].Answers, record.Answer{At: at, OK: true, Text: "200"})
		answer := record.Answer{At: at, OK: true, Text: "running"}
		if broken(at) {
			answer = record.Answer{At: at, Text: "hung"}
		}
		r.Probes[1].Answers = append(r.Probes[1].Answers, answer)
	}
	r.Holdings = []record.Holding{
		{Name: "goroutines", Before: 412, After: 417, Named: 5, Peak: 733, Exact: true},
		{Name: "descriptors", Before: 61, After: 61, Peak: 64, Exact: true},
		{Name: "children", Before: 3, After: 3, Peak: 3, Exact: true},
		{Name: "sessions", Before: 12, After: 12, Peak: 12, Exact: true},
		{Name: "resident bytes", Before: 61 << 20, After: 63 << 20, Peak: 88 << 20, Limit: 512 << 20},
	}
	r.Figures = []record.Figure{
		{Name: "recovery_s", Unit: "s", Samples: []float64{0.8}, Goal: 2},
		{Name: "detect_ms", Unit: "ms", Samples: detected, Goal: s.seconds / 12 * 1100,
			Reason: "the hard deadline of a request manager and 100 ms"}, {Name: "restart_ms", Unit: "ms",
			Samples: []float64{0.42, 0.61, 0.55, 0.71, 0.48}, Goal: 5},
	}
	verdict := func(id, must, is, found string) {
		r.Verdicts = append(r.Verdicts, record.Verdict{ID: id, Text: must, Result: is, Found: found})
	}
	felt, p99 := record.Pass, "1.02 times the baseline (0.97 to 1.08)"
	if s.leak {
		felt, p99 = record.Fail, "9.8 times the baseline (8.1 to 11.9)"
	}
	verdict("I1", "every accepted call has exactly one outcome within its deadline and 250 ms",
		record.Pass, "lost 0, twice 0")
	verdict("I2", "every answer is its own call's", record.Pass, "crossed 0 of 108,000")
	verdict("I3", "no call of a bystander fails", felt,
		fmt.Sprintf("%s calls of bystanders failed", chart.Count(tallyOf(&r, record.Bystander).Failed)))
	verdict("I4", "bystanders' p99 is at most 1.10 times the baseline's", felt, p99)
	verdict("I5", "steady within 2 s of the last fault's end", record.Pass,
		"steady 0.8 s after the last fault ended")
	verdict("I6", "nothing leaks: goroutines, descriptors, children, sessions, subscriptions",
		record.Pass, "all as before; 5 abandoned goroutines are named")
	verdict("I8", "memory stays within its budget", record.Unclear,
		"88 MiB at most; the interval holds the limit")
	verdict("I9", "restarts are as many as faults, and nowhere else", record.Pass,
		"5 restarts of 5 faults, all below mcpd/tenants/acme/request_manager")
	verdict("I12", "what was acknowledged as durable is there after a kill", record.Unjudged,
		"the host was not killed")
	return r
}

// group makes up the calls of one tenant.
func (s sample) group(random *rand.Rand, tenant, role string,
	broken func(float64) bool) record.Group {
	const rate = 200
	g := record.Group{
		Tenant: tenant, Role: role, Rate: rate, Phases: map[string]record.Calls{},
		Errors: map[string]uint64{},
	}
	taken := map[string][]float64{}
	calls := map[string]record.Calls{}
	for at := 0; float64(at) < 3*s.seconds; at++ {
		phase := []string{record.Baseline, record.Fault, record.Heal}[min(int(float64(at)/s.seconds), 2)]
		second := record.Second{At: at, Sent: rate}
		var list []float64
		for range rate {
			// rounded to be the same on every machine
			took := math.Round(1e4*math.Exp(random.NormFloat64()*0.35-0.4)) / 1e4
			if random.IntN(300) == 0 {
				took *= 3 + 4*random.Float64()
			}
			bad := false
			if broken(float64(at)) && (role == record.Target || s.leak) {
				took *= 1 + 30*random.Float64()
				bad = random.IntN(30) == 0 && (role == record.Target || random.IntN(20) == 0)
			}
			if bad {
				second.Failed++
				continue
			}
			second.OK++
			list = append(list, took)
		}
		slices.Sort(list)
		second.P50, second.P99, second.Max = quantile(list, 0.5), quantile(list, 0.99), quantile(list, 1)
		g.Seconds = append(g.Seconds, second)
		c := calls[phase]
		c.Sent += second.Sent
		c.OK += second.OK
		c.Failed += second.Failed
		calls[phase] = c
		taken[phase] = append(taken[phase], list...)
	}
	for phase, c := range calls {
		list := taken[phase]
		slices.Sort(list)
		c.P50, c.P90, c.P99, c.P999, c.Max = quantile(list, 0.5), quantile(list, 0.9), quantile(list,
			0.99), quantile(list, 0.999), quantile(list, 1)
		for _, v := range list {
			to := math.Ceil(v*100) / 100
			if last := len(c.Histogram) - 1; last >= 0 && c.Histogram[last].To == to {
				c.Histogram[last].Calls++
			} else {
				c.Histogram = append(c.Histogram, record.Bucket{To: to, Calls: 1})
			}
		}
		g.Phases[phase] = c
	}
	return g
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

func sampleRows() (rows []record.Row) {
	put := func(path string) {
		rows = append(rows, record.Row{Path: path, Type: "worker", Before: "running", After: "running"})
	}
	for _, path := range []string{"mcpd", "mcpd/admin", "mcpd/observability",
		"mcpd/observability/event_log", "mcpd/core", "mcpd/core/storage", "mcpd/core/memory",
		"mcpd/core/session_manager", "mcpd/core/process_manager", "mcpd/core/configuration",
		"mcpd/tenants"} {
		put(path)
	}
	for _, tenant := range []string{"acme", "globex", "initech"} {
		for _, row := range []string{"", "/request_manager", "/notification_dispatcher", "/catalog",
			"/client_sup", "/client_sup/demo", "/client_sup/demo/principal=anonymous",
			"/client_sup/demo/principal=anonymous/connection", "/held_sup", "/task_sup", "/task_manager",
			"/server_sup"} {
			put("mcpd/tenants/" + tenant + row)
			if tenant == "acme" && row == "/request_manager" {
				rows[len(rows)-1].Restarts = 5
			}
		}
	}
	put("mcpd/listeners")
	put("mcpd/listeners/mcp")
	return rows
}
