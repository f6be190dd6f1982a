package telemetry

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A routine event of any kind is a debug line.
func TestRoutineIsForDebugging(t *testing.T) {
	for _, tt := range []struct {
		routine bool
		want    string
	}{{false, `"level":"warn"`}, {true, `"level":"debug"`}} {
		var out strings.Builder
		r := NewRecorder(Options{Logger: NewLogger(&out, FormatJSON, slog.LevelDebug)})
		r.Emit(UpstreamExited{Where: Where{Server: "files", Routine: tt.routine}})
		r.Flush()
		if !strings.Contains(out.String(), tt.want) {
			t.Errorf("routine %v: got %s", tt.routine, out.String())
		}
	}
}

// The log of a crash as an operator reads it: a server dies, its actor crashes while reporting
// that, and both come back. Also S4-138, the line of a negotiation.
func TestCrashStory(t *testing.T) {
	zone := time.Local
	time.Local = time.UTC // text has local times
	defer func() { time.Local = zone }()
	for _, format := range []Format{FormatText, FormatJSON} {
		synctest.Test(t, func(t *testing.T) {
			var out strings.Builder
			r := NewRecorder(Options{Logger: NewLogger(&out, format, slog.LevelInfo)})
			tellStory(r)
			r.Flush()
			golden(t, "testdata/crash_story."+string(format), out.String())
		})
	}
}

func tellStory(r *Recorder) {
	files := Where{Tenant: "acme", Server: "files", Path: "mcpd/tenants/acme/client_sup/files"}
	supervision := Supervision(r.Emit, func(string) Where {
		return Where{Tenant: "acme", Server: "files"}
	})
	row := otp.Row{Path: files.Path, Label: "upstream", Incarnation: 3, At: time.Now()}
	tell := func(after time.Duration, events ...Event) {
		time.Sleep(after)
		for _, e := range events {
			r.Emit(e)
		}
	}

	tell(0, ListenerUp{Name: "mcp", Addr: "127.0.0.1:7420"},
		ConfigLoaded{Source: "/etc/mcpd/mcpd.yaml", Generation: 1},
		UpstreamStarting{
			Where: files, Transport: "stdio", Target: "npx @modelcontextprotocol/server-filesystem",
			Incarnation: 1,
		})
	tell(740*time.Millisecond, UpstreamReady{
		Where: files, PID: 4711, Revision: "2025-06-18", ServerInfo: "secure-filesystem 0.2.0",
		Incarnation: 1, Start: 740 * time.Millisecond,
	})
	tell(time.Second, ProtocolNegotiation{Where: Where{Tenant: "acme", Session: "3f2a"},
		SessionID: "3f2a",
		Side:      "downstream", Client: "2025-11-25", Negotiated: "2025-11-25"})
	tell(5*time.Second, UpstreamExited{Where: files, PID: 4711, Cause: "killed", Exit: "SIGKILL",
		Incarnation: 1, InFlight: 2,
		Stderr: "heap \x1b[31mexhausted\x1b[0m\nbye"})
	supervision(otp.ChildExited{Row: row, Reason: &otp.CrashReport{
		Path: files.Path, Incarnation: 3, Reason: &otp.PanicError{Value: "nil map"}, Mailbox: 4,
	},
		Report: &otp.CrashReport{
			Path: files.Path, Incarnation: 3, Reason: &otp.PanicError{Value: "nil map"}, Mailbox: 4,
		}})
	row.Incarnation = 4
	time.Sleep(60 * time.Microsecond)
	supervision(otp.ChildRestarted{Row: row, Restarts: 1, InPlace: true, Took: 60 * time.Microsecond})
	tell(500*time.Millisecond, UpstreamStarting{
		Where: files, Transport: "stdio", Target: "npx @modelcontextprotocol/server-filesystem",
		Incarnation: 4,
	})
	tell(700*time.Millisecond,
		UpstreamReady{Where: files, PID: 4712, Revision: "2025-06-18",
			ServerInfo: "secure-filesystem 0.2.0", Incarnation: 4,
			Start: 700 * time.Millisecond, Down: 1200*time.Millisecond + 60*time.Microsecond})
	tell(time.Minute, Draining{Reason: "SIGTERM", Budget: 25 * time.Second})
}

