package resilience

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// A client makes a call and loses its connection. The answer comes, and the host is killed and
// started again. The client resumes its stream and gets the answer, once. A call that was in
// flight is answered with what the host knows about it. A client that has the answer, and resumes
// after it when the host was killed again, does not get another answer. No effect happens twice.
func hostKilledWithAnswers(t *testing.T) {
	h := prepare(t)
	h.configure("limits: {keep_alive: 1s}\ntenants: {default: {servers: {small: " +
		h.smallServer(plainCommand) + "}}}")
	h.launch(mcptest.HostOptions{})
	w := &rawClient{t: t, url: h.MCP + "/small/mcp", headers: http.Header{}}
	if a := w.initialize(); a.status != http.StatusOK {
		t.Fatal(a)
	}
	held := w.cutAfterFirstID(hold, "answered")
	if a := w.call(free, `{"text":"freed"}`); !a.says("freed") {
		t.Fatal(a)
	}
	open := w.cutAfterFirstID(hold, "open")
	state := filepath.Join(h.State, "state.log")
	eventually(t, "written down", func() bool {
		text, err := os.ReadFile(state)
		return err == nil && strings.Contains(string(text), `\"answered\"`)
	})
	h.Kill()
	h = h.restart()
	w.url = h.MCP + "/small/mcp"

	answer := strings.Replace(held, ".0.", ".1.", 1) // the client has seen event 0 of the stream
	last := strings.Replace(answer[:strings.LastIndex(answer, ".")], ".p", ".a", 1)
	for range 2 { // twice: the host cannot know if the first answer arrived
		if events := w.resume(held); len(events) != 1 ||
			events[0] != last+` {"jsonrpc":"2.0","id":1,"result":`+textResult("answered")+"}" {
			t.Errorf("resumed from %s: %q", held, events)
		}
	}
	if events := w.resume(open); len(events) != 1 ||
		!strings.Contains(events[0], `"maybeExecuted":true`) {
		t.Errorf("resumed from %s: %q", open, events)
	}
	eventually(t, "forgotten", func() bool {
		text, err := os.ReadFile(state)
		return err == nil && strings.Contains(string(text), "."+answer+`"}`)
	})
	if a := w.getStream(last); a.status != http.StatusMethodNotAllowed { // the stream no longer exists
		t.Errorf("who has the answer is given %v", a)
	}
	h.Kill()
	h = h.restart()
	w.url = h.MCP + "/small/mcp"
	if a := w.getStream(last); a.status != http.StatusMethodNotAllowed {
		t.Errorf("who has the answer is given %v by the next host", a)
	}
	if events := w.resume(held); len(events) != 1 ||
		!strings.Contains(events[0], `"maybeExecuted":true`) {
		t.Errorf("what was read is %q", events)
	}
	if done := checkOnce(t, h.effects); len(done) != 3 {
		t.Errorf("done: %v", done)
	}
}

// cutAfterFirstID calls a tool and cuts the connection at the first event id, from which the stream
// can be resumed. It returns that id.
func (w *rawClient) cutAfterFirstID(tool, text string) (id string) {
	w.t.Helper()
	ctx, cut := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cut()
	body := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}}}`,
		tool, text,
	)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = w.headers.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			return id
		}
	}
	w.t.Fatal("the stream has no id")
	return ""
}

// getStream asks for the stream after the event with the id last.
func (w *rawClient) getStream(last string) answer {
	w.t.Helper()
	w.headers.Set("Last-Event-Id", last)
	defer w.headers.Del("Last-Event-Id")
	return w.do(http.MethodGet, "")
}

// resume resumes the stream after the event with the id last and reads it to its end. It returns
// the id and the data of each message.
func (w *rawClient) resume(last string) (events []string) {
	w.t.Helper()
	a := w.getStream(last)
	if a.status != http.StatusOK {
		w.t.Fatal(a)
	}
	var id string
	for line := range strings.Lines(a.body) {
		line = strings.TrimSpace(line)
		if is, ok := strings.CutPrefix(line, "id: "); ok {
			id = is
		} else if data, ok := strings.CutPrefix(line, "data: "); ok && data != "" {
			events = append(events, id+" "+data)
		}
	}
	return events
}
