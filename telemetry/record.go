package telemetry

import (
	"log/slog"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/supervisor/otp"
)

// Record is an event with the data that the recorder adds.
type Record struct {
	At    time.Time
	Event Event
	// Incident is shared by the events of one run of trouble; "" outside one.
	Incident string
	kind     int // index in events
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

	// keySuppressed counts the lines of this kind that were left out before this one.
	keySuppressed = "suppressed"
)

// level returns the level in the event's row, or debug for a routine event.
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

// Proto returns the record in the form of the admin API, with position id.
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

// crash returns the crash report of an event, or nil.
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

// Count limits a count to the range of uint32.
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
