package streamable

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// openingKeepAlive is how long the answer to initialize may be delayed: as long as the official
// SDKs wait for it.
const openingKeepAlive = time.Minute

// respond waits until a POST can be answered, and answers it: with JSON if the outcomes are the
// first messages, else with a stream. If the client leaves before that, respond panics with
// http.ErrAbortHandler.
func (h *Handler) respond(w http.ResponseWriter, r *http.Request, ep Endpoint, p *reply,
	client toucher) {
	defer p.leave()
	shape := p.decide(false)
	o, opens := client.(opening)
	if shape == undecided {
		silences := &h.silences
		// A keep-alive would send the session id before it is known if the session opens.
		if opens {
			silences = &h.openingSilences
		}
		shape = silences.await(r, p)
	}
	p.passErrand()
	if opens && (shape == asStream || shape == asJSON && p.outcomes[0].Error == nil) {
		w.Header().Set("Mcp-Session-Id", o.ID())
	}
	switch shape {
	case asJSON:
		h.writeOutcomes(w, p)
	case asStream:
		e := responseWriter{
			handler: h, response: w, control: deadline(w), streams: p.streams, streamed: &p.out,
			client: client, tenant: ep.Tenant,
		}
		if p.listens {
			e.waits = h.waiter(r, ep)
		}
		if p.resumes {
			e.prime()
		}
		e.run(r.Context())
	// 202 is for messages without an answer, and the official Go client takes it here for a broken
	// connection. There is no event id, because there is nothing to resume.
	case asEmptyStream:
		streamHeaders(w.Header())
		h.writeEmpty(w, http.StatusOK)
	case asSessionGone:
		h.refuse(w, r, ep, sessionGone, jsonrpc.ID{}, "")
	}
}

// await waits until the form of the answer to a POST can be decided.
func (s *keepAliveTimers) await(r *http.Request, p *reply) (shape answerForm) {
	s.begin(&p.silence, &p.out)
	defer s.end(&p.silence)
	left := p.departure(r)
	defer p.line.await(nil)
	for shape == undecided {
		select {
		case <-left:
			// A client that has only half-closed would take an empty end for success.
			panic(http.ErrAbortHandler)
		case <-p.out.wake:
			if p.line.isBroken() {
				panic(http.ErrAbortHandler)
			}
			p.run()
			shape = p.decide(p.out.ticked.Load())
		}
	}
	return shape
}

// buffers holds buffers for responses. Larger ones are left to the garbage collector.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const keptBuffer = 64 << 10

func (h *Handler) writeOutcomes(w http.ResponseWriter, p *reply) {
	buf := buffers.Get().(*[]byte)
	body := (*buf)[:0]
	switch first := p.outcomes[0]; {
	case p.batch:
		body = jsonrpc.AppendBatch(body, p.outcomes)
		h.writeJSON(w, h.outcomeStatus(w, p), body)
	case len(first.Result) >= large:
		h.writeJSON(w, h.outcomeStatus(w, p), first.Parts(large)...)
	default:
		body = first.Append(body)
		h.writeJSON(w, h.outcomeStatus(w, p), body)
	}
	if cap(body) <= keptBuffer {
		*buf = body
		buffers.Put(buf)
	}
}

// outcomeStatus returns the HTTP status of an answer. It is 200 in general. A request that was
// refused temporarily gets the status and the Retry-After header that proxies and HTTP libraries
// know. These retry on such a status, so a request that may have been executed does not get it.
func (h *Handler) outcomeStatus(w http.ResponseWriter, p *reply) int {
	e := p.outcomes[0].Error
	if p.batch || e == nil {
		return errorStatus(e, p.version)
	}
	reason, _ := jsonedit.GetString(e.Data, "reason")
	status, busy := temporaryStatuses[reason]
	wait := protocol.RetryAfter(e)
	if !busy || wait <= 0 || jsonedit.Kind(e.Data, "maybeExecuted") == 't' {
		return errorStatus(e, p.version)
	}
	SetRetryAfter(w, wait)
	return status
}

// temporaryStatuses maps the reason in an error's data to the status of a temporarily refused
// request. 2026-07-28 has no error code for it.
var temporaryStatuses = map[string]int{
	protocol.ConditionRateLimited.String():         http.StatusTooManyRequests,
	protocol.ConditionOverloaded.String():          http.StatusServiceUnavailable,
	protocol.ConditionUpstreamUnavailable.String(): http.StatusServiceUnavailable,
}

// errorStatus returns the status of an answer with error e. Errors of stateless requests have their
// own status; other answers have 200.
func errorStatus(e *jsonrpc.Error, v protocol.Version) int {
	if e == nil {
		return http.StatusOK
	}
	return protocol.AnswerStatus(e, v)
}

// writeJSON writes a complete answer, with a deadline for each part of it.
func (h *Handler) writeJSON(w http.ResponseWriter, status int, body ...[]byte) {
	length := 0
	for _, piece := range body {
		length += len(piece)
	}
	header := w.Header()
	header["Content-Type"] = jsonHeader
	if own, ok := w.(*response); ok {
		own.length[0] = strconv.Itoa(length)
		header["Content-Length"] = own.length[:]
	} else {
		header.Set("Content-Length", strconv.Itoa(length))
	}
	w.WriteHeader(status)
	for _, piece := range body {
		if writeAll(w, deadline(w), h.options.Stall, piece) != nil {
			return // a client that is gone needs no answer
		}
	}
}

// writeEmpty answers with a status alone.
func (h *Handler) writeEmpty(w http.ResponseWriter, status int) {
	deadline(w).SetWriteDeadline(time.Now().Add(h.options.Stall))
	w.WriteHeader(status)
}

var (
	jsonHeader   = []string{jsonType}
	streamHeader = []string{streamType}
)

// writePart is the number of bytes written under one deadline: at the stall time of 10 s, a peer
// must accept 6 KiB/s.
const writePart = 64 << 10

// streamHeaders sets the headers of a stream.
func streamHeaders(header http.Header) {
	header["Content-Type"] = streamHeader
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no") // otherwise nginx buffers events
}

// flushAll writes a part of a stream at once. It then clears the deadline, for the time in which
// nothing is written.
func flushAll(w http.ResponseWriter, control *http.ResponseController, stall time.Duration,
	p []byte) error {
	if err := writeAll(w, control, stall, p); err != nil {
		return err
	}
	err := control.Flush()
	control.SetWriteDeadline(time.Time{})
	return err
}

// writeAll writes p in parts, each with its own deadline. The last deadline stays in force for the
// bytes that net/http writes after the handler.
func writeAll(w http.ResponseWriter, control *http.ResponseController, stall time.Duration,
	p []byte) error {
	for {
		n := min(len(p), writePart)
		control.SetWriteDeadline(time.Now().Add(stall))
		if _, err := w.Write(p[:n]); err != nil {
			return err
		}
		if p = p[n:]; len(p) == 0 {
			return nil
		}
	}
}