// Emitting never waits, neither for a loop that does not run nor for a stuck writer. Lost events
// are counted, and reported when there is room again.
func TestEmitNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writer := &stuck{release: make(chan struct{})}
		metrics := NewMetrics(MetricsOptions{})
		r := NewRecorder(Options{Logger: slog.New(slog.NewTextHandler(writer, nil)), Metrics: metrics})
		const lost = 100
		for range QueueLen + lost {
			r.Emit(Rejected{Reason: "overloaded"})
		}
		if got := r.Dropped(); got != lost {
			t.Errorf("dropped = %d, want %d", got, lost)
		}
		if got := value(t, metrics, "mcpd_rejections_total", "overloaded"); got != QueueLen+lost {
			t.Errorf("counted %v rejections, want all %d", got, QueueLen+lost)
		}

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Serve(ctx) }()
		synctest.Wait() // the loop is stuck in its first line
		for range QueueLen {
			r.Emit(Rejected{Reason: "overloaded"})
		}
		r.Emit(Rejected{Reason: "last"})
		if got, want := value(t, metrics,
			"mcpd_events_dropped_total"), float64(r.Dropped()); got != want {
			t.Errorf("while the log is stuck: mcpd_events_dropped_total = %v, want %v", got, want)
		}
		recent, _, _ := r.Recent().Since(0)
		if e, _ := recent[len(recent)-1].Event.(Rejected); e.Reason != "last" {
			t.Errorf("while the log is stuck: the last that is remembered is %v", e)
		}
		time.Sleep(StuckAfter)
		if !r.Stuck() {
			t.Error("a log that takes no line is not called stuck")
		}
		close(writer.release)
		synctest.Wait()
		if r.Stuck() {
			t.Error("a log that takes lines again is called stuck")
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve = %v, want the context's error", err)
		}
		if got := value(t, metrics, "mcpd_events_dropped_total"); got < lost {
			t.Errorf("mcpd_events_dropped_total = %v, want at least %d", got, lost)
		}
		if !strings.Contains(writer.String(), "events dropped: the queue was full") {
			t.Error("the log does not say that events were dropped")
		}
	})
}

// A blocked log can be armed as a fault, and ends with the fault.
func TestBlockedLogIsAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults, out := fault.New(nil), new(strings.Builder)
		r := NewRecorder(Options{Logger: slog.New(slog.NewTextHandler(out, nil)), Faults: faults})
		id, err := faults.Arm(fault.Fault{
			Action: fault.Hang, Point: fault.Point{Place: fault.LogWrite}, Lease: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Serve(ctx) }()
		r.Emit(Rejected{Reason: "overloaded"})
		time.Sleep(StuckAfter)
		if !r.Stuck() || out.Len() > 0 {
			t.Errorf("stuck: %v, written: %q", r.Stuck(), out)
		}
		faults.Disarm(id)
		synctest.Wait()
		if r.Stuck() || !strings.Contains(out.String(), "overloaded") {
			t.Errorf("afterwards stuck: %v, written: %q", r.Stuck(), out)
		}
		cancel()
		<-ended
	})
}

// A log that is not read does not keep a process from ending. A log that is read receives the
// waiting events.
func TestCloseWaitsForTheLogAsLongAsItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writer := &stuck{release: make(chan struct{})}
		r := NewRecorder(Options{Logger: slog.New(slog.NewTextHandler(writer, nil))})
		r.Emit(Rejected{Reason: "overloaded"})
		r.Emit(Rejected{Reason: "overloaded"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		r.Close(ctx)
		if took := time.Since(start); took != time.Second {
			t.Errorf("Close took %v with a log that nobody reads, want the second that it had", took)
		}
		close(writer.release)
		r.Close(t.Context())
		synctest.Wait() // for the rest of the first Close
		if got := strings.Count(writer.String(), "request rejected"); got != 2 {
			t.Errorf("%d lines after the log was read again, want both", got)
		}
	})
}

// stuck blocks its first write until it is released.
type stuck struct {
	strings.Builder
	release chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	return s.Builder.Write(p)
}

// Events that a peer can cause at will cannot flood the log. A second has a bounded number of
// lines of one kind, and the next line says how many are missing.
func TestLinesASecondAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r := NewRecorder(Options{Logger: NewLogger(&out, FormatJSON, slog.LevelInfo)})
		for range 10 * peer {
			r.Emit(Rejected{Reason: "rate_limited"})
		}
		r.Flush()
		time.Sleep(time.Second)
		r.Emit(Rejected{Reason: "rate_limited"})
		r.Flush()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != peer+1 {
			t.Errorf("%d lines, want %d", len(lines), peer+1)
		}
		if want := fmt.Sprintf(`"suppressed":%d`, 9*peer); !strings.Contains(lines[len(lines)-1], want) {
			t.Errorf("last line %s, want %s", lines[len(lines)-1], want)
		}
	})
}

