package streamable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"time"

	"mcpd/transport"
)

// Event is one server-sent event, to be written or as read.
type Event struct {
	// ID is the event's id. A Reader repeats the last id on events without one, as the WHATWG standard
	// requires.
	ID string
	// Type is the event's type; empty means "message".
	Type string
	// Data is the payload, with lines joined by LF. When written, nil omits the data field, and an
	// empty slice writes an empty field (priming).
	Data []byte
	// Retry is the delay before a reconnect; 0 means none is stated.
	Retry time.Duration
}

// appendEvent appends e in wire form, including the blank line. ID and Type must contain no line
// break.
func appendEvent(dst []byte, e Event) []byte {
	if e.ID != "" {
		dst = append(append(append(dst, "id: "...), e.ID...), '\n')
	}
	if e.Type != "" {
		dst = append(append(append(dst, "event: "...), e.Type...), '\n')
	}
	if e.Retry > 0 {
		dst = strconv.AppendInt(append(dst, "retry: "...), e.Retry.Milliseconds(), 10)
		dst = append(dst, '\n')
	}
	if e.Data != nil {
		dst = appendData(dst, e.Data)
	}
	return append(dst, '\n')
}

// appendData writes one data field per line. A JSON-RPC message is one line, so the loop runs once
// for it.
func appendData(dst, data []byte) []byte {
	for {
		cut := bytes.IndexAny(data, "\r\n")
		if cut < 0 {
			return append(append(append(dst, "data: "...), data...), '\n')
		}
		dst = append(append(append(dst, "data: "...), data[:cut]...), '\n')
		if data[cut] == '\r' && cut+1 < len(data) && data[cut+1] == '\n' {
			cut++
		}
		data = data[cut+1:]
	}
}

// keepAlive is a comment without content. It shows both ends, and every proxy in between, that the
// stream is alive.
var keepAlive = []byte(": keep-alive\n\n")

// ReaderLimits limits the memory of a Reader. Zero fields mean the default.
type ReaderLimits struct {
	// Event is the maximum size of one event, and of one line, in bytes. The default is
	// DefaultEventBytes.
	EventBytes int
	// Large is called before more than transport.Large bytes of an event are read, with the maximum
	// number of bytes that the event will take, and again before it takes more. Its error ends the
	// stream. Nil sets no limit beyond Event.
	Large func(size int) error
	// Free is called if the bytes read after Large turn out to belong to no event. It may be nil.
	Free func()
	// Sleep waits for a duration to rate-limit stray input. Nil means time.Sleep.
	Sleep func(time.Duration)
}

const (
	// DefaultEventBytes is 16 MiB, the limit of one message of a server, plus room for the field names
	// around it.
	DefaultEventBytes = 16<<20 + 4096
	// readerBuffer is the initial size of a Reader's buffer, to which it shrinks after a long line.
	// Most events fit.
	readerBuffer = 4 << 10
	// maxRetry limits the delay that a peer may request. A longer one is a mistake or an attack.
	maxRetry = time.Hour
)

// ErrEventTooLarge says that an event or a line exceeds ReaderLimits.Event. The stream cannot be
// read further.
var ErrEventTooLarge = errors.New("sse event too large")

// Reader reads server-sent events as defined by the WHATWG HTML standard §9.2. It is not safe for
// concurrent use.
type Reader struct {
	src      io.Reader
	max      int
	large    func(size int) error
	free     func()
	rest     func(time.Duration)
	buf      []byte
	at, end  int    // buf[at:end] was read from src and not consumed
	bom      bool   // the first line was read; only it may begin with a BOM
	skipLF   bool   // the last line ended in CR: an LF right after it belongs to that line end
	id       string // the last event id, which stays in force
	strays   transport.RateLimiter
	overhead int  // field overhead of data lines, in bytes, not yet rate-limited
	reserved bool // large was called
	cut      Event
	err      error
}

// NewReader returns a Reader of the events in src.
func NewReader(src io.Reader, limits ReaderLimits) *Reader {
	if limits.EventBytes <= 0 {
		limits.EventBytes = DefaultEventBytes
	}
	if limits.Large == nil {
		limits.Large = func(int) error { return nil }
	}
	if limits.Free == nil {
		limits.Free = func() {}
	}
	if limits.Sleep == nil {
		limits.Sleep = time.Sleep
	}
	return &Reader{
		src: src, max: limits.EventBytes, large: limits.Large, free: limits.Free, rest: limits.Sleep,
		buf: make([]byte, min(readerBuffer, limits.EventBytes)),
	}
}

// Next returns the next event that has any field. Unlike a browser it also returns events without
// data, because a priming event or a retry alone is of interest to an MCP client. Data belongs to
// the caller. If the end of the stream cuts off an event, Next returns io.EOF, and Unended returns
// that event. Errors are final. Lines that are not data are rate-limited beyond the allowance that
// Passed grants.
func (r *Reader) Next() (Event, error) {
	var event Event
	var some bool
	for {
		line, err := r.line()
		if err != nil {
			r.cut = event
			return Event{}, err
		}
		if len(line) == 0 {
			if some {
				event.ID = r.id
				return event, nil
			}
			r.stray(1)
			continue
		}
		strays := r.extra(line)
		known, err := r.field(&event, line)
		if err != nil {
			r.err = err
			return Event{}, err
		}
		some = some || known
		if strays > 0 {
			r.release(event)
			r.stray(strays)
		}
	}
}

