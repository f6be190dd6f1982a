package interop

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// oddStandalone is the oddRow.get of a server with a standalone stream.
const oddStandalone = "stream"

// oddWeb serves all odd servers over HTTP: at /VIEW/SERVER/mcp, and over HTTP+SSE at
// /VIEW/SERVER/sse. VIEW distinguishes the clients. Each session is a separate peer.
type oddWeb struct {
	only oddServer // served instead of any other; zero for those of the corpus

	mu    sync.Mutex
	peers map[string]*oddSession
}

// oddSession is a session over HTTP.
type oddSession struct {
	*oddPeer
	// stream has the messages of an HTTP+SSE session or of a standalone stream. It is nil for others.
	stream chan string
}

func (w *oddWeb) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 3 {
		http.NotFound(out, r)
		return
	}
	server := w.only
	if server.oddRow == nil {
		server = oddNamed(parts[1])
	}
	if slashes := len(r.URL.Path) - len(strings.TrimRight(r.URL.Path, "/")); server.moves != 0 &&
		slashes < max(server.hops, 1) {
		out.Header().Set("Location", r.URL.Path+"/")
		out.WriteHeader(server.moves)
		return
	}
	if server.redirects(out, r) {
		return
	}
	switch {
	case parts[2] == "sse" && r.Method == http.MethodGet:
		w.listen(out, r, server)
	case parts[2] == "message" && r.Method == http.MethodPost:
		w.message(out, r)
	case parts[2] == "mcp" && r.Method == http.MethodPost:
		w.post(out, r, server)
	case parts[2] == "mcp" && r.Method == http.MethodGet && server.get == oddStandalone:
		_, session := w.session(r.Header.Get("Mcp-Session-Id"), server)
		out.Header().Set("Content-Type", "text/event-stream")
		session.write(out, r)
	case parts[2] == "mcp" && r.Method == http.MethodGet && server.get != "":
		oddGet(out, r, server.get)
	case r.Method == http.MethodDelete:
		out.WriteHeader(http.StatusNoContent)
	default:
		out.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// redirects answers a request with the redirect of its path. It returns false if the path is the
// last one.
func (s oddServer) redirects(out http.ResponseWriter, r *http.Request) bool {
	parts := strings.SplitN(r.URL.Path, "/", 5)
	at := &url.URL{Path: strings.Join(parts[:4], "/")}
	for _, to := range s.via {
		to = strings.NewReplacer("$AT", parts[3], "$QUERY", r.URL.RawQuery).Replace(to)
		if r.URL.Path == at.Path {
			out.Header().Set("Location", to)
			out.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}
		next, err := at.Parse(to)
		if err != nil {
			panic(err)
		}
		at = next
	}
	if strings.Trim(r.URL.Path, "/") == strings.Trim(at.Path, "/") {
		return false
	}
	http.NotFound(out, r)
	return true
}

// session finds a session, or makes a new one with another id.
func (w *oddWeb) session(id string, server oddServer) (string, *oddSession) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.peers[id]; s != nil {
		return id, s
	}
	if w.peers == nil {
		w.peers = map[string]*oddSession{}
	}
	id = fmt.Sprint("odd-", len(w.peers)+1)
	w.peers[id] = &oddSession{oddPeer: newOddPeer(server)}
	if server.over == oddSSE || server.get == oddStandalone {
		w.peers[id].stream = make(chan string, 1000)
	}
	return id, w.peers[id]
}

// rotate gives a session another id and returns it. It returns an empty string if there is no
// session with this id.
func (w *oddWeb) rotate(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.peers[id]
	if s == nil {
		return ""
	}
	w.peers[id] = nil
	id = fmt.Sprint("odd-", len(w.peers)+1)
	w.peers[id] = s
	return id
}

