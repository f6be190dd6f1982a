package scale

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mcpd/internal/load"
)

// concurrentOpens is how many streams are opened concurrently. Each initialize waits for servers
// that are starting, and the catalogue lets this many requests wait.
const concurrentOpens = 250

// stream is what one client receives. The mutex of its audience guards the fields.
type stream struct {
	received map[string]int // number of notifications, by method
	last     time.Time      // time of the last notification of a changed list
	ended    error
}

// audience is many clients, each with an open stream.
type audience struct {
	mu      sync.Mutex
	streams []*stream
	close   []io.Closer
	reading sync.WaitGroup
}

// opening opens the stream of one client.
type opening func(ctx context.Context, url string) (io.ReadCloser, error)

// legacyStream opens a session and its stream. It closes the session's other connections.
func legacyStream(ctx context.Context, url string) (io.ReadCloser, error) {
	s, err := load.Connect(ctx, load.SessionOptions{URL: url})
	if err != nil {
		return nil, err
	}
	body, err := s.Listen(ctx)
	if err != nil {
		return nil, err
	}
	s.CloseIdle()
	return body, nil
}

// listen is a request for subscriptions/listen to the changes of all lists.
const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"scale","version":"1"}},` +
	`"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}}`

// modernStream opens a subscription. The subscription is open when its response begins.
func modernStream(ctx context.Context, url string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(listen))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"},
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK ||
		!strings.HasPrefix(kind, "text/event-stream") {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		_ = answer.Body.Close()
		return nil, fmt.Errorf("subscriptions/listen: http status %d: %s", answer.StatusCode, said)
	}
	return answer.Body, nil
}

// openStreams opens n streams.
func openStreams(t *testing.T, n int, url string, open opening) *audience {
	t.Helper()
	a := &audience{}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		for _, c := range a.close {
			_ = c.Close() // it is not needed any more
		}
		a.reading.Wait()
	})
	places := make(chan struct{}, n)
	for range n {
		places <- struct{}{}
	}
	close(places)
	var all sync.WaitGroup
	for range min(n, concurrentOpens) {
		all.Go(func() {
			for range places {
				body, err := open(ctx, url)
				if err != nil {
					t.Errorf("a stream cannot be opened: %v", err)
					return
				}
				s := &stream{received: map[string]int{}}
				a.mu.Lock()
				a.streams, a.close = append(a.streams, s), append(a.close, body)
				a.mu.Unlock()
				a.reading.Go(func() { a.read(s, body) })
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return a
}

// read counts the notifications of a stream until the stream ends.
func (a *audience) read(s *stream, body io.Reader) {
	err := load.EachEvent(body, func(_ string, data []byte) error {
		if len(data) == 0 {
			return nil
		}
		var m struct {
			Method string `json:"method"`
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		s.received[m.Method]++
		if strings.HasSuffix(m.Method, "/list_changed") {
			s.last = time.Now()
		}
		return nil
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	s.ended = fmt.Errorf("it has ended: %w", err)
}

// summary is what all streams have received since they were opened, or since forget.
type summary struct {
	least, most map[string]int // fewest and most notifications of one stream, by method
	total       int
	last        time.Time // time of the last notification of a change
	ended       int       // number of streams that have ended
}

func (a *audience) summary() summary {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := summary{least: map[string]int{}, most: map[string]int{}}
	for _, method := range changes {
		sum.least[method] = 1 << 30
	}
	for _, s := range a.streams {
		for _, method := range changes {
			n := s.received[method]
			sum.least[method], sum.most[method] = min(sum.least[method], n), max(sum.most[method], n)
			sum.total += n
		}
		if s.last.After(sum.last) {
			sum.last = s.last
		}
		if s.ended != nil {
			sum.ended++
		}
	}
	return sum
}

// reset discards what was received so far.
func (a *audience) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.streams {
		clear(s.received)
		s.last = time.Time{}
	}
}

// changes are the notifications that a list has changed.
var changes = []string{
	"notifications/tools/list_changed", "notifications/prompts/list_changed",
	"notifications/resources/list_changed",
}
