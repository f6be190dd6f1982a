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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/protocol"
)

// oddPeer is one connection of an odd server. It is safe for concurrent use.
type oddPeer struct {
	server   string
	script   oddScript
	defaults oddScript

	mu    sync.Mutex
	count map[string]int       // requests so far, by key of the script
	heard []string             // the methods of all received messages
	asked map[string]time.Time // times of the questions without an answer, by id
}

func newOddPeer(s oddServer) *oddPeer {
	return &oddPeer{
		server: s.name, script: s.says, defaults: s.defaults(), count: map[string]int{},
		asked: map[string]time.Time{},
	}
}

// oddMessage has the members of a message that a peer reads.
type oddMessage struct {
	ID     json.RawMessage
	Method string
	Params struct{ Name, URI, Cursor, ProtocolVersion string }
}

// receive reads a message. Ok is false if the message gets no reply.
func (p *oddPeer) receive(data []byte) (r oddReply, ok bool) {
	var m oddMessage
	if json.Unmarshal(data, &m) != nil {
		return oddReply{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Method == "" {
		delete(p.asked, string(m.ID))
		return oddReply{}, false
	}
	p.heard = append(p.heard, m.Method)
	if m.ID == nil {
		return oddReply{}, false
	}
	r = p.next(m)
	own := slices.DeleteFunc(slices.Clone(p.heard), protocol.IsKnownMethod)
	fill := strings.NewReplacer("$ID", string(m.ID), "$HEARD", quoted(p.heard), "$OWN", quoted(own),
		"$SERVER", p.server,
		"$LATE", strconv.Itoa(p.late(time.Now())), "$N", strconv.Itoa(len(p.heard)))
	r.text = fill.Replace(r.text)
	r.before, r.after = p.asks(fill, r.before), p.asks(fill, r.after)
	return r, true
}

// asks fills in the messages beside a reply, and records those that are questions.
func (p *oddPeer) asks(fill *strings.Replacer, lines []string) (filled []string) {
	for _, line := range lines {
		line = fill.Replace(line)
		filled = append(filled, line)
		var m oddMessage
		if json.Unmarshal([]byte(line), &m) == nil && m.Method != "" && m.ID != nil {
			p.asked[string(m.ID)] = time.Now()
		}
	}
	return filled
}

// late returns how many questions have had no answer for a second.
func (p *oddPeer) late(now time.Time) (n int) {
	for _, at := range p.asked {
		if now.Sub(at) > time.Second {
			n++
		}
	}
	return n
}

// quoted formats methods for use inside a JSON string.
func quoted(methods []string) string {
	text, _ := json.Marshal(methods)
	return strings.ReplaceAll(string(text), `"`, `'`)
}

// next returns the reply to a request.
func (p *oddPeer) next(m oddMessage) oddReply {
	for _, before := range p.heard[:len(p.heard)-1] {
		if replies := p.script[m.Method+" after "+before]; len(replies) > 0 {
			return replies[0]
		}
	}
	for _, script := range []oddScript{p.script, p.defaults} {
		for _, key := range []string{m.Method + " " + m.Params.Name + m.Params.URI + m.Params.Cursor +
			m.Params.ProtocolVersion, m.Method} {
			if replies := script[key]; len(replies) > 0 {
				n := p.count[key]
				p.count[key]++
				return replies[min(n, len(replies)-1)]
			}
		}
	}
	return failure(-32601, "method not found")
}

// lines returns the messages of a reply, in order.
func (r oddReply) lines() (all []string) {
	all = append(all, r.before...)
	if r.text != "" {
		all = append(all, r.text)
	}
	return append(all, r.after...)
}

// oddSocket listens for programs that relay their standard input and output. The first line of each
// connection is the name of its server.
func oddSocket(t *testing.T) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "odd-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() { // owner: the test: the goroutine ends with the listener
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { // owner: the program: the goroutine ends with the connection
				defer connection.Close()
				serveOdd(connection)
			}()
		}
	}()
	return listener.Addr().String()
}

// serveOdd serves on a connection. Delayed replies have their own goroutines, so that they do not
// delay other replies.
func serveOdd(out io.ReadWriter) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return
	}
	p := newOddPeer(oddNamed(lines.Text()))
	var mu sync.Mutex // keeps the messages of a reply together
	var open sync.WaitGroup
	for lines.Scan() {
		r, ok := p.receive(bytes.Clone(lines.Bytes()))
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
		if r.ends {
			break
		}
	}
	open.Wait()
}
