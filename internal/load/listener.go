package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Listener makes calls with progress notifications on a stream. It leaves some of the streams and
// resumes them, and checks that every message arrives once and in order (2025-11-25
// §basic/transports "Resumability and Redelivery", §basic/utilities/progress). It is not safe for
// concurrent use.
type Listener struct {
	session *Session
	seen    map[string]struct{} // ids of all events of the session
}

// NewListener returns a Listener for a session.
func NewListener(s *Session) *Listener { return &Listener{s, map[string]struct{}{}} }

// ListenOptions says how to make and listen to one call.
type ListenOptions struct {
	// Tool takes the nonce as its argument message and returns it after a number of steps. Each step
	// takes MS milliseconds and sends a progress notification with its number, from 1 on.
	Tool  string
	Steps int
	MS    int
	// Timeout is how long the call may last before it counts as lost. Each step restarts it, as it
	// restarts the time-out of the host (2025-11-25 §basic/lifecycle "Timeouts"); the number of steps
	// bounds the total. With 0 only the context bounds the call.
	Timeout time.Duration
	// Cut is the number of messages after which the client leaves the stream and resumes it at once; 0
	// is never.
	Cut int
	// Back is how many of the received messages the client claims not to have, so that they have to be
	// replayed.
	Back int
}

// StreamReport describes the messages on the stream of a call.
type StreamReport struct {
	Events   uint64 // messages, without replays
	Resumed  uint64 // times the client resumed and got the rest
	Refused  uint64 // times the host refused to resume
	Replayed uint64 // messages that were replayed, as required
	// Slips describe messages that were out of order.
	Slips []string
	// Gaps describe steps whose notification was not sent or not replayed, although there was room for
	// all. With a correct server there are none.
	Gaps []string
}

// Bounds of a Listener.
const (
	maxSeen = 1 << 17 // remembered event ids: those of some hours
	// wait before a stream that broke, or had no messages, is requested again
	comeBack   = 25 * time.Millisecond
	resumeTime = 2 * time.Second // a broken stream has to be resumed or refused within it
)

// Call makes one call, and returns its nonce as Client.Call does.
func (l *Listener) Call(ctx context.Context, nonce Nonce,
	o ListenOptions) (heard StreamReport, got Nonce,
	err error) {
	if len(l.seen) > maxSeen {
		clear(l.seen)
	}
	h := &streamCall{ListenOptions: o, listener: l, heard: &heard, token: string(nonce)}
	ctx, end := h.limit(ctx)
	defer end()
	args := fmt.Sprintf(`{"message":%s,"steps":%d,"ms":%d}`, quote(string(nonce)), o.Steps, o.MS)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + quote(o.Tool) +
		`,"arguments":` + args +
		`,"_meta":{"progressToken":` + quote(h.token) + `}}}`
	response, err := l.session.post(ctx, l.session.headers, []byte(body))
	if err != nil {
		return heard, "", h.late(ctx, err)
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		data, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
		_ = response.Body.Close()
		if err == nil {
			err = h.event("", data)
		}
		got, err = h.outcome(h.late(ctx, err))
		return heard, got, err
	}
	err = h.read(response)
	for back := o.Back; !h.answered && ctx.Err() == nil; back = 0 {
		if errors.Is(err, errCut) {
			err = nil
		}
		if response, err = h.resume(ctx, back); err != nil {
			break
		}
		known := len(h.events)
		if err = h.read(response); len(h.events) == known {
			sleep(ctx, comeBack)
		}
	}
	got, err = h.outcome(h.late(ctx, err))
	return heard, got, err
}

// streamCall is the state of one call.
type streamCall struct {
	ListenOptions
	listener *Listener
	heard    *StreamReport
	token    string

	events   []event // all messages, in the order in which they came
	next     int     // index in events of the message that has to be replayed next
	cursor   string  // the last event id
	told     float64 // the last progress
	steps    int     // number of steps that were announced
	timer    *time.Timer
	left     bool // the client has left once
	answered bool
	answer   message
}

// event is one message on a stream.
type event struct {
	id   string
	data []byte
}

// errCut ends a stream that the client leaves.
var errCut = errors.New("the client leaves")

// limit applies the timeout to the call.
func (h *streamCall) limit(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if h.Timeout > 0 {
		h.timer = time.AfterFunc(h.Timeout, func() { cancel(context.DeadlineExceeded) })
	}
	return ctx, func() {
		if h.timer != nil {
			h.timer.Stop()
		}
		cancel(nil)
	}
}

// late replaces an error after a timeout by one that says how far the call was.
func (h *streamCall) late(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("after %d messages and step %g of %d: %w", len(h.events), h.told,
			h.Steps, cause)
	}
	return err
}

// read reads one stream to its end, or until the client leaves it. It also reads on after the
// answer, because further messages would be errors.
func (h *streamCall) read(response *http.Response) error {
	defer response.Body.Close()
	return EachEvent(response.Body, h.event)
}

