package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpd/protocol"
)

// serveOddly makes the test binary an odd server over stdio. Its value is the server's name.
const serveOddly = "INTEROP_SERVE_ODD"

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
	Params struct{ Name, URI, Cursor string }
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
	for _, script := range []says{p.script, p.defaults} {
		for _, key := range []string{m.Method + " " + m.Params.Name + m.Params.URI + m.Params.Cursor, m.Method} {
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

// serveOdd serves on standard input and output. Each request is answered by itself, so that one that
// waits holds up no other.
func serveOdd(name string, in io.Reader, out io.Writer) error {
	p := newOddPeer(oddNamed(name))
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
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
	return lines.Err()
}
