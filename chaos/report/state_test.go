package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"mcpd/chaos/record"
	"mcpd/chaos/verdict"
	"mcpd/internal/chart"
)

func TestAnExperimentIsWhatIsGravest(t *testing.T) {
	verdicts := func(list ...string) (r record.Record) {
		for _, is := range list {
			r.Verdicts = append(r.Verdicts, record.Verdict{ID: "I1", Result: is})
		}
		return r
	}
	struck, guarded := verdicts(record.Pass), verdicts(record.Pass, record.Unclear)
	struck.Strikes = []record.Strike{{Error: "no such row"}, {Error: "no such row"}}
	guarded.Aborted = "the host is down"
	once := verdicts(record.Pass)
	once.Strikes = []record.Strike{{Error: "no such row"}, {Hits: 1}}
	// E1 is the verdict on the run itself and not an invariant of the host, so the states aborted and
	// missed take precedence.
	ended, idle, partly := verdicts(record.Pass), verdicts(record.Pass), verdicts(record.Pass)
	ended.Verdicts = append(ended.Verdicts, record.Verdict{ID: "E1", Result: record.Fail})
	idle.Verdicts, partly.Verdicts = ended.Verdicts, ended.Verdicts
	ended.Aborted, idle.Strikes, partly.Strikes = "interrupted", []record.Strike{{},
		{Error: "no such row"}}, once.Strikes
	unhealed := verdicts(record.Pass)
	unhealed.Verdicts, unhealed.Strikes = ended.Verdicts, []record.Strike{{Wrong: "not healed"}}
	hurt := ended
	hurt.Verdicts = append([]record.Verdict{{ID: "I3", Result: record.Fail}}, ended.Verdicts...)
	for _, test := range []struct {
		r    record.Record
		want state
	}{
		{verdicts(), unjudged}, {verdicts(record.Unjudged), unjudged}, {verdicts("splendid"), unjudged},
		{verdicts(record.Pass, record.Unjudged), stateHeld},
		{verdicts(record.Pass, record.Unclear), unclear}, {guarded, aborted},
		{verdicts(record.Unclear, record.Fail), stateBroken}, {struck, missed}, {once, stateHeld},
		{ended, aborted}, {idle, missed}, {partly, stateBroken}, {hurt, stateBroken},
		{unhealed, stateBroken},
	} {
		if got := stateOf(&test.r); got != test.want {
			t.Errorf("%+v is %v, want %v", test.r.Verdicts, got, test.want)
		}
	}
}

// A report counts the same restarts as the verdict on restarts, including those of a row that is
// gone, and of a row of which events were missed.
func TestRestartsAreThoseOfTheVerdict(t *testing.T) {
	const kept, gone = "mcpd/tenants/acme/catalog", "mcpd/tenants/acme/client_sup/demo/1/connection"
	again := record.Event{At: 7, Name: record.Restarted, Path: gone}
	early := again
	early.At = -0.5 // before the run began
	r := record.Record{
		Experiment: record.Experiment{
			MayRestart: []string{kept, gone}, Restarts: map[string][2]int{kept: {3, 3}, gone: {2, 2}},
		},
		Rows: []record.Row{
			{Path: kept, Restarts: 3, Incarnations: 3, Before: "running", After: "running"},
		},
		Events: []record.Event{early, again, again},
	}
	const want = 5
	for _, v := range verdict.Judge(r) {
		if text := fmt.Sprint(want, " restarts,"); v.ID == "I9" &&
			(v.Result != record.Pass || !strings.HasPrefix(v.Found, text)) {
			t.Errorf("I9: %s, %s; want %s", v.Result, v.Found, text)
		}
	}
	if got := summarize(&r).Restarts; got != want {
		t.Errorf("the report has %d restarts, want %d", got, want)
	}
	if got := restartLane(&r, axis{end: 10}).Note; got != chart.Count(want) {
		t.Errorf("the timeline has %s restarts, want %d", got, want)
	}
}

