package negotiate

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// S3-9, S3-43: a call consists of the tool's name and the body.
func TestCallHasTheBodyForArguments(t *testing.T) {
	r := start(t, nil)
	id := r.negotiated("sampling")
	for body, want := range map[string]string{"": `{}`, `{"a": {"b": 1}}`: `{"a": {"b": 1}}`} {
		r.do("POST", "/tool/files__read", body, SessionHeader, id)
		m := r.sessions[id].last()
		name, _ := jsonedit.GetString(m.Params, "name")
		arguments, _ := jsonedit.Get(m.Params, "arguments")
		if m.Method != "tools/call" || name != "files__read" || string(arguments) != want {
			t.Errorf("body %s becomes %s %s", body, m.Method, m.Params)
		}
	}
	// A call that got a question as its response is repeated with the answer.
	r.do("POST", "/tool/ask?retry",
		`{"name":"other","_meta":{"x":1},"arguments":{"a":1},"inputResponses":{"q":{}},"requestState":"s"}`, SessionHeader, id)
	m := r.sessions[id].last()
	if name, _ := jsonedit.GetString(m.Params, "name"); name != "ask" {
		t.Errorf("retried %q", name)
	}
	if _, ok := jsonedit.Get(m.Params, "_meta", "x"); ok {
		t.Errorf("a client sets _meta: %s", m.Params)
	}
	if state, _ := jsonedit.GetString(m.Params, "requestState"); state != "s" {
		t.Errorf("without its state: %s", m.Params)
	}
	before := len(r.sessions[id].asked)
	for _, body := range []string{``, `{}`, `{"arguments":{"a":1}}`, `{"x":1,"requeststate":"s"}`} {
		a := r.do("POST", "/tool/ask?retry", body, SessionHeader, id)
		if a.StatusCode != 400 || !strings.Contains(a.body, "requestState") ||
			len(r.sessions[id].asked) != before {
			t.Errorf("a retry of nothing, %s, is answered %s %s", body, a.Status, a.body)
		}
	}
}

func TestErrorsHaveAStatus(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{protocol.ToolNotFound("a"), 404},
		{protocol.InvalidParams("no"), 400},
		{protocol.CapabilityRequired("elicitation"), 403},
		{protocol.CapabilityNotSupported("tools"), 404},
		{protocol.Timeout(time.Second), 504},
		{protocol.Overloaded("session", time.Second), 503},
		{protocol.UpstreamLost("files", true, nil), 502},
		{protocol.TenantDown("acme", "paused", "i", time.Second).EndedBeforeAnswer("files", false), 503},
		{protocol.TenantDown("acme", "paused", "i", time.Second).EndedBeforeAnswer("files", true), 502},
		{protocol.UpstreamUnavailable("files", 0, nil), 503},
		{&jsonrpc.Error{Code: -32603, Message: "of the server"}, 500},
		{&jsonrpc.Error{Code: 7, Message: "of the server", Data: jsontext.Value(`{"x":1}`)}, 500},
		{&jsonrpc.Error{Code: protocol.CodeMissingCapability, Message: "of the server"}, 403},
	} {
		r := start(t, func(f *fakeHost) { f.scripts["tools/call"] = failing(c.err) })
		if a := r.do("POST", "/tool/a", ""); a.StatusCode != c.status ||
			!strings.HasPrefix(a.body, `{"error":"`) || !strings.Contains(a.body, `"code":`) {
			t.Errorf("%v: %s %s, want %d", c.err, a.Status, a.body, c.status)
		}
		r = start(t, func(f *fakeHost) {
			f.scripts["tools/call"] = func(*fakeSession, jsonrpc.Message, transport.Sink) error {
				return c.err
			}
		})
		if a := r.do("POST", "/tool/a", ""); a.StatusCode < 400 {
			t.Errorf("%v, refused: %s %s", c.err, a.Status, a.body)
		}
	}
}

// reporting sends progress and log messages, and then responds.
func reporting(s *fakeSession, m jsonrpc.Message, out transport.Sink) error {
	if token, ok := protocol.ProgressToken(m.Params); ok {
		_ = out.Send(jsonrpc.Notification("notifications/progress",
			jsontext.Value(`{"progressToken":`+string(token)+`,"progress":1}`)))
	}
	if level, ok := jsonedit.GetString(m.Params, "_meta", protocol.MetaLogLevel); ok {
		_ = out.Send(jsonrpc.Notification("notifications/message",
			jsontext.Value(`{"level":"`+level+`","data":"x"}`)))
	}
	return result(`{"content":[]}`)(s, m, out)
}

