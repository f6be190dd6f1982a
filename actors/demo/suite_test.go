package demo

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport/pipe"
)

// The suite and the Node that runs it, pinned as in internal/conformance.
const (
	suitePackage = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	nodePackage  = "node@22"
	suiteTime    = 5 * time.Minute
)

// routed are the scenarios about the headers that repeat parts of the body (SEP-2243). The HTTP
// endpoint compares them. In mcpd that is the host, and not a server behind a pipe.
var routed = []string{
	"http-header-validation", "http-custom-header-server-validation", "tasks-request-headers",
}

// The built-in server passes the scenarios of 2026-07-28 by itself, behind a minimal HTTP front.
// The tests of the host are in internal/conformance.
func TestServerPassesTheOfficialSuite(t *testing.T) {
	if os.Getenv("MCPD_CONFORMANCE") == "" {
		t.Skip("runs only with MCPD_CONFORMANCE set: it needs Node and downloads the suite")
	}
	client, _ := start(t, otp.Options{})
	front := newFront(t, client)
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	defer cancel()
	dir := t.TempDir()
	command := exec.CommandContext(ctx, "npx", "-y", "-p", nodePackage, "-p", suitePackage,
		"conformance", "server", "--url", front.URL+"/mcp", "--requirements", protocol.Latest.String(),
		"-o", dir)
	// for grandchildren of npx that keep the pipe open after it was killed
	command.WaitDelay = 10 * time.Second
	output, _ := command.CombinedOutput()
	files, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if len(files) == 0 {
		t.Fatalf("no results:\n%s", output)
	}
	folder := regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT`)
	for _, file := range files {
		name := folder.FindStringSubmatch(filepath.Base(filepath.Dir(file)))[1]
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		passed := 0
		for _, c := range checks {
			switch {
			case c.Status == "SUCCESS":
				passed++
			case c.Status != "FAILURE" && c.Status != "WARNING":
			case slices.Contains(routed, name):
				t.Logf("%s, which is the host's: %s %s: %s", name, c.Status, c.ID, c.ErrorMessage)
			default:
				t.Errorf("%s: %s %s: %s", name, c.Status, c.ID, c.ErrorMessage)
			}
		}
		t.Logf("%s: %d of %d checks passed", name, passed, len(checks))
	}
}

// front is a minimal Streamable HTTP server of 2026-07-28 in front of a server behind a pipe: a
// POST for each request, and JSON or a stream for its answer. It gives each request a new id,
// because its clients are independent.
type front struct {
	*httptest.Server
	client pipe.Client

	mu    sync.Mutex
	last  uint64
	posts map[jsonrpc.ID]chan jsonrpc.Message
}

func newFront(t *testing.T, client pipe.Client) *front {
	f := &front{client: client, posts: map[jsonrpc.ID]chan jsonrpc.Message{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		for {
			in, err := client.Recv(ctx)
			if err != nil {
				return
			}
			f.mu.Lock()
			if post := f.posts[in.RequestID]; post != nil {
				post <- in.Message
			}
			f.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
		cancel()
		<-done
	})
	return f
}

// atOnce is more messages than any request of the suite causes.
const atOnce = 100

func (f *front) open() (jsonrpc.ID, chan jsonrpc.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	id, post := jsonrpc.IntID(f.last), make(chan jsonrpc.Message, atOnce)
	f.posts[id] = post
	return id, post
}

func (f *front) shut(id jsonrpc.ID) {
	f.mu.Lock()
	delete(f.posts, id)
	f.mu.Unlock()
	params := jsontext.Value(`{"requestId":` + id.Raw() + `}`)
	_ = f.client.Send(context.Background(), jsonrpc.Notification("notifications/cancelled", params))
}

func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	if local := regexp.MustCompile(
		`^(https?://)?(localhost|127\.0\.0\.1)(:\d+)?$`,
	); !local.MatchString(r.Host) ||
		r.Header.Get("Origin") != "" && !local.MatchString(r.Header.Get("Origin")) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m, err := jsonrpc.Decode(body, jsonrpc.Limits{})
	if err != nil {
		refuse(w, jsonrpc.ID{}, err)
		return
	}
	if m.Kind() != jsonrpc.KindRequest {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	class, err := protocol.Negotiation{}.Classify(protocol.Incoming{
		Method: m.Method, Params: m.Params, HTTP: true,
		Header: strings.TrimSpace(r.Header.Get("MCP-Protocol-Version")),
	})
	if err != nil || class.Era != protocol.Modern {
		refuse(w, m.ID, err)
		return
	}
	f.forward(w, r, m)
}

func refuse(w http.ResponseWriter, id jsonrpc.ID, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(protocol.HTTPStatus(err, protocol.Latest, false))
	_, _ = w.Write(jsonrpc.Failure(id, protocol.Translate(err, protocol.Latest)).Append(nil))
}

// forward sends a request to the server, and its messages to the client, until the server has
// answered or the client is gone.
func (f *front) forward(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
	theirs := m.ID
	id, post := f.open()
	defer f.shut(id)
	m.ID = id
	if err := f.client.Send(r.Context(), m); err != nil {
		refuse(w, theirs, err)
		return
	}
	streaming := false
	for {
		var out jsonrpc.Message
		select {
		case <-r.Context().Done():
			return
		case out = <-post:
		}
		if last := out.Method == ""; last {
			out.ID = theirs
			if !streaming {
				w.Header().Set("Content-Type", "application/json")
				if out.Error != nil {
					w.WriteHeader(protocol.CodeStatus(out.Error.Code, protocol.Latest))
				}
				_, _ = w.Write(out.Append(nil))
				return
			}
		}
		if _, listens := jsonedit.Get(out.Params, "_meta", protocol.MetaSubscriptionID); listens {
			out.Params = set(out.Params, theirs.Raw(), "_meta", protocol.MetaSubscriptionID)
		}
		if !streaming {
			streaming = true
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = io.WriteString(w, "data: "+string(out.Append(nil))+"\n\n")
		w.(http.Flusher).Flush()
		if out.Method == "" {
			return
		}
	}
}
