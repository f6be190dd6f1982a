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

// maxFrames is how many frames of a panicking stack a report keeps. Deeper stacks are recursions,
// whose innermost frames tell enough. Each frame takes 8 bytes.
const maxFrames = 64

// CrashReport says how an incarnation ended abnormally. After a panic it is also the reason of the
// end. Making a report takes about a microsecond: it collects addresses, and looks up or formats
// nothing until somebody asks.
type CrashReport struct {
	Path        string
	Incarnation uint64
	// Reason is why the incarnation ended: the error that Receive returned. After a panic it is the
	// panic value if that was an error, otherwise a PanicError.
	Reason error
	// PCs are the program counters of the panic, innermost first. Empty when nothing panicked.
	PCs []uintptr
	// Message is the type of the message that was being handled, nil when there was none.
	Message reflect.Type
	// Origin is the origin of that message, "" for none; see Attributed.
	Origin string
	// Mailbox is how many messages were waiting behind that message.
	Mailbox int
	At      time.Time

	own bool // it was handling no message, or one that the incarnation had sent itself
}

// Incident returns the incident id of the crash. The log and the errors of failed messages name the
// crash by this id.
func (r *CrashReport) Incident() string { return IncidentID(r.Path, r.At) }

// IncidentID returns an id for an incident at a path and a time: eight characters, base32 in lower
// case, that are easy to read aloud and to search for.
func IncidentID(path string, at time.Time) string {
	h := fnv.New64a()
	h.Write([]byte(path))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano())))
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:5]))
}

// PanicError is a panic whose value was not an error.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Error returns the path, the type of the message if there was one, and the reason.
func (r *CrashReport) Error() string {
	if k := r.MessageKind(); k != "" {
		return fmt.Sprintf("%s: %s: %v", r.Path, k, r.Reason)
	}
	return fmt.Sprintf("%s: %v", r.Path, r.Reason)
}

// Unwrap returns the reason.
func (r *CrashReport) Unwrap() error { return r.Reason }

// MessageKind returns the type of the message as %T prints it, "" when there was no message.
func (r *CrashReport) MessageKind() string {
	if r.Message == nil {
		return ""
	}
	return r.Message.String()
}

// Stack looks up the frames and formats them, one "function file:line" per line, innermost first.
// Frames of the runtime are left out.
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

// newReport makes the report of an end. pcs are nil when nothing panicked. It is safe for
// concurrent use.
func (g *guard) newReport(value any, msg any, pcs []uintptr) *CrashReport {
	rep := &CrashReport{
		Path:        g.row.path,
		Incarnation: g.inc(),
		PCs:         pcs,
		Mailbox:     g.mailbox.UserMessageCount(),
		At:          g.sys.clock.Now(),
		own:         true,
	}
	if err, ok := value.(error); ok {
		rep.Reason = err
	} else {
		rep.Reason = &PanicError{value}
	}
	pc, own := msg.(*envelope)
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

// callers returns the stack from the panic outwards. A deferred function calls it on the panicking
// stack. skip is the number of frames between callers and the frames of the runtime: 1 when the
// deferred function calls it directly.
func callers(skip int) []uintptr {
	var pcs [maxFrames]uintptr
	n := runtime.Callers(skip+2, pcs[:])
	return append([]uintptr(nil), pcs[:n]...)
}