// A loop that ends, for example because its supervisor restarts it, writes the events that have
// arrived. The next loop continues where it stopped.
func TestServeGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecorder(Options{})
		for i := range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Serve(ctx) }()
			r.Emit(ConfigLoaded{Generation: uint32(i)})
			cancel()
			<-ended
			r.Flush()
			if records, _, _ := r.Recent().Since(0); len(records) != i+1 {
				t.Errorf("after loop %d: %d events remembered, want %d", i, len(records), i+1)
			}
		}
	})
}

func TestRecentForgetsTheOldest(t *testing.T) {
	r := NewRecorder(Options{})
	for i := range RecentLen + 10 {
		r.Emit(ConfigLoaded{Generation: uint32(i)})
	}
	r.Flush()
	tests := []struct {
		after, first uint64
		count        int
	}{
		{0, 11, RecentLen},
		{5, 11, RecentLen},
		{11, 12, RecentLen - 1},
		{RecentLen + 9, RecentLen + 10, 1},
		{RecentLen + 10, RecentLen + 11, 0},
		{1 << 40, 11, RecentLen}, // a position of another process
	}
	for _, test := range tests {
		records, first, more := r.Recent().Since(test.after)
		if len(records) != test.count || first != test.first {
			t.Errorf("Since(%d): %d events from %d, want %d from %d", test.after, len(records), first,
				test.count, test.first)
		}
		if len(records) > 0 && records[0].Event.(ConfigLoaded).Generation != uint32(first-1) {
			t.Errorf("Since(%d) starts with %v", test.after, records[0].Event)
		}
		select {
		case <-more:
			t.Errorf("Since(%d): more before there was", test.after)
		default:
		}
	}
	_, _, more := r.Recent().Since(0)
	changed := r.Recent().Changed()
	r.Emit(ConfigLoaded{})
	r.Flush()
	<-more
	<-changed
}

// toldAlready is the reason of an end that the row itself has reported.
type toldAlready struct{}

func (toldAlready) Error() string { return "gone" }
func (toldAlready) Told() bool    { return true }