// The sentence names the tenants that noticed. It says that nobody noticed only where latencies
// were judged and passed.
func TestSentenceSaysWhoNoticed(t *testing.T) {
	group := func(tenant, role string, failed, twice uint64) record.Group {
		return record.Group{Tenant: tenant, Role: role, Phases: map[string]record.Calls{
			record.Baseline: {Sent: 1000, OK: 1000, P99: 1},
			record.Fault:    {Sent: 1000, OK: 1000 - failed, Failed: failed, Duplicate: twice, P99: 2},
		}}
	}
	for _, test := range []struct {
		name            string
		failed, twice   uint64
		i4, found, want string
	}{
		{"nobody", 0, 0, record.Pass, "",
			"Nobody else noticed: none of 4,000 calls of globex and initech failed; their p99 was 2 ms, " +
				"and 1 ms before."},
		{"a failure", 3, 0, record.Pass, "",
			"Others noticed: initech (3 of 2,000 calls); their p99 was 2 ms, and 1 ms before."},
		{"an answer twice", 0, 1, record.Pass, "",
			"Others noticed: initech (1 of 2,000 calls); their p99 was 2 ms, and 1 ms before."},
		{"judged", 0, 0, record.Pass, "p99 is 1.01 times that of the baseline; at most 1.1",
			"Nobody else noticed: none of 4,000 calls of globex and initech failed; p99 is 1.01 times " +
				"that of the baseline."},
		{"latency", 0, 0, record.Fail, "",
			"Others noticed, though none of 4,000 calls of globex and initech failed; their p99 was 2 ms, " +
				"and 1 ms before."},
		{"not judged", 0, 0, record.Unjudged, "",
			"None of 4,000 calls of globex and initech failed; their p99 was 2 ms, and 1 ms before."},
		{"unclear", 0, 0, record.Unclear, "",
			"None of 4,000 calls of globex and initech failed; their p99 was 2 ms, and 1 ms before."},
	} {
		r := record.Record{
			Groups: []record.Group{
				group("acme", record.Target, 9, 0), group("globex", record.Bystander, 0, 0),
				group("initech", record.Bystander, test.failed, test.twice),
			},
			Verdicts: []record.Verdict{
				{ID: "I4", Result: test.i4, Found: test.found}, {ID: "I5", Result: record.Pass},
			},
			Figures: []record.Figure{{Name: "recovery_s", Unit: "s", Samples: []float64{0.3}}},
		}
		var b bytes.Buffer
		if err := Text(&b, []record.Record{r}); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(b.String()), " ")
		want := "No fault was injected. 9 of 2,000 calls of acme failed. All was well again 0.3 s " +
			"after the last fault ended. " + test.want + " INVARIANT"
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", test.name, got, want)
		}
	}
}

// A fault that was injected and not healed is not reported as not injected.
func TestUnhealedFaultWasInjected(t *testing.T) {
	r := record.Record{
		Strikes: []record.Strike{{Kind: "child.stop", Target: "demo of acme", Hits: 1,
			Wrong: "not healed: no answer"}}, Verdicts: []record.Verdict{{ID: "E1", Result: record.Fail}},
	}
	for form, write := range map[string]func(io.Writer, []record.Record) error{"text": Text,
		"page": HTML, "junit": JUnit} {
		var b bytes.Buffer
		if err := write(&b, []record.Record{r}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, "not healed: no answer") ||
			strings.Contains(strings.ToLower(got), "not injected") ||
			strings.Contains(got, "No fault was injected") {
			t.Errorf("%s: %s", form, got)
		}
	}
}

