package otp

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// maxFrames is how many frames of a panicking stack a report keeps. Deeper stacks are recursions, of which the top
// tells enough; the array costs 8 bytes a frame.
const maxFrames = 64

// CrashReport says how an incarnation ended abnormally. It is also the reason itself after a panic. Making one costs
// about a microsecond: addresses are collected, nothing is looked up or formatted until somebody asks.
type CrashReport struct {
	Path        string
	Incarnation uint64
	// Reason is why: the error that Receive returned; after a panic the value if it was an error, else a PanicError.
	Reason error
	// PCs are the frames of the panic, innermost first; empty when nothing panicked.
	PCs []uintptr
	// Message is the type of the message that was being handled, nil when there was none.
	Message reflect.Type
	// Origin is who had caused that message, "" for nobody in particular; see Attributed.
	Origin string
	// Mailbox is how many messages were waiting behind it.
	Mailbox int
	At      time.Time

	own bool // it was handling nothing, or what the incarnation had sent itself
}

// Incident is what the crash is called in the log and to those whose messages it failed.
func (r *CrashReport) Incident() string { return IncidentID(r.Path, r.At) }

// IncidentID names what happened at a path at a time: eight characters that are easy to read aloud and to search for.
func IncidentID(path string, at time.Time) string {
	h := fnv.New64a()
	h.Write([]byte(path))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano())))
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:5]))
}

// PanicError is a panic whose value was not an error.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Error is the path and the reason.
func (r *CrashReport) Error() string {
	if k := r.MessageKind(); k != "" {
		return fmt.Sprintf("%s: %s: %v", r.Path, k, r.Reason)
	}
	return fmt.Sprintf("%s: %v", r.Path, r.Reason)
}

// Unwrap is the reason.
func (r *CrashReport) Unwrap() error { return r.Reason }

// MessageKind is the message's type as %T prints it, "" when there was no message.
func (r *CrashReport) MessageKind() string {
	if r.Message == nil {
		return ""
	}
	return r.Message.String()
}

// Stack looks the frames up and formats them, one "function file:line" a line, innermost first. The frames of the
// runtime's panic machinery are left out.
func (r *CrashReport) Stack() string {
	if len(r.PCs) == 0 {
		return ""
	}
	var b strings.Builder
	frames := runtime.CallersFrames(r.PCs)
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Fprintf(&b, "%s %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// newReport makes the report of an end; pcs are nil when nothing panicked. Safe for concurrent use.
func (g *guard) newReport(value any, msg any, pcs []uintptr) *CrashReport {
	rep := &CrashReport{
		Path:        g.row.path,
		Incarnation: g.inc(),
		PCs:         pcs,
		Mailbox:     g.box.UserMessageCount(),
		At:          g.sys.clock.Now(),
		own:         true,
	}
	if err, ok := value.(error); ok {
		rep.Reason = err
	} else {
		rep.Reason = &PanicError{value}
	}
	pc, own := msg.(*parcel)
	if own {
		msg = pc.msg
	}
	switch msg.(type) {
	case nil, actor.SystemMessage, proceed, endOrder:
	default:
		rep.Message, rep.own, rep.Origin = reflect.TypeOf(msg), own, g.sys.originOf(msg)
	}
	if of := g.behalf.Load(); of != nil {
		rep.Origin = *of
	}
	return rep
}

// callers is the stack from the panic outwards. It is called on that stack, by a deferred function; skip is how many
// frames there are between here and the runtime's.
func callers(skip int) []uintptr {
	var pcs [maxFrames]uintptr
	n := runtime.Callers(skip+2, pcs[:])
	return append([]uintptr(nil), pcs[:n]...)
}