// S3-40, S3-42, S3-53, S3-56: only clients that track progress and take a stream get progress. The
// same goes for log lines.
func TestProgressIsForThoseWhoTrackIt(t *testing.T) {
	r := start(t, func(f *fakeHost) { f.scripts["tools/call"] = reporting })
	for _, c := range []struct {
		capabilities []string
		accept       string
		stream       bool
		progress     bool
	}{
		{[]string{"sampling", "streaming", "progress_tracking"}, "text/event-stream", true, true},
		{[]string{"sampling", "streaming", "progress_tracking"},
			"application/json, text/event-stream;q=0.5", true, true},
		{[]string{"sampling", "streaming", "progress_tracking"}, "*/*", false, false},
		{[]string{"sampling", "streaming", "progress_tracking"}, "text/event-stream;q=0", false, false},
		{[]string{"sampling", "streaming"}, "text/event-stream", true, false},
		{[]string{"sampling", "progress_tracking"}, "text/event-stream", false, false},
	} {
		a := r.do("POST", "/tool/a", "", SessionHeader, r.negotiated(c.capabilities...),
			"Accept", c.accept)
		stream := a.Header.Get("Content-Type") == "text/event-stream"
		progress := strings.Contains(a.body, "event: progress\ndata: {")
		if a.StatusCode != http.StatusOK || stream != c.stream || progress != c.progress ||
			!strings.Contains(a.body, `{"content":[]}`) {
			t.Errorf("%v taking %s: %s %q", c.capabilities, c.accept, a.Status, a.body)
		}
		if stream && !strings.HasSuffix(a.body, "event: result\ndata: {\"content\":[]}\n\n") {
			t.Errorf("the stream ends with %q", a.body)
		}
	}
	a := r.do("POST", "/negotiate",
		`{"client_name":"p","client_version":"1","supported_capabilities":["sampling","streaming","notifications"],`+
			`"capability_details":{"notifications":{"name":"notifications","version":"1","description":"","parameters":{"level":"warning"}}}}`)
	a = r.do("POST", "/tool/a", "", SessionHeader, a.Header.Get(SessionHeader), "Accept",
		"text/event-stream")
	if !strings.HasPrefix(a.body, "event: message\ndata: {\"level\":\"warning\"") {
		t.Errorf("log lines: %q", a.body)
	}
}

// A call that fails at once gets a plain response; one that fails later ends its stream with the
// error.
func TestFailureInAStream(t *testing.T) {
	r := start(t, func(f *fakeHost) { f.scripts["tools/call"] = failing(protocol.ToolNotFound("a")) })
	id := r.negotiated("sampling", "streaming", "progress_tracking")
	if a := r.do("POST", "/tool/a", "", SessionHeader, id, "Accept",
		"text/event-stream"); a.StatusCode != 404 {
		t.Errorf("%s %s", a.Status, a.body)
	}
	r = start(t, func(f *fakeHost) {
		f.scripts["tools/call"] = func(s *fakeSession, m jsonrpc.Message, out transport.Sink) error {
			_ = out.Send(jsonrpc.Notification("notifications/progress", nil))
			return failing(protocol.Timeout(time.Second))(s, m, out)
		}
	})
	id = r.negotiated("sampling", "streaming", "progress_tracking")
	a := r.do("POST", "/tool/a", "", SessionHeader, id, "Accept", "text/event-stream")
	if !strings.Contains(a.body, "event: error\ndata: {\"error\":\"no answer within 1s\"") {
		t.Errorf("%s %q", a.Status, a.body)
	}
}

// S3-41, S3-42: a client that leaves cancels its request if it has declared that it cancels, and
// not otherwise.
func TestCancellationIsForThoseWhoDeclaredIt(t *testing.T) {
	for capability, cancels := range map[string]bool{"cancellation": true, "other": false} {
		entered, left := make(chan struct{}), make(chan struct{})
		r := start(t, func(f *fakeHost) {
			f.scripts["tools/call"] = func(s *fakeSession, m jsonrpc.Message, out transport.Sink) error {
				close(entered)
				return nil
			}
		})
		id := r.negotiated("sampling", capability)
		ctx, cancel := context.WithCancel(t.Context())
		// It ends with the request.
		go func() {
			defer close(left)
			q, _ := http.NewRequestWithContext(ctx, "POST", r.url+"/tool/a", nil)
			q.Header.Set(SessionHeader, id)
			if response, err := http.DefaultClient.Do(q); err == nil {
				response.Body.Close()
			}
		}()
		<-entered
		cancel()
		<-left
		r.server.Close() // waits for the handlers
		if got := len(r.cancelled); got > 1 || (got == 1) != cancels {
			t.Errorf("%s: %d cancelled", capability, got)
		}
	}
}

