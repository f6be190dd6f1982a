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
	// reconnectTime is the delay before a stream is reopened, unless the server stated another one.
	reconnectTime = time.Second
	// leastReconnect is the minimum delay, for servers that state a delay of almost 0.
	leastReconnect = 50 * time.Millisecond
	// maxReconnect limits the growing delays between failed attempts.
	maxReconnect = 30 * time.Second
	// maxResumes is the number of consecutive failed attempts to resume a request's stream after which
	// the request has failed.
	maxResumes = 5
	// ResumeTime is the duration of these attempts if the server cannot be reached and has stated no
	// delay. Each delay may be up to a quarter longer.
	ResumeTime = (1<<maxResumes - 1) * reconnectTime
	// standaloneWait is how long requests wait for the standalone stream. A server may send a question
	// there as soon as it has received the first request, and not all servers store messages without a
	// reader. Some servers answer the GET only when they have something to send.
	standaloneWait = time.Second
	// shortStream is the duration below which a stream without messages counts as a failure.
	shortStream = time.Second
	// lingerTime is how long a stream may take to end by itself after the answer. The connection of a
	// stream that is cut cannot be reused.
	lingerTime = 50 * time.Millisecond
	// answeredTime is how long the response to a request may still take after its answer was received
	// on the standalone stream.
	answeredTime = 5 * time.Second
)

// getAccept contains the header fields of a GET.
var getAccept = http.Header{"Accept": {streamType}}

// flow is a stream of events over one or more responses: that of a request, or the standalone
// stream.
type flow struct {
	client      *Client
	call        *outgoing     // nil for the standalone stream
	answered    func()        // of the standalone stream: called when the server has answered
	session     string        // the session id of the last GET
	last        string        // the id of the last event that had one
	retry       time.Duration // the delay that the server requested; 0 if none
	reservation transport.Reservation
	some        bool // the response has carried a message
	short       int  // consecutive responses that ended at once without a message
}

// follow reads the stream of a request until its answer. It reports each end of the stream by the
// server through Recv, and resumes the stream as often as the server ends it (2025-11-25
// §basic/transports, "Sending Messages to the Server" 6 and "Resumability and Redelivery").
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
		// The server has ended the stream, so the client of the call should reconnect too.
		if errors.Is(err, io.EOF) {
			f.client.deliver(transport.Inbound{
				RequestID: f.call.id, Control: transport.CloseStream{Retry: f.retry},
			})
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

// get opens the standalone stream, or resumes the stream of the last event.
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

// refused returns the error of a response that is no stream.
func (f *flow) refused(resp *http.Response) error {
	defer discard(resp)
	body := errorBody(resp)
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

// pause waits for the delay that the server requested, longer with each failure. A random addition
// prevents all clients of a restarted server from reconnecting at the same moment. pause returns
// false when ctx ends.
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

// read reads one response to its end, or to the answer of the request, and closes its body.
func (f *flow) read(ctx context.Context, resp *http.Response) (answered bool, err error) {
	defer resp.Body.Close()
	began := time.Now()
	f.some = false
	if answered, err = f.events(ctx, f.reader(ctx, resp)); answered {
		f.linger(resp)
	} else {
		markUnusable(resp)
	}
	if f.short++; f.some || time.Since(began) >= shortStream {
		f.short = 0
	}
	return answered, err
}

func (f *flow) reader(ctx context.Context, resp *http.Response) *Reader {
	f.reservation = transport.NewReservation(f.client.budget)
	return NewReader(resp.Body, ReaderLimits{
		EventBytes: f.client.limits.Bytes + readerBuffer, Large: func(size int) error {
			return f.reservation.Take(ctx, size)
		},
		Free: f.reservation.Free, Sleep: func(long time.Duration) { f.client.rest(ctx, long) },
	})
}

// events reads events to the end of the stream, or to the answer of the request.
func (f *flow) events(ctx context.Context, r *Reader) (answered bool, err error) {
	defer r.close()
	defer f.reservation.Free()
	for {
		f.reservation.Free() // the previous event was handed over
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
			f.reservation.Free() // this event was not handed over
			r.Stray(e)
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
	}
}

// unended processes an event without its final blank line at the end of a stream, if it contains a
// complete message, and reports whether that was the answer. The standard discards such an event
// (WHATWG HTML §9.2.6), but some servers write their last event in this way.
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

// carries reports whether an event may contain a message. An event without data only primes the
// stream, and events with another name than "message" are not messages.
func carries(e Event) bool { return len(e.Data) > 0 && (e.Type == "" || e.Type == "message") }

// message delivers the messages of an event. It reports whether one was the answer, and whether
// there was any message, including one that cannot be decoded.
func (f *flow) message(data []byte) (answered, some bool) {
	answered, err := f.client.each(data, false, func(m jsonrpc.Message) bool {
		some = true
		return f.deliver(m)
	})
	var bad *jsonrpc.DecodeError
	if errors.As(err, &bad) && bad.ID.IsZero() {
		bad.ID, bad.Response = jsonrpc.PeekID(data)
	}
	switch {
	case err == nil:
	case bad != nil && (bad.Response || bad.Empty) && !bad.ID.IsZero() &&
		(f.call == nil || bad.ID == f.call.id):
		f.client.deliver(transport.Inbound{
			RequestID: bad.ID, Err: fmt.Errorf("the answer: %w", err), Written: true,
		})
		if f.call == nil {
			f.client.answeredOnStandalone(bad.ID)
		}
		return f.call != nil, true
	default:
		f.client.deliver(transport.Inbound{Control: Unreadable{err}})
	}
	return answered, some || err == nil
}

// deliver delivers a message and reports whether it was the answer.
func (f *flow) deliver(m jsonrpc.Message) (answers bool) {
	if f.call != nil {
		return f.call.deliver(m)
	}
	f.client.deliver(transport.Inbound{Message: m})
	if m.Method == "" {
		f.client.answeredOnStandalone(m.ID)
	}
	return false
}

// linger gives the stream time to end by itself.
func (f *flow) linger(resp *http.Response) {
	timer := time.AfterFunc(lingerTime, f.call.inFlight.cancel)
	defer timer.Stop()
	discard(resp)
}
