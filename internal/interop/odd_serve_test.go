package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/protocol"
)

// oddPeer is one connection of an odd server. It is safe for concurrent use.
type oddPeer struct {
	server   string
	script   says
	defaults says

	mu    sync.Mutex
	count map[string]int // requests so far, by key of the script
	heard []string       // the methods of all messages
}

func newOddPeer(s oddServer) *oddPeer {
	return &oddPeer{server: s.name, script: s.says, defaults: s.defaults(), count: map[string]int{}}
}

// oddMessage is what a peer reads of a message.
type oddMessage struct {
	ID     json.RawMessage
	Method string
	Params struct{ Name, URI, Cursor, ProtocolVersion string }
}

// take reads a message. Ok is false for one that gets no reply.
func (p *oddPeer) take(data []byte) (r oddReply, ok bool) {
	var m oddMessage
	if json.Unmarshal(data, &m) != nil || m.Method == "" {
		return oddReply{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, m.Method)
	if m.ID == nil {
		return oddReply{}, false
	}
	r = p.next(m)
	own := slices.DeleteFunc(slices.Clone(p.heard), protocol.Known)
	fill := strings.NewReplacer("$ID", string(m.ID), "$HEARD", quoted(p.heard), "$OWN", quoted(own), "$SERVER", p.server)
	r.text = fill.Replace(r.text)
	return r, true
}

// quoted are methods for a text in JSON.
func quoted(methods []string) string {
	text, _ := json.Marshal(methods)
	return strings.ReplaceAll(string(text), `"`, `'`)
}

// next is the reply to a request.
func (p *oddPeer) next(m oddMessage) oddReply {
	for _, before := range p.heard[:len(p.heard)-1] {
		if replies := p.script[m.Method+" after "+before]; len(replies) > 0 {
			return replies[0]
		}
	}
	for _, script := range []says{p.script, p.defaults} {
		for _, key := range []string{m.Method + " " + m.Params.Name + m.Params.URI + m.Params.Cursor + m.Params.ProtocolVersion, m.Method} {
			if replies := script[key]; len(replies) > 0 {
				n := p.count[key]
				p.count[key]++
				return replies[min(n, len(replies)-1)]
			}
		}
	}
	return failure(-32601, "method not found")
}

// lines are the messages of a reply, in order.
func (r oddReply) lines() (all []string) {
	all = append(all, r.before...)
	if r.text != "" {
		all = append(all, r.text)
	}
	return append(all, r.after...)
}

// oddSocket listens for programs that relay their standard input and output, which begin with the
// name of the server that they are.
func oddSocket(t *testing.T) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "odd-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() { // owner: the test: it ends with the listener
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { // owner: the program: it ends with the connection
				defer connection.Close()
				serveOdd(connection)
			}()
		}
	}()
	return listener.Addr().String()
}

// serveOdd serves on a connection. Each request is answered by itself, so that one that waits holds
// up no other.
func serveOdd(out io.ReadWriter) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return
	}
	p := newOddPeer(oddNamed(lines.Text()))
	var mu sync.Mutex // one message is written as a whole
	var open sync.WaitGroup
	for lines.Scan() {
		r, ok := p.take(bytes.Clone(lines.Bytes()))
		if !ok {
			continue
		}
		write := func() {
			time.Sleep(r.wait)
			mu.Lock()
			defer mu.Unlock()
			for _, line := range r.lines() {
				fmt.Fprintln(out, line)
			}
		}
		if r.wait == 0 {
			write()
		} else {
			open.Go(write)
		}
	}
	open.Wait()
}
