package soak

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// docsPage is the page that a full run writes.
const docsPage = "../../docs/soak.md"

// summary is the result of a soak.
type summary struct {
	took         time.Duration
	calls        map[string]int // number of attempts, by how they ended
	reopens      int
	hosts        int // number of events that ended the host
	clients      int
	faults       []fault
	events       []pastEvent
	lines        [][]line
	unassigned   []line
	tooManyLines []string
	held         []difference
	first, last  holding
}

func summarize(r *rig, begin time.Time, all []outcome, events []pastEvent,
	first, last holding) *summary {
	s := &summary{
		took: time.Since(begin), calls: map[string]int{}, events: events, first: first, last: last,
	}
	counted := map[string]bool{}
	for _, each := range services() {
		counted[each.name] = each.counted
	}
	s.faults = judge(all, r.effects(), events, func(server string) bool { return counted[server] })
	names := map[string]bool{}
	for _, o := range all {
		names[o.client] = true
		switch {
		case o.err != nil:
			may, _ := o.err.fact(executed)
			s.calls[fmt.Sprintf("error `%s`, maybeExecuted %t", o.err.reason(), may)]++
		case o.timedOut:
			s.calls["no answer until the client's timeout"]++
		case o.broken != "":
			s.calls["no answer: the connection was lost or refused"]++
		default:
			s.calls["answered"]++
		}
	}
	s.clients = len(names)
	for _, h := range events {
		if strings.HasPrefix(h.kind.name, "host ") {
			s.hosts++
		}
	}
	s.lines, s.unassigned = linesByEvent(withoutStartup(r.log.since(begin)), events)
	s.tooManyLines = tooManyLines(s.lines, events)
	if len(last) > 0 {
		s.held = grown(first, last)
	}
	return s
}

// maxReported bounds how many faults of one verdict are reported in full.
const maxReported = 20

// report fails the test for everything that is wrong, and writes the page.
func (s *summary) report(t *testing.T) {
	t.Helper()
	t.Logf("%d events, calls: %v, reopened: %d", len(s.events), s.calls, s.reopens)
	verdicts := map[string]int{}
	for _, f := range s.faults {
		if verdicts[f.verdict]++; verdicts[f.verdict] <= maxReported {
			t.Errorf("%s: %s", f.verdict, f.label)
		}
	}
	if len(s.faults) > 0 {
		t.Errorf("faults of %d attempts: %v", s.attempts(), verdicts)
	}
	if most := s.hosts * s.clients; s.reopens > most {
		t.Errorf("clients opened another session %d times, %d at most for the ends of the host",
			s.reopens, most)
	}
	for i, w := range s.tooManyLines {
		if i < maxReported {
			t.Error(w)
		}
	}
	for _, d := range s.held {
		t.Errorf("held at the end: %s %d, %d at first", d.name, d.after, d.before)
	}
	for i, n := range s.unassigned {
		if i < maxReported {
			t.Errorf("a line without an event: %s", n.text)
		}
	}
	if *update && *full {
		if err := os.WriteFile(docsPage, []byte(s.page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *summary) attempts() (n int) {
	for _, each := range s.calls {
		n += each
	}
	return n
}

// result says that the run has passed, or what it has failed by.
func (s *summary) result() string {
	var failed []string
	for _, f := range []struct {
		n     int
		label string
	}{
		{len(s.faults), "attempts with a fault"},
		{len(s.tooManyLines), "events that cost more lines than they may"},
		{len(s.unassigned), "lines without an event"},
		{len(s.held), "rows of what the host holds that have grown"},
	} {
		if f.n > 0 {
			failed = append(failed, fmt.Sprintf("%d %s", f.n, f.label))
		}
	}
	if len(failed) == 0 {
		return "The run passed.\n"
	}
	return "The run did not pass: " + strings.Join(failed, ", ") + ".\n"
}

func TestResult(t *testing.T) {
	if got := (&summary{}).result(); got != "The run passed.\n" {
		t.Errorf("nothing: %q", got)
	}
	failed := &summary{tooManyLines: make([]string, 2), held: make([]difference, 1)}
	want := "The run did not pass: 2 events that cost more lines than they may, 1 rows of what the " +
		"host holds that have grown.\n"
	if got := failed.result(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func (s *summary) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!-- Written by make soak. Do not edit. -->

# A long run under everything that happens

%d clients of the official SDKs (Go, TypeScript 1.x and 2.x) of %d tenants call published servers and
counting servers while events of a seeded list happen to servers, clients, disk and host.

Seed %d, %s long, and %s of quiet after it. Measured on %s with %d cores (%s/%s, %s). Other programs
ran on the machine at the same time.

## Verdicts

`, s.clients, len(tenants), size().seed, s.took.Round(time.Second), fullForm.quiet,
		time.Now().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		runtime.Version())
	fmt.Fprintln(&b, s.result())
	b.WriteString("| verdict | what it means | attempts |\n|---|---|---|\n")
	for _, v := range verdictMeanings {
		n := 0
		for _, f := range s.faults {
			if f.verdict == v[0] {
				n++
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %d |\n", v[0], v[1], n)
	}
	fmt.Fprintf(
		&b,
		"\n## Calls\n\nClients opened another session %d times. A client does so when a call had no "+
			"answer, as when the host\nends: it did %d times, for each of %d clients.\n\n| ended | "+
			"attempts |\n|---|---|\n", s.reopens, s.hosts, s.clients,
	)
	for _, how := range slices.SortedFunc(maps.Keys(s.calls), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.calls[b], s.calls[a]), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(&b, "| %s | %d |\n", how, s.calls[how])
	}
	b.WriteString(fmt.Sprintf(
		"\n## Events\n\nLines are those of the log at info and above. An event may cost %d.\n\n",
		maxLines,
	) +
		"| event | what | times | lines of the log, mean | most |\n|---|---|---|---|---|\n")
	for _, k := range kinds {
		times, sum, most := 0, 0, 0
		for i, h := range s.events {
			if h.kind.name == k.name {
				times, sum, most = times+1, sum+len(s.lines[i]), max(most, len(s.lines[i]))
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %.1f | %d |\n", k.name, k.label, times,
			float64(sum)/float64(max(times, 1)), most)
	}
	fmt.Fprintf(
		&b,
		"\nLines without an event: %d.\n\nA start of the host also costs these lines, which are not "+
			"counted when they are the first after it:\n\n| line | how many |\n|---|---|\n",
		len(s.unassigned),
	)
	for _, name := range slices.Sorted(maps.Keys(startupEvents)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, startupEvents[name])
	}
	b.WriteString("\n## What the host holds\n\nFirst: before the first event, when each server was " +
		"used and all clients are gone. Last: after the\nquiet. Rows without a reason may not " +
		"grow.\n\n| what | first | last | may grow because |\n|---|---|---|---|\n")
	names := maps.Clone(s.first)
	maps.Copy(names, s.last)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if s.first[name] != s.last[name] || mayDiffer[name] != "" || !strings.Contains(name, " of ") {
			fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", name, s.first[name], s.last[name], mayDiffer[name])
		}
	}
	return b.String()
}

// verdictMeanings explain the verdicts of the judge.
var verdictMeanings = [][2]string{
	{"wrong", "the answer is not that of the call"},
	{"lost", "there was no outcome, or an answer of a call that was not executed"},
	{"double", "the effect happened more than once"},
	{"untrue", "an error whose `maybeExecuted` or `retryable` is not true, or without a cause"},
	{"unexplained", "an error that no event explains"},
}