// resume resumes the stream as if the last back messages had not arrived. It retries if the host is
// unreachable.
func (h *streamCall) resume(ctx context.Context, back int) (*http.Response, error) {
	if h.cursor == "" {
		return nil, ErrNoReply
	}
	from := h.cursor
	if h.next = len(h.events); back > 0 && h.next > 0 {
		h.next = max(1, h.next-back)
		from = h.events[h.next-1].id
	}
	for end := time.Now().Add(resumeTime); ; {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet,
			h.listener.session.options.URL, nil)
		if err != nil {
			return nil, err
		}
		request.Header = h.listener.session.headers.Clone()
		request.Header.Set("Accept", "text/event-stream")
		request.Header.Set("Last-Event-ID", from)
		response, err := h.listener.session.http.Do(request)
		switch {
		case err == nil && response.StatusCode == http.StatusOK:
			h.heard.Resumed++
			return response, nil
		case err == nil:
			h.heard.Refused++
			return nil, statusError(response)
		case ctx.Err() != nil || time.Now().After(end):
			return nil, err
		}
		sleep(ctx, comeBack)
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// event handles one event. It copies the data that it keeps.
func (h *streamCall) event(id string, data []byte) error {
	if id != "" {
		h.cursor = id
	}
	if len(data) == 0 {
		return nil // it only sets the position for a resumption
	}
	if h.next < len(h.events) && h.again(id, data) {
		return nil
	}
	if _, twice := h.listener.seen[id]; twice && id != "" {
		h.slip("two events have the id %s", id)
	}
	h.listener.seen[id] = struct{}{}
	h.events = append(h.events, event{id, bytes.Clone(data)})
	h.next = len(h.events)
	h.heard.Events++
	if err := h.message(data); err != nil {
		return err
	}
	if h.Cut > 0 && !h.left && len(h.events) >= h.Cut && !h.answered {
		h.left = true
		return errCut
	}
	return nil
}

// again handles an event where a replay is due. It reports whether the event is a replay; otherwise
// the event is new. Missing replays are a gap, because a host keeps only a bounded history.
func (h *streamCall) again(id string, data []byte) bool {
	want := h.events[h.next]
	at := slices.IndexFunc(h.events, func(e event) bool { return e.id == id })
	switch {
	case endedWithHost(data):
	case at < 0:
		h.gap("event %s did not come again: next was %s, with %.80s", want.id, id, data)
	case at < h.next || !bytes.Equal(h.events[at].data, data):
		h.slip("event %s came again as %s, with %.80s instead of %.80s", want.id, id, data, want.data)
		h.next = len(h.events) // report one slip only once
		return true
	default:
		if at > h.next {
			h.gap("event %s did not come again: next was %s", want.id, id)
		}
		h.next = at + 1
		h.heard.Replayed++
		return true
	}
	h.next = len(h.events)
	return false
}

// endedWithHost reports whether a message says that the call has ended with its host. The earlier
// messages of the call are lost with that host, and need not be replayed.
func endedWithHost(data []byte) bool {
	var m message
	return json.Unmarshal(data, &m) == nil && m.Error != nil && m.Error.Code == -32008 &&
		strings.HasPrefix(m.Error.Message, "the host was restarted")
}

// message checks one message against those before.
func (h *streamCall) message(data []byte) error {
	var m struct {
		message
		Params struct {
			Token    jsontext.Value `json:"progressToken"`
			Progress float64        `json:"progress"`
		} `json:"params"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("message on a stream: %w", err)
	}
	isAnswer := m.Method == "" && string(m.ID) == "1"
	if h.answered {
		label := m.Method
		if isAnswer {
			label = "another answer"
		}
		h.slip("%s after the answer", label)
		return nil
	}
	if isAnswer {
		h.answered, h.answer = true, m.message
		if done := float64(h.Steps); m.Error == nil && !m.Result.IsError && h.told < done &&
			len(h.events) > 1 {
			h.gap("the answer after step %g of %g", h.told, done)
		}
		return nil
	}
	if m.Method != "notifications/progress" {
		return nil
	}
	p := m.Params.Progress
	switch {
	case string(m.Params.Token) != quote(h.token):
		h.slip("progress of another call: %s", m.Params.Token)
		return nil
	case p <= h.told:
		h.slip("progress %g after %g", p, h.told)
	case p > h.told+1 && p <= float64(h.Steps):
		h.gap("progress %g after %g", p, h.told)
	}
	if h.steps++; h.timer != nil && p > h.told && h.steps <= h.Steps {
		h.timer.Reset(h.Timeout)
	}
	h.told = max(h.told, p)
	return nil
}

// outcome returns the outcome of the call.
func (h *streamCall) outcome(err error) (Nonce, error) {
	switch {
	case h.answered && h.answer.Error != nil:
		return "", h.answer.Error
	case h.answered && h.answer.Result.IsError:
		return "", errors.New("the tool failed")
	case h.answered && len(h.answer.Result.Content) > 0:
		return Nonce(h.answer.Result.Content[0].Text), nil
	case h.answered:
		return "", nil
	case err != nil:
		return "", err
	}
	return "", ErrNoReply
}

func (h *streamCall) slip(format string, args ...any) {
	h.heard.Slips = append(h.heard.Slips, fmt.Sprintf(format, args...))
}

func (h *streamCall) gap(format string, args ...any) {
	h.heard.Gaps = append(h.heard.Gaps, fmt.Sprintf(format, args...))
}