// Every event of package otp has its counterpart.
func TestSupervisionEvents(t *testing.T) {
	report := &otp.CrashReport{Path: "p", Reason: errors.New("boom"), PCs: []uintptr{1}}
	hung := &otp.CrashReport{Path: "p", Reason: otp.ErrStuck}
	row := otp.Row{Path: "mcpd/core/capabilities", Label: "capabilities", Incarnation: 7}
	where, inIncident := Where{Tenant: "acme", Path: row.Path}, Where{
		Tenant: "acme", Path: row.Path, Incident: report.Incident(),
	}
	routine := where
	routine.Routine = true
	tests := []struct {
		in   otp.Event
		want []Event
	}{
		{otp.ChildStarted{Row: row}, []Event{ChildStarted{where, "capabilities", 7}}},
		{otp.ChildExited{Row: row, Reason: otp.ErrShutdown}, []Event{
			ChildExited{where, "capabilities", 7, "shutdown"},
		}},
		{otp.ChildExited{Row: row, Reason: report, Report: report}, []Event{
			ChildCrashed{inIncident, "capabilities", 7, "boom", "", report},
		}},
		{otp.ChildExited{Row: row, Reason: otp.ErrKilled}, []Event{
			ChildCrashed{where, "capabilities", 7, "killed", "", nil},
		}},
		{otp.ChildExited{Row: row,
			Reason: fault.Injected{ID: "fault-1", Action: fault.Panic, Where: row.Path}}, []Event{
			FaultHit{where, "fault-1", "panic"},
			ChildCrashed{
				where, "capabilities", 7, "injected panic fault-1 at mcpd/core/capabilities", "fault-1", nil,
			},
		}},
		{otp.ChildRestarted{Row: row, Restarts: 2, InPlace: true, Took: time.Second}, []Event{
			ChildRestarted{where, "capabilities", 7, 2, true, time.Second},
		}},
		// The row has reported this end itself.
		{otp.ChildExited{Row: row, Reason: toldAlready{}}, []Event{
			ChildCrashed{routine, "capabilities", 7, "gone", "", nil},
		}},
		{otp.ChildRestarted{Row: row, Restarts: 2, InPlace: true, Took: time.Second,
			Reason: toldAlready{}}, []Event{
			ChildRestarted{routine, "capabilities", 7, 2, true, time.Second},
		}},
		{otp.StartFailed{Row: row, Reason: otp.ErrStartTimeout}, []Event{
			StartFailed{where, "capabilities", "start timeout", nil},
		}},
		{otp.IntensityExceeded{
			Row: row,
			Err: &otp.IntensityError{
				Child: "x", Intensity: otp.Intensity{Restarts: 5, Within: time.Minute}, Reason: report,
			},
		},
			[]Event{IntensityExceeded{where, "x", 5, time.Minute, "boom"}}},
		{otp.ChildPaused{Row: row, Reason: report, For: time.Second}, []Event{
			ChildPaused{where, "capabilities", "boom", time.Second},
		}},
		{otp.CrashCharged{Row: row, Origin: "globex", Reason: report, Times: 2},
			[]Event{CrashCharged{Where{Tenant: "globex", Path: row.Path}, "capabilities", 2, "boom"}}},
		{otp.SupervisorStopped{Row: row, Reason: otp.Normal}, []Event{
			SupervisorStopped{routine, "normal"},
		}},
		{otp.SupervisorStopped{Row: row, Reason: otp.ErrShutdown}, []Event{
			SupervisorStopped{routine, "shutdown"},
		}},
		{otp.SupervisorStopped{Row: row, Reason: errors.New("broken")}, []Event{
			SupervisorStopped{where, "broken"},
		}},
		{otp.SupervisorStopped{Row: otp.Row{Path: row.Path, Label: TransientLabel}, Reason: otp.Normal},
			nil},
		{otp.Abandoned{Row: row, Goroutine: "reader", Budget: time.Second}, []Event{
			Abandoned{where, "capabilities", "reader", time.Second},
		}},
		{otp.ChildExited{Row: row, Reason: hung, Report: hung}, []Event{
			ChildCrashed{
				Where{Tenant: "acme", Path: row.Path, Incident: hung.Incident()}, "capabilities", 7, "stuck",
				"", hung,
			},
		}},
		{otp.Stuck{Row: row, For: time.Second, Report: report}, []Event{
			ActorStuck{where, "capabilities", time.Second, report},
		}},
		{otp.Overloaded{Row: row, Mailbox: 1024}, []Event{Overloaded{where, "capabilities", 1024}}},
		{otp.StateDropped{Row: row, Reason: "stuck"}, []Event{
			StateDropped{where, "capabilities", 7, "all", "stuck", 1},
		}},
		{otp.TerminatePanicked{Row: row, Report: report}, []Event{
			TerminatePanicked{where, "capabilities", report},
		}},
	}
	tested := make(map[string]bool)
	for _, test := range tests {
		tested[reflect.TypeOf(test.in).Name()] = true
		var got []Event
		Supervision(func(e Event) {
			got = append(got, e)
		}, func(string) Where { return Where{Tenant: "acme"} })(test.in)
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%T: got %+v, want %+v", test.in, got, test.want)
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../supervisor/otp/event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name != "Event" && spec.Name.Name != "Row" &&
			!tested[spec.Name.Name] {
			t.Errorf("otp.%s has no counterpart here", spec.Name.Name)
		}
		return true
	})
}

// A crash is remembered with its frames. Of the message only the type is kept.
func TestCrashReportLeavesTheProcess(t *testing.T) {
	r := NewRecorder(Options{})
	report := &otp.CrashReport{
		Path: "p", Incarnation: 1 << 40, Reason: errors.New("bad \x1b[0m\xff"), PCs: here(), Mailbox: 3,
	}
	r.Emit(ChildCrashed{Where: Where{Path: "p"}, Reason: "bad", Report: report})
	r.Flush()
	records, first, _ := r.Recent().Since(0)
	got := records[0].Proto(first)
	if c := got.GetCrash(); c.GetReason() != `bad \x1b[0m\xff` || c.GetIncarnation() != 1<<32-1 ||
		c.GetMailbox() != 3 ||
		!strings.Contains(c.GetStack(), "telemetry.here") {
		t.Errorf("crash = %v", c)
	}
	if !strings.Contains(got.GetFields()["stack"], "telemetry/recorder_test.go:") ||
		got.GetId() != "1" || got.GetIncident() == "" {
		t.Errorf("event = %v", got)
	}
}

func BenchmarkEmit(b *testing.B) {
	r := NewRecorder(Options{
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: NewMetrics(MetricsOptions{}),
	})
	b.ReportAllocs()
	for b.Loop() {
		r.Emit(ReplyDropped{Reason: "late"})
	}
}