// Unended returns the event that the end of the stream has cut off, including its last line, which
// may be cut off too. It can be called once, after Next has returned io.EOF.
func (r *Reader) Unended() Event {
	event := r.cut
	r.cut = Event{}
	if _, err := r.field(&event, r.buf[r.at:r.end]); err != nil {
		return Event{}
	}
	event.ID = r.id
	return event
}

// Passed records that the last event was a message. It exempts some lines around that event from
// the rate limit.
func (r *Reader) Passed() { r.strays.Spare(transport.PaceMessage) }

// Stray records that e was no message, and rate-limits its data too.
func (r *Reader) Stray(e Event) { r.stray(transport.Parts(len(e.Data))) }

func (r *Reader) stray(parts int) {
	if long := r.strays.Take(parts, time.Now()); long > 0 {
		r.rest(long)
	}
}

// extra returns how many parts of a line count as stray input.
func (r *Reader) extra(line []byte) (parts int) {
	name, value := split(line)
	if string(name) != "data" {
		return transport.Parts(len(line))
	}
	// Many short data lines add up to as much stray input as one long comment.
	if r.overhead += len(line) + 1 - len(value); r.overhead >= transport.PacePart {
		parts = r.overhead / transport.PacePart
		r.overhead %= transport.PacePart
	}
	return parts
}

// release frees the buffer and the reservation of a long line that belonged to no event, because
// the next event may arrive much later. It keeps both if the event so far is long too.
func (r *Reader) release(e Event) {
	left := r.buf[r.at:r.end]
	if !r.reserved || max(len(e.Data), len(e.Type), len(r.id), len(left)) >= transport.Large {
		return
	}
	small := make([]byte, max(readerBuffer, len(left)))
	r.at, r.end = 0, copy(small, left)
	transport.Recycle(r.buf)
	r.buf, r.reserved = small, false
	r.free()
}

// close drops input that was read and not returned. There are no more events.
func (r *Reader) close() {
	transport.Recycle(r.buf)
	r.buf, r.at, r.end = nil, 0, 0
	if r.err == nil {
		r.err = io.EOF
	}
}

// split returns the field name and the value of a line.
func split(line []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(line, []byte(":"))
	return name, bytes.TrimPrefix(value, []byte(" "))
}

// field applies one line to the event and reports whether the field is known.
func (r *Reader) field(event *Event, line []byte) (bool, error) {
	name, value := split(line)
	switch string(name) {
	case "data":
		if len(event.Data)+1+len(value) > r.max {
			return false, fmt.Errorf("%w: more than %d bytes", ErrEventTooLarge, r.max)
		}
		if len(event.Data) >= transport.Large {
			r.reserved = true
			if err := r.large(step(len(event.Data)+1+len(value), r.max)); err != nil {
				return false, err
			}
		}
		if event.Data == nil {
			event.Data = append([]byte{}, value...)
			return true, nil
		}
		event.Data = append(append(event.Data, '\n'), value...)
	case "event":
		event.Type = string(value)
	case "id":
		if bytes.IndexByte(value, 0) >= 0 {
			return false, nil
		}
		if string(value) != r.id {
			r.id = string(value)
		}
	case "retry":
		ms, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return false, nil
		}
		event.Retry = time.Duration(min(ms, uint64(maxRetry.Milliseconds()))) * time.Millisecond
	default: // a comment (empty name), or a field that the standard requires to ignore
		return false, nil
	}
	return true, nil
}

// step returns the size for which room is reserved when a buffer holds size bytes, of at most max.
// It doubles, as the buffer of a line does.
func step(size, max int) int { return min(1<<bits.Len(uint(size-1)), max) }

// line returns the next line without its line end. The result is valid until the next call. A line
// may end in LF, CR LF or CR alone. After a CR, line does not wait for the next byte.
func (r *Reader) line() ([]byte, error) {
	scanned := 0
	for {
		if r.skipLF && r.at < r.end {
			if r.buf[r.at] == '\n' {
				r.at++
			}
			r.skipLF = false
		}
		if n := lineEnd(r.buf[r.at+scanned : r.end]); n >= 0 {
			line := r.buf[r.at : r.at+scanned+n]
			r.skipLF = r.buf[r.at+scanned+n] == '\r'
			r.at += scanned + n + 1
			if !r.bom {
				r.bom = true
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			return line, nil
		}
		scanned = r.end - r.at
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// lineEnd returns the index of the first CR or LF, or -1.
func lineEnd(p []byte) int {
	lf := bytes.IndexByte(p, '\n')
	if lf >= 0 {
		p = p[:lf]
	}
	if cr := bytes.IndexByte(p, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads more bytes into the buffer. The buffer grows up to the limit while a line does not
// fit, and shrinks again when it is empty.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	switch {
	case r.at == r.end:
		r.at, r.end = 0, 0
		if len(r.buf) > 16*readerBuffer {
			transport.Recycle(r.buf)
			r.buf = make([]byte, readerBuffer)
		}
	case r.at > 0:
		r.end = copy(r.buf, r.buf[r.at:r.end])
		r.at = 0
	}
	if r.end == len(r.buf) {
		if r.end >= r.max {
			r.err = fmt.Errorf("%w: a line of more than %d bytes", ErrEventTooLarge, r.max)
			return r.err
		}
		if r.end >= transport.Large {
			r.reserved = true
			if r.err = r.large(min(2*r.end, r.max)); r.err != nil {
				return r.err
			}
		}
		r.buf = transport.Grow(r.buf, r.max)
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// maxEmptyReads is the number of consecutive empty reads after which a source counts as broken, as
// in bufio.
const maxEmptyReads = 100
