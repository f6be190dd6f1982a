package supervisor

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"mcpd/protocol/jsonedit"
)

// far is a server behind a URL that keeps nothing of what it reads. It answers calls of these
// tools:
//
//	hold    when release is closed
//	deaf    never, and does not read them
//	asks    in 2026-07-28: with a question for the user
//	big     with a large result
//	echo    at once
type far struct {
	modern bool

	mu      sync.Mutex // guards the fields below
	release chan struct{}
	came    int // calls that were read, or will not be
}

const farTools = `[{"name":"hold","inputSchema":{"type":"object"}},{"name":"deaf","inputSchema":{"type":"object"}},{"name":"asks","inputSchema":{"type":"object"}},` +
	`{"name":"big","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}}]`

// beginning is how many bytes of a request contain its method and the tool's name.
const beginning = 256

func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	head := make([]byte, beginning)
	n, _ := io.ReadFull(r.Body, head)
	head = head[:n]
	id, _ := jsonedit.Get(append(head, "}}}}"...), "id")
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}
	of := func(method string) bool { return bytes.Contains(head, []byte(`"method":"`+method+`"`)) }
	tool := func(name string) bool { return bytes.Contains(head, []byte(`"name":"`+name+`"`)) }
	kind := ""
	if f.modern {
		kind = `"resultType":"complete",`
	}
	switch {
	case of("tools/call") && tool("deaf"):
		<-f.comes()
		return
	case of("tools/call"):
		_, _ = io.Copy(io.Discard, r.Body)
		released := f.comes()
		text := "y"
		switch {
		case tool("hold"):
			<-released
		case tool("big"):
			text = strings.Repeat("y", copied)
		case tool("asks"):
			answer(`{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`)
			return
		}
		answer(`{` + kind + `"content":[{"type":"text","text":"` + text + `"}]}`)
	case of("server/discover") && f.modern:
		answer(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"far","version":"1"}}}`)
	case of("initialize") && !f.modern:
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"1"}}`)
	case of("tools/list") && f.modern:
		answer(`{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":` + farTools + `}`)
	case of("tools/list"):
		answer(`{"tools":` + farTools + `}`)
	case bytes.Contains(head, []byte(`"method":"notifications/`)):
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, id)
	}
}

// comes counts a call, and returns the channel that is closed when the call is released.
func (f *far) comes() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.came++
	return f.release
}

// releases releases all calls that have come.
func (f *far) releases() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.release)
	f.release, f.came = make(chan struct{}), 0
}

func (f *far) has(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.came == n
}

const farCapabilities = `{"elicitation":{"form":{}}}`
