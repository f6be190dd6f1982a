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

// Event is one server-sent event, as it is written or as it was read.
type Event struct {
	// ID is the event's id. A Reader keeps the last one it saw, as the WHATWG stream does, so it holds on every later event too.
	ID string
	// Name is the event's type; empty means "message".
	Name string
	// Data is the payload, lines joined by LF. On writing, nil leaves the data field out and empty writes an empty one (priming).
	Data []byte
	// Retry is how long to wait before a reconnect; 0 says nothing.
	Retry time.Duration
}

// appendEvent appends e in wire form, blank line included. ID and Name must hold no line break.
func appendEvent(dst []byte, e Event) []byte {
	if e.ID != "" {
		dst = append(append(append(dst, "id: "...), e.ID...), '\n')
	}
	if e.Name != "" {
		dst = append(append(append(dst, "event: "...), e.Name...), '\n')
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

// appendData writes one data field a line. JSON-RPC messages are one line, so the loop runs once for them.
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

// keepAlive is a comment: it carries nothing, and shows both ends and every proxy between them that the stream lives.
var keepAlive = []byte(": keep-alive\n\n")

// ReaderLimits bounds what a Reader holds in memory. Zero fields mean the default.
type ReaderLimits struct {
	// Event is the most bytes of one event, and of one line. The default is DefaultEventBytes.
	Event int
	// Large is called before more than transport.Large bytes of an event are read, with how many bytes
	// it is going to take at most, and again before it takes more. Its error ends the stream. Nil lets
	// all of it be read.
	Large func(size int) error
	// Free is called when what was read after Large turned out to be of no event. Nil has nothing to let go.
	Free func()
	// Rest waits for so long, where what is no message comes too fast. Nil sleeps.
	Rest func(time.Duration)
}

const (
	// DefaultEventBytes is 16 MiB, the bound of one upstream message, with room for the field names around it.
	DefaultEventBytes = 16<<20 + 4096
	// readerBuffer is what a Reader reads at once and what it falls back to after a long line. Most events fit.
	readerBuffer = 4 << 10
	// maxRetry caps what a peer may ask us to wait: a longer pause is a mistake or an attack.
	maxRetry = time.Hour
)

// ErrEventTooLarge says that an event or a line is over ReaderLimits.Event. The stream cannot be read further.
var ErrEventTooLarge = errors.New("sse event too large")

// Reader reads server-sent events as the WHATWG HTML standard §9.2 defines them. It is not safe for concurrent use.
type Reader struct {
	src     io.Reader
	max     int
	large   func(size int) error
	free    func()
	rest    func(time.Duration)
	buf     []byte
	at, end int    // buf[at:end] was read from src and not consumed
	bom     bool   // the first line is behind us, where alone a BOM is skipped
	skipLF  bool   // the last line ended in CR: an LF right after it belongs to it
	id      string // the last event id, which stays in force
	strays  transport.Pace
	around  int  // bytes of lines of data that are none, and not counted yet
	roomy   bool // large has been asked
	cut     Event
	err     error
}

// NewReader reads events from src.
func NewReader(src io.Reader, limits ReaderLimits) *Reader {
	if limits.Event <= 0 {
		limits.Event = DefaultEventBytes
	}
	if limits.Large == nil {
		limits.Large = func(int) error { return nil }
	}
	if limits.Free == nil {
		limits.Free = func() {}
	}
	if limits.Rest == nil {
		limits.Rest = time.Sleep
	}
	return &Reader{src: src, max: limits.Event, large: limits.Large, free: limits.Free, rest: limits.Rest, buf: make([]byte, min(readerBuffer, limits.Event))}
}

// Next returns the next event that has any field: unlike a browser it also yields events with no data, since a priming event or a
// bare retry tells an MCP client something. Data belongs to the caller. An event cut off by the end of the stream is not returned, but
// io.EOF: Unended has it. Errors are final. What is no data is read at a pace, beyond what Passed makes up for.
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

// Unended is the event that the end of the stream has cut off, with its last line, which may be cut
// off too. It is good once, after Next has returned io.EOF.
func (r *Reader) Unended() Event {
	event := r.cut
	r.cut = Event{}
	if _, err := r.field(&event, r.buf[r.at:r.end]); err != nil {
		return Event{}
	}
	event.ID = r.id
	return event
}

// Passed says that the last event was a message, so that some lines around it are not too many; Stray that it was none.
func (r *Reader) Passed()       { r.strays.Spare(transport.PaceMessage) }
func (r *Reader) Stray(e Event) { r.stray(transport.Parts(len(e.Data))) }

func (r *Reader) stray(parts int) {
	if long := r.strays.Take(parts, time.Now()); long > 0 {
		r.rest(long)
	}
}

// extra is how many parts of a line are no message.
func (r *Reader) extra(line []byte) (parts int) {
	name, value := split(line)
	if string(name) != "data" {
		return transport.Parts(len(line))
	}
	if r.around += len(line) + 1 - len(value); r.around >= transport.PacePart { // many lines of next to nothing
		parts = r.around / transport.PacePart
		r.around %= transport.PacePart
	}
	return parts
}

// release lets go of the room of a long line that was of no event: the next may be long in coming. What is kept of the event until then may be long too.
func (r *Reader) release(e Event) {
	left := r.buf[r.at:r.end]
	if !r.roomy || max(len(e.Data), len(e.Name), len(r.id), len(left)) >= transport.Large {
		return
	}
	small := make([]byte, max(readerBuffer, len(left)))
	r.at, r.end = 0, copy(small, left)
	transport.Recycle(r.buf)
	r.buf, r.roomy = small, false
	r.free()
}

// close gives up what was read and not handed out. There are no more events.
func (r *Reader) close() {
	transport.Recycle(r.buf)
	r.buf, r.at, r.end = nil, 0, 0
	if r.err == nil {
		r.err = io.EOF
	}
}

// split is a line's field and the value of that.
func split(line []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(line, []byte(":"))
	return name, bytes.TrimPrefix(value, []byte(" "))
}

// field applies one line to the event and reports whether it was a field we know.
func (r *Reader) field(event *Event, line []byte) (bool, error) {
	name, value := split(line)
	switch string(name) {
	case "data":
		if len(event.Data)+1+len(value) > r.max {
			return false, fmt.Errorf("%w: more than %d bytes", ErrEventTooLarge, r.max)
		}
		if len(event.Data) >= transport.Large {
			r.roomy = true
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
		event.Name = string(value)
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
	default: // a comment (empty name), or a field the standard says to ignore
		return false, nil
	}
	return true, nil
}

// step is the size that a buffer is counted with which holds size bytes and at most max: it doubles,
// as that of a line does.
func step(size, max int) int { return min(1<<bits.Len(uint(size-1)), max) }

// line returns the next line without its end, valid until the next call. A line may end in LF, CR LF or CR alone; after a CR it never
// waits for the byte that follows.
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

// lineEnd finds the first CR or LF.
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

// fill reads more into the buffer, which grows up to the limit while a line does not fit, and shrinks again when it is empty.
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
			r.roomy = true
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

// maxEmptyReads is how often a source may return nothing at all before it counts as broken; bufio uses the same figure.
const maxEmptyReads = 100
