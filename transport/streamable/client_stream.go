package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

const (
	// reconnectTime is how long to wait before a stream is taken up again, unless the server said otherwise.
	reconnectTime = time.Second
	// leastReconnect keeps a server that says "at once" from being asked without pause.
	leastReconnect = 50 * time.Millisecond
	// maxReconnect caps the growing pauses between attempts that fail.
	maxReconnect = 30 * time.Second
	// maxResumes is how many attempts in a row to resume a request's stream may fail before the request has failed.
	maxResumes = 5
	// ResumeTime is how long they take where nobody listens and the server has named no pause. Each
	// pause is up to a quarter longer.
	ResumeTime = (1<<maxResumes - 1) * reconnectTime
	// standTime is how long requests wait for the standing stream: a server may ask its client something there as soon as it has the first,
	// and not all keep what nobody reads yet. Some answer the GET only when they have something to send.
	standTime = time.Second
	// shortStream is how long a stream lasts at least that is no failure, if nothing came on it.
	shortStream = time.Second
	// lingerTime is how long after the answer a stream may take to end by itself. A connection whose stream is cut cannot be used again.
	lingerTime = 50 * time.Millisecond
	// answeredTime is how long the response to a request may still take whose answer has come by the
	// standing stream.
	answeredTime = 5 * time.Second
)

// getAccept is what a GET takes.
var getAccept = http.Header{"Accept": {streamType}}

// flow is a stream of events over one or more responses: that of a request, or the standing one.
type flow struct {
	client   *Client
	call     *outgoing     // nil for the standing stream
	answered func()        // of the standing stream: told that the server has answered
	session  string        // the session id that the server was asked with last
	last     string        // the id of the last event that had one
	retry    time.Duration // what the server asked us to wait; 0 if it did not
	room     transport.Hold
	some     bool // the response has brought a message
	short    int  // responses in a row that ended at once and brought nothing
}

// follow reads the stream of a request until its answer, telling of each time that the server ends it, and resuming it as often as it wants (2025-11-25 §basic/transports, "Sending
// Messages to the Server" 6 and "Resumability and Redelivery").
func (f *flow) follow(ctx context.Context, resp *http.Response) {
	for failures := 0; ; {
		answered, err := f.read(ctx, resp)
		if answered || ctx.Err() != nil {
			return
		}
		if errors.Is(err, ErrEventTooLarge) {
			f.call.fail(ctx, err, true)
			return
		}
		if f.last == "" {
			f.call.fail(ctx, fmt.Errorf("%w: %w", errCutOff, err), true)
			return
		}
		if errors.Is(err, io.EOF) { // the server has hung up, which is for the client of the call too
			f.client.deliver(transport.Inbound{Related: f.call.id, Control: transport.CloseStream{Retry: f.retry}})
		}
		for resp = nil; resp == nil; {
			if !f.pause(ctx, failures, err) {
				return
			}
			resp, err = f.get(ctx)
			if err == nil {
				failures = 0
				continue
			}
			f.unreached(err)
			failures++
			var status *StatusError
			if errors.As(err, &status) && status.final() || failures >= maxResumes {
				f.call.fail(ctx, fmt.Errorf("%w: %w", errCutOff, err), true)
				return
			}
		}
	}
}

// get opens the standing stream, or resumes the one of the last event.
func (f *flow) get(ctx context.Context) (*http.Response, error) {
	extra := getAccept
	if f.last != "" {
		extra = http.Header{"Accept": getAccept["Accept"], "Last-Event-Id": {f.last}}
	}
	for stale := 0; ; stale++ {
		f.session = f.client.current()
		resp, _, err := f.client.do(ctx, http.MethodGet, f.session, nil, extra)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusOK && media(resp.Header) == streamType {
			return resp, nil
		}
		if stale == MaxStale || !f.client.replaced(ctx, resp.StatusCode, f.session) {
			return nil, f.refused(resp)
		}
		discard(resp)
	}
}

// refused is what a response says that is no stream.
func (f *flow) refused(resp *http.Response) error {
	defer discard(resp)
	body := excuse(resp)
	if resp.StatusCode < 300 { // some servers answer every GET with a page
		shown := fmt.Sprintf("a GET is answered with type %q", media(resp.Header))
		none := &StatusError{Status: http.StatusMethodNotAllowed, Body: shown}
		if kind := media(resp.Header); slices.Contains(pages, kind) {
			return &PageError{Type: kind, err: none}
		}
		return none
	}
	return f.client.newStatusError(resp, body)
}

