package interop

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"mcpd/protocol/jsonedit"
)

// greedy is a tenant that makes the host use as much memory as possible. Its clients continue after
// errors.
type greedy struct {
	k           *memoryHost
	tenant, key string

	mu     sync.Mutex // guards the fields below
	counts map[string]int
}

// count counts a result of a request.
func (g *greedy) count(label string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts[label]++
}

// send sends a request to a server of the tenant, and returns the answer.
func (g *greedy) send(ctx context.Context, server, body string, header http.Header) (status int,
	answer string, session string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		g.k.host.MCP+"/t/"+g.tenant+"/"+server+"/mcp", strings.NewReader(body))
	if err != nil {
		g.k.Error(err)
		return 0, "", ""
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+g.key)
	response, err := crowdCarrier.RoundTrip(r)
	if err != nil {
		return 0, "", ""
	}
	defer response.Body.Close()
	begin, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, string(begin), response.Header.Get("Mcp-Session-Id")
}

var crowdCarrier = &http.Transport{DisableKeepAlives: true, DisableCompression: true}

// modern makes a call of 2026-07-28, and legacy makes one in a session.
func (g *greedy) modern(ctx context.Context, server, tool, arguments string) {
	body := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}`, tool, arguments,
	)
	status, answer, _ := g.send(ctx, server, body, http.Header{
		"Mcp-Protocol-Version": {modern}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {tool},
	})
	g.countAnswer(ctx, tool, status, answer)
}

func (g *greedy) session(ctx context.Context) http.Header {
	status, answer, id := g.send(ctx, "keeper", hello, nil)
	if id == "" {
		g.countAnswer(ctx, "initialize", status, answer)
		return nil
	}
	header := http.Header{"Mcp-Session-Id": {id}, "Mcp-Protocol-Version": {"2025-11-25"}}
	g.send(ctx, "keeper", initialized, header)
	return header
}

func (g *greedy) legacy(ctx context.Context, header http.Header,
	tool, arguments, more string) (answer string) {
	body := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, tool,
		arguments, more,
	)
	status, answer, _ := g.send(ctx, "keeper", body, header)
	g.countAnswer(ctx, tool, status, answer)
	return answer
}

// countAnswer counts an answer, and waits a little after a refusal.
func (g *greedy) countAnswer(ctx context.Context, tool string, status int, answer string) {
	if status == http.StatusOK || ctx.Err() != nil {
		g.count(fmt.Sprint(tool, " ", status))
		return
	}
	reason, _ := jsonedit.GetString([]byte(answer), "error", "message")
	if reason, _, _ = strings.Cut(reason, ":"); strings.Contains(reason, "keeps") {
		reason, _, _ = strings.Cut(reason, " keeps")
	}
	g.count(fmt.Sprint(tool, " ", status, " ", reason))
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
}

var crowdPad = fmt.Sprintf(`{"bytes":1,"pad":%q}`, strings.Repeat("x", largeArgumentSize))

// holds makes calls with large arguments that ask the user, who does not answer.
func (g *greedy) holds(ctx context.Context) { g.modern(ctx, "past", "elicit", crowdPad) }

// early makes calls with large results that no client fetches.
func (g *greedy) early(ctx context.Context) {
	g.modern(ctx, "keeper", "early", `{"bytes":8000000}`)
}

// floods makes large calls that are answered at once.
func (g *greedy) floods(ctx context.Context) { g.modern(ctx, "keeper", "echo", crowdPad) }

// reads makes calls with large results, and reads them.
func (g *greedy) reads(ctx context.Context) {
	g.modern(ctx, "keeper", "big", `{"bytes":12000000}`)
}

// jobs makes tasks with large arguments.
func (g *greedy) jobs(ctx context.Context) {
	header := g.session(ctx)
	for header != nil && ctx.Err() == nil {
		g.legacy(ctx, header, "job", crowdPad, `,"task":{"ttl":4000}`)
	}
}

// results makes tasks with large results.
func (g *greedy) results(ctx context.Context) {
	header := g.session(ctx)
	for header != nil && ctx.Err() == nil {
		id, _ := jsonedit.GetString([]byte(g.legacy(ctx, header, "job", `{"bytes":6000000}`,
			`,"task":{"ttl":4000}`)), "result", "task", "taskId")
		g.send(ctx, "keeper", about("tasks/get", id), header)
	}
}

// logs makes calls with large log messages, which the host keeps for clients that reconnect.
func (g *greedy) logs(ctx context.Context) {
	header := g.session(ctx)
	for n := 0; header != nil && n < 4; n++ {
		g.legacy(ctx, header, "logs", `{"bytes":100000,"count":9}`, "")
	}
}

// ignores makes calls with large results, and does not read them.
func (g *greedy) ignores(ctx context.Context) {
	header := g.session(ctx)
	if header == nil {
		return
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"bytes":12000000}}}`
	for range 8 {
		c, err := net.Dial("tcp", strings.TrimPrefix(g.k.host.MCP, "http://"))
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /t/%s/keeper/mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+
			"%s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Mcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s",
			g.tenant, g.key, header.Get("Mcp-Session-Id"), len(body), body)
	}
	<-ctx.Done()
	g.count("left unread")
}
