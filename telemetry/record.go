package telemetry

import (
	"log/slog"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/supervisor/otp"
)

// Record is an event with what the recorder knows about it.
type Record struct {
	At       time.Time
	Event    Event
	Incident string // shared by the events of one run of trouble; "" outside one
	kind     int    // index in events
}

// The keys that every line may have, in their order after ts, level and msg.
const (
	keyTenant   = "tenant"
	keyServer   = "server"
	keySession  = "session"
	keyExchange = "exchange"
	keyIncident = "incident"
	keyPath     = "path"
	keyEvent    = "event"

	keySuppressed = "suppressed" // lines of this kind not written before this one
)

// level is how much the event matters: as its row says, unless it is routine.
func (r Record) level() slog.Level {
	if r.Event.where().Routine {
		return debug
	}
	return events[r.kind].level
}

func (r Record) line(suppressed int) []slog.Attr {
	w := r.Event.where()
	out := make([]slog.Attr, 0, 16)
	out = append(out, slog.String(keyEvent, events[r.kind].name))
	out = appendAttr(out, keyTenant, w.Tenant)
	out = appendAttr(out, keyServer, w.Server)
	out = appendAttr(out, keySession, w.Session)
	out = appendAttr(out, keyExchange, w.Exchange)
	out = appendAttr(out, keyIncident, r.Incident)
	out = appendAttr(out, keyPath, w.Path)
	out = append(out, attrs(r.Event)...)
	return appendAttr(out, keySuppressed, suppressed)
}

// Proto is the record as the admin API shows it, with position id.
func (r Record) Proto(id uint64) *mcpdv1.Event {
	w, kind := r.Event.where(), events[r.kind]
	out := &mcpdv1.Event{
		Id:       strconv.FormatUint(id, 10),
		At:       timestamppb.New(r.At),
		Level:    levelName(r.level()),
		Name:     kind.name,
		Message:  kind.message,
		Tenant:   clean(w.Tenant),
		Server:   clean(w.Server),
		Session:  clean(w.Session),
		Exchange: clean(w.Exchange),
		Incident: r.Incident,
		Path:     clean(w.Path),
		Fields:   make(map[string]string),
	}
	for _, a := range attrs(r.Event) {
		out.Fields[a.Key] = clean(a.Value.String())
	}
	if report := crash(r.Event); report != nil {
		out.Crash = &mcpdv1.CrashReport{
			Path:        report.Path,
			Incarnation: Count(report.Incarnation),
			Reason:      clean(text(report.Reason)),
			MessageKind: report.MessageKind(),
			Mailbox:     Count(report.Mailbox),
			At:          timestamppb.New(report.At),
			Stack:       report.Stack(),
		}
	}
	return out
}

func clean(s string) string { return Clean(s, MaxValue) }

// crash returns the report that an event carries, if it does.
func crash(e Event) *otp.CrashReport {
	switch e := e.(type) {
	case ChildCrashed:
		return e.Report
	case StartFailed:
		return e.Report
	case TerminatePanicked:
		return e.Report
	case RecordSetAside:
		return e.Report
	case RequestPanicked:
		return e.Report
	}
	return nil
}

// Count makes a count fit the uint32 that leaves the process.
func Count[N int | int64 | uint64](n N) uint32 {
	const most = 1<<32 - 1
	switch {
	case n < 0:
		return 0
	case uint64(n) > most:
		return most
	}
	return uint32(n)
}