func (w *oddWeb) post(out http.ResponseWriter, r *http.Request, server oddServer) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	given := r.Header.Get("Mcp-Session-Id")
	if server.rotates && given != "" {
		if given = w.rotate(given); given == "" {
			out.WriteHeader(http.StatusNotFound)
			return
		}
	}
	id, session := w.session(given, server)
	if !server.sessionless {
		out.Header().Set("Mcp-Session-Id", id)
	}
	if server.refusesAnswers && isAnswer(body) {
		// as mcp-go 1.2
		http.Error(out, "Missing session ID for sampling response", http.StatusBadRequest)
		return
	}
	reply, ok := session.receive(body)
	if !ok {
		out.WriteHeader(http.StatusAccepted)
		return
	}
	if reply.onStream {
		session.accept(out, reply)
		return
	}
	defer session.sendStandalone(out, reply.streamed)
	if server.refusesAnswers && len(reply.before) > 0 { // it asks before its answer
		out.Header().Set("Content-Type", "text/event-stream")
		for _, line := range reply.before {
			fmt.Fprintf(out, "event: message\ndata: %s\n\n", line)
		}
		_ = http.NewResponseController(out).Flush()
		reply.before = nil
	}
	select {
	case <-time.After(reply.wait):
	case <-r.Context().Done():
		return
	}
	if len(reply.lines()) == 0 {
		<-r.Context().Done()
		return
	}
	if server.over == oddJSON || reply.status != 0 {
		out.Header().Set("Content-Type", "application/json")
		if reply.status != 0 {
			out.WriteHeader(reply.status)
		}
		reply.body(out, []byte(reply.text))
		return
	}
	out.Header().Set("Content-Type", "text/event-stream")
	var events strings.Builder
	for _, line := range reply.lines() {
		fmt.Fprintf(&events, "event: message\ndata: %s\n\n", line)
	}
	text := events.String()
	reply.body(out, []byte(text[:len(text)-min(reply.unended, 2)]))
}

// body writes an HTTP body in the reply's encoding.
func (r oddReply) body(out http.ResponseWriter, text []byte) {
	if r.bom {
		text = append([]byte("\xef\xbb\xbf"), text...)
	}
	if r.encoding == "" {
		_, _ = out.Write(text) // the client may be gone
		return
	}
	out.Header().Set("Content-Encoding", r.encoding)
	if r.encoding == "utf-8" { // which is no coding
		_, _ = out.Write(text)
		return
	}
	var coded bytes.Buffer
	var to io.WriteCloser
	switch r.encoding {
	case "deflate":
		to = zlib.NewWriter(&coded)
	case "br":
		to = brotli.NewWriter(&coded)
	case "zstd":
		to, _ = zstd.NewWriter(&coded) // the options are valid
	default:
		to = gzip.NewWriter(&coded)
	}
	_, _ = to.Write(text) // to memory
	_ = to.Close()
	_, _ = out.Write(coded.Bytes())
}

// listen serves the stream of an HTTP+SSE session.
func (w *oddWeb) listen(out http.ResponseWriter, r *http.Request, server oddServer) {
	id, session := w.session("", server)
	out.Header().Set("Content-Type", "text/event-stream")
	at := strings.Join(strings.SplitN(r.URL.Path, "/", 4)[:3], "/") + "/message?session=" + id
	fmt.Fprintf(out, "%sevent: endpoint\ndata: %s\n\n", server.opens, at)
	session.write(out, r)
}

// write writes the messages of a stream until its client is gone.
func (s *oddSession) write(out http.ResponseWriter, r *http.Request) {
	for {
		_ = http.NewResponseController(out).Flush()
		select {
		case line := <-s.stream:
			fmt.Fprintf(out, "event: message\ndata: %s\n\n", line)
		case <-r.Context().Done():
			return
		}
	}
}

// sendStandalone writes messages to the standalone stream, after the answer to a POST.
func (s *oddSession) sendStandalone(out http.ResponseWriter, lines []string) {
	if len(lines) > 0 {
		_ = http.NewResponseController(out).Flush()
	}
	for _, line := range lines {
		s.stream <- line
	}
}

// asideTime is the delay between an answer on the standalone stream and the response to its
// request.
const asideTime = 200 * time.Millisecond

// accept answers 202. If the reply has no delay, 202 comes asideTime after the reply on the
// standalone stream, and otherwise before the reply. If both came at the same time, the client
// would read them in random order.
func (s *oddSession) accept(out http.ResponseWriter, reply oddReply) {
	if reply.wait == 0 {
		for _, line := range reply.lines() {
			s.stream <- line
		}
		time.Sleep(asideTime)
		out.WriteHeader(http.StatusAccepted)
		return
	}
	out.WriteHeader(http.StatusAccepted)
	time.AfterFunc(reply.wait, func() {
		for _, line := range reply.lines() {
			s.stream <- line
		}
	})
}

// isAnswer reports whether a message is an answer.
func isAnswer(body []byte) bool {
	var m oddMessage
	return json.Unmarshal(body, &m) == nil && m.Method == "" && m.ID != nil
}

// message accepts one message of an HTTP+SSE session.
func (w *oddWeb) message(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	session := w.peers[r.URL.Query().Get("session")]
	w.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil || session == nil {
		out.WriteHeader(http.StatusNotFound)
		return
	}
	out.WriteHeader(http.StatusAccepted)
	if reply, ok := session.receive(body); ok {
		time.AfterFunc(reply.wait, func() {
			for _, line := range reply.lines() {
				session.stream <- line
			}
		})
	}
}