// pause waits as long as the server wants, longer with every failure, and a little more, so that the clients of a server that comes back do
// not come all at once. It reports false when ctx ends.
func (f *flow) pause(ctx context.Context, failures int, last error) bool {
	wait := f.retry
	if wait == 0 {
		wait = reconnectTime
	}
	var status *StatusError
	if errors.As(last, &status) {
		wait = max(wait, status.RetryAfter)
	}
	wait = max(wait, leastReconnect)
	failures += max(0, f.short-1)
	wait = max(wait, min(wait<<min(failures, 10), maxReconnect))
	timer := time.NewTimer(wait + rand.N(wait/4+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// read reads one response to its end, or to the answer of the request. The body is closed then.
func (f *flow) read(ctx context.Context, resp *http.Response) (answered bool, err error) {
	defer resp.Body.Close()
	began := time.Now()
	f.some = false
	if answered, err = f.events(ctx, f.reader(ctx, resp)); answered {
		f.linger(resp)
	} else {
		spoil(resp)
	}
	if f.short++; f.some || time.Since(began) >= shortStream {
		f.short = 0
	}
	return answered, err
}

func (f *flow) reader(ctx context.Context, resp *http.Response) *Reader {
	f.room = transport.NewHold(f.client.room)
	return NewReader(resp.Body, ReaderLimits{
		Event: f.client.limits.Bytes + readerBuffer, Large: func(size int) error { return f.room.Take(ctx, size) },
		Free: f.room.Free, Rest: func(long time.Duration) { f.client.rest(ctx, long) },
	})
}

// events reads to the end, or to the answer of the request.
func (f *flow) events(ctx context.Context, r *Reader) (answered bool, err error) {
	defer r.close()
	defer f.room.Free()
	for {
		f.room.Free() // the event before is somebody else's
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return f.unended(r.Unended()), err
		}
		if err != nil {
			return false, err
		}
		if e.ID != "" {
			f.last = e.ID
		}
		if e.Retry > 0 {
			f.retry = e.Retry
		}
		answered, some := false, false
		if carries(e) {
			answered, some = f.message(e.Data)
		}
		switch {
		case answered:
			return true, nil
		case some:
			f.some = true
			r.Passed()
		default:
			f.room.Free() // this one is nobody's
			r.Stray(e)
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
	}
}

// unended takes an event that lacks its blank line at the end of a stream, if it carries a whole
// message, and reports whether that was the answer. Standards drop such an event (WHATWG HTML
// §9.2.6), some servers write their last one so.
func (f *flow) unended(e Event) (answered bool) {
	if !carries(e) {
		return false
	}
	if _, err := jsonrpc.DecodeLenient(e.Data, f.client.limits); err != nil {
		return false
	}
	if e.ID != "" {
		f.last = e.ID
	}
	answered, f.some = f.message(e.Data)
	return answered
}

// carries reports whether an event may carry a message: one without data primes the stream, and other
// names than this are not messages.
func carries(e Event) bool { return len(e.Data) > 0 && (e.Name == "" || e.Name == "message") }

// message hands on what an event carries, and reports whether it was the answer, and whether any message at all, even one that cannot be read.
func (f *flow) message(data []byte) (answered, some bool) {
	answered, err := f.client.each(data, false, func(m jsonrpc.Message) bool {
		some = true
		return f.deliver(m)
	})
	var bad *jsonrpc.DecodeError
	if errors.As(err, &bad) && bad.ID.IsZero() {
		bad.ID, bad.Response = jsonrpc.Glimpse(data)
	}
	switch {
	case err == nil:
	case bad != nil && (bad.Response || bad.Empty) && !bad.ID.IsZero() && (f.call == nil || bad.ID == f.call.id):
		f.client.deliver(transport.Inbound{Related: bad.ID, Err: fmt.Errorf("the answer: %w", err), Written: true})
		if f.call == nil {
			f.client.arrived(bad.ID)
		}
		return f.call != nil, true
	default:
		f.client.deliver(transport.Inbound{Control: Unreadable{err}})
	}
	return answered, some || err == nil
}

// deliver hands on a message and reports whether it was the answer.
func (f *flow) deliver(m jsonrpc.Message) (answers bool) {
	if f.call != nil {
		return f.call.deliver(m)
	}
	f.client.deliver(transport.Inbound{Message: m})
	if m.Method == "" {
		f.client.arrived(m.ID)
	}
	return false
}

// linger lets the stream end by itself.
func (f *flow) linger(resp *http.Response) {
	timer := time.AfterFunc(lingerTime, f.call.flight.cancel)
	defer timer.Stop()
	discard(resp)
}