// subscribed confirms a subscription, sends one change, and ends when the test does.
func subscribed(s *fakeSession, m jsonrpc.Message, out transport.Sink) error {
	uris, _ := jsonedit.Get(m.Params, "notifications", "resourceSubscriptions")
	_ = out.Send(jsonrpc.Notification(acknowledged,
		jsontext.Value(`{"notifications":{"resourceSubscriptions":`+string(uris)+`}}`)))
	_ = out.Send(jsonrpc.Notification("notifications/resources/updated",
		jsontext.Value(`{"uri":"x","_meta":{"`+protocol.MetaSubscriptionID+`":1}}`)))
	return result(`{"resultType":"complete"}`)(s, m, out)
}

// S3-11: a subscription is a stream of changes.
func TestSubscription(t *testing.T) {
	r := start(t, func(f *fakeHost) { f.scripts["subscriptions/listen"] = subscribed })
	a := r.do("GET", "/subscription/x", "", SessionHeader, r.negotiated("notifications"))
	if a.Header.Get("Content-Type") != "text/event-stream" ||
		!strings.HasPrefix(a.body, "event: subscriptions/acknowledged\ndata: {") ||
		!strings.Contains(a.body, "event: resources/updated\ndata: {\"uri\":\"x\"}\n") {
		t.Errorf("%s %q", a.Status, a.body)
	}
	r = start(t, func(f *fakeHost) {
		f.scripts["subscriptions/listen"] = func(_ *fakeSession, _ jsonrpc.Message,
			out transport.Sink) error {
			return out.Send(jsonrpc.Notification(acknowledged, jsontext.Value(`{"notifications":{}}`)))
		}
	})
	if a := r.do("GET", "/subscription/x", "", SessionHeader,
		r.negotiated("notifications")); a.StatusCode != 404 {
		t.Errorf("not granted: %s %s", a.Status, a.body)
	}
	<-r.cancelled // ends the subscription
}

// A subscription ends with its client, and with the listener.
func TestSubscriptionEnds(t *testing.T) {
	open := func(f *fakeHost) {
		f.scripts["subscriptions/listen"] = func(_ *fakeSession, _ jsonrpc.Message,
			out transport.Sink) error {
			return out.Send(jsonrpc.Notification(acknowledged,
				jsontext.Value(`{"notifications":{"resourceSubscriptions":["x"]}}`)))
		}
	}
	r := start(t, open)
	ctx, cancel := context.WithCancel(t.Context())
	response := r.begin(ctx, "GET", "/subscription/x", "", SessionHeader,
		r.negotiated("notifications"))
	cancel()
	<-r.cancelled
	response.Body.Close()

	r = start(t, open)
	response = r.begin(t.Context(), "GET", "/subscription/x", "", SessionHeader,
		r.negotiated("notifications"))
	defer response.Body.Close()
	stream := lines(response)
	stream.Scan()
	r.guard.Drain()
	for stream.Scan() {
		if strings.HasPrefix(stream.Text(), "retry: ") {
			<-r.cancelled
			return
		}
	}
	t.Error("the stream did not end with the time to come back")
}

// The number of unread notifications is bounded: the oldest is dropped.
func TestUnreadNewsAreBounded(t *testing.T) {
	e := newExchange(nil)
	e.streams = true
	for range maxWaiting + 3 {
		if err := e.Send(jsonrpc.Notification("notifications/progress", nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Send(jsonrpc.Request(jsonrpc.IntID(1), "sampling/createMessage", nil)); err == nil {
		t.Error("a question is taken")
	}
	notifications, _, done := e.take()
	if len(notifications) != maxWaiting || e.missed() != 3 || done {
		t.Errorf("%d wait, %d dropped, done %v", len(notifications), e.missed(), done)
	}
	if !e.Finish(jsonrpc.Message{}) || e.Finish(jsonrpc.Message{}) || !e.ended() {
		t.Error("an exchange has one outcome")
	}
	if err := e.Send(jsonrpc.Notification("notifications/progress", nil)); err == nil {
		t.Error("news after the outcome")
	}
}

// Requests of the negotiation API carry the address of their client.
func TestRequestsHaveAnAddress(t *testing.T) {
	from := make(chan string, 1)
	r := start(t, func(f *fakeHost) {
		f.scripts["tools/call"] = func(s *fakeSession, m jsonrpc.Message, out transport.Sink) error {
			if a, ok := out.(transport.Addressed); ok {
				from <- a.From()
			}
			return result(`{"content":[]}`)(s, m, out)
		}
	})
	r.do("POST", "/tool/a", "")
	select {
	case got := <-from:
		if !strings.HasPrefix(got, "127.0.0.1:") {
			t.Errorf("a request comes from %q", got)
		}
	default:
		t.Error("a request has no address")
	}
}