// The report shows the slowest sample of each step of healing, even if everything was well again
// when the fault ended.
func TestHowFastItHealedIsTold(t *testing.T) {
	found, back := record.Figure{Name: "detect_ms", Unit: "ms",
		Samples: []float64{12, 5017, 40}}, record.Figure{Name: "restart_ms", Unit: "ms",
		Samples: []float64{0.61}}
	well, never := record.Figure{Name: "recovery_s", Unit: "s", Samples: []float64{0}}, record.Figure{
		Name: "down_ms", Unit: "ms", Goal: 150,
	}
	for _, test := range []struct {
		figures []record.Figure
		strikes []record.Strike
		want    string
	}{
		{[]record.Figure{found, never, well, back}, []record.Strike{{Hits: 1}},
			"Found out within 5.02 s, rows restarted within 0.61 ms. All was well as soon as the last " +
				"fault ended."},
		{[]record.Figure{back}, []record.Strike{{Hits: 8}, {Hits: 1, Fatal: true}},
			"Rows restarted within 0.61 ms."},
		{[]record.Figure{well, back}, []record.Strike{{Hits: 18, Fatal: true}},
			"All was well as soon as the last fault ended."},
		{[]record.Figure{never}, []record.Strike{{Hits: 1}}, ""},
		{[]record.Figure{back}, nil, ""},
	} {
		if got := strings.ReplaceAll(healed(&record.Record{Figures: test.figures, Strikes: test.strikes}),
			apart, plain); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// A fault that met nothing is not reported as one that struck.
func TestWhatNeverStruckIsToldApart(t *testing.T) {
	late := record.Strike{Kind: "upstream.late", Target: "acme/demo", Hits: 36}
	idle := record.Strike{Kind: "actor.panic", Target: "mcpd/tenants/acme/catalog"}
	for _, test := range []struct {
		strikes []record.Strike
		want    string
	}{
		{[]record.Strike{late, idle},
			"upstream.late struck 36 times at acme/demo. 1 of 2 faults never struck: actor.panic at " +
				"mcpd/tenants/acme/catalog."},
		{[]record.Strike{idle, late, idle, idle},
			"upstream.late struck 36 times at acme/demo. 3 of 4 faults never struck: actor.panic at " +
				"mcpd/tenants/acme/catalog and 2 others."},
		{[]record.Strike{idle}, "1 of 1 fault never struck: actor.panic at mcpd/tenants/acme/catalog."},
		{[]record.Strike{{Error: "no such row"}}, "No fault was injected."},
	} {
		if got := strings.ReplaceAll(broke(&record.Record{Strikes: test.strikes}), apart,
			plain); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// A figure that could not be judged because no fault lasted long enough is shown next to the
// verdict, in reports of one and of several experiments, because "held" says nothing about it.
func TestWhatWasNotPutToTheTestStandsAtTheTop(t *testing.T) {
	r := record.Record{
		Experiment: record.Experiment{Name: "hang", Title: "A request manager hangs"},
		Strikes:    []record.Strike{{Kind: "actor.hang", Target: "acme", From: 6, To: 10, Hits: 1}},
		Figures:    []record.Figure{{Name: "detect_ms", Unit: "ms", Goal: 5100, DuringFault: true}},
		Verdicts:   []record.Verdict{{ID: "I3", Result: record.Pass}},
	}
	var b bytes.Buffer
	if err := Text(&b, []record.Record{r, r}); err != nil {
		t.Fatal(err)
	}
	const top = "✓ HELD without detect_ms · hang · A request manager hangs"
	const says = "actor.hang struck 1 time at acme. Not put to the test: detect_ms, which may take " +
		"5.10 s: no fault lasted longer than 4.0 s."
	got := strings.Join(strings.Fields(b.String()), " ")
	for want, times := range map[string]int{top + " " + says: 2,
		" hang ✓ held without detect_ms 1 ": 2} {
		if strings.Count(got, want) != times {
			t.Errorf("got %q, want %q %d times", got, want, times)
		}
	}
	own := r // no goal for detection is set
	own.Figures, own.Strikes = nil, []record.Strike{
		{Kind: "actor.hang", Target: "acme", From: 6, To: 10, Hits: 1, Silent: true},
	}
	b.Reset()
	if err := Text(&b, []record.Record{own}); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(strings.Fields(b.String()), " "), top+
		" actor.hang struck 1 time at acme. The host did not find out actor.hang: no fault lasted "+
		"longer than 4.0 s."; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	b.Reset()
	if err := HTML(&b, []record.Record{r}); err != nil {
		t.Fatal(err)
	}
	const want = "All that was judged held; not put to the test: detect_ms"
	if !strings.Contains(b.String(), want) {
		t.Errorf("the page has no %q", want)
	}
}
