// Package server is an MCP server on standard input and output that experiments break hosts with: it gives back, sleeps and counts, and does
// wrong whatever it is told to. It speaks the revisions that have a handshake, is there within milliseconds, and knows no host: it is told to
// misbehave by a call of one of its tools, as any client could make it.
package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Options say where a server is.
type Options struct {
	In  io.Reader
	Out io.Writer
	// State is a folder for what outlives the process; empty keeps nothing.
	State string
}

// maxLine bounds a message of the client. Hosts send no longer ones than they take.
const maxLine = 16 << 20

// maxCalls bounds the calls under way at once; what is beyond waits to be read.
const maxCalls = 1024

// Serve serves one client until that is gone. Its error is that of reading.
func Serve(ctx context.Context, o Options) error {
	s := &server{Options: o}
	s.begin()
	ctx, stop := context.WithCancel(ctx)
	defer s.calls.Wait()
	defer stop()
	lines, ended := make(chan []byte), make(chan error, 1)
	go func() { ended <- read(ctx, o.In, lines) }() // ends with its input, or with the process
	told := ctx.Done()
	free := make(chan struct{}, maxCalls)
	for {
		select {
		case line := <-lines:
			var m message
			if json.Unmarshal(line, &m) != nil || m.Method == "" || m.ID == nil {
				continue // a notification, or nothing that could be answered
			}
			free <- struct{}{}
			s.calls.Go(func() {
				defer func() { <-free }()
				s.answer(ctx, m)
			})
		case err := <-ended:
			s.resist()
			return err
		case <-told:
			if f := s.current(); f.Name != stubborn.Name || !f.on(time.Now()) {
				return nil
			}
			told = nil
		}
	}
}

// resist waits as long as the server is to be stubborn.
func (s *server) resist() {
	if f := s.current(); f.Name == stubborn.Name {
		time.Sleep(time.Until(f.Until))
	}
}

// read reads lines until there are no more.
func read(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		select {
		case lines <- bytes.Clone(scanner.Bytes()):
		case <-ctx.Done():
			return nil
		}
	}
	return scanner.Err()
}

// server is one that is running.
type server struct {
	Options
	calls  sync.WaitGroup
	counts counter

	mu sync.Mutex // guards Out

	wrong  sync.Mutex // guards what is below
	fault  Fault      // what was switched on last
	struck int        // how often it has struck, where that is bounded
}

// message is a request of the client.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}

// reply is what a request is answered with: one of the two.
type reply struct {
	Result any
	Error  *failure
}

// failure is an error of JSON-RPC.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (s *server) answer(ctx context.Context, m message) {
	before := s.current()
	r := s.handle(ctx, m)
	if f := s.current(); f != before && asks(m) { // whoever switches a fault on is answered as it should be
		s.write(line(m.ID, r))
		if bad, ok := find(f.Name); ok && bad.begin != nil {
			bad.begin(ctx, s, f)
		}
		return
	}
	if bad, f, ok := s.take(m.Method); ok && !asks(m) {
		bad.reply(ctx, s, f, m, r)
		return
	}
	s.write(line(m.ID, r))
}

// line is a reply as it is sent.
func line(id jsontext.Value, r reply) []byte {
	head := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	if r.Error != nil {
		return append(append(append(head, `,"error":`...), encode(r.Error)...), "}\n"...)
	}
	return append(append(append(head, `,"result":`...), encode(r.Result)...), "}\n"...)
}

// write sends bytes at once or not at all. A client that is gone is noticed by the end of what it sends.
func (s *server) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.Out.Write(b)
}

// object is a JSON object.
type object = map[string]any

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("server: " + err.Error()) // all of it is ours
	}
	return b
}

func (s *server) handle(ctx context.Context, m message) reply {
	switch m.Method {
	case "initialize":
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(m.Params, &p)
		return reply{Result: object{
			"protocolVersion": revision(p.ProtocolVersion), "capabilities": object{"tools": object{"listChanged": true}, "logging": object{}},
			"serverInfo": object{"name": "chaos", "version": "1"},
		}}
	case "ping", "logging/setLevel":
		return reply{Result: object{}}
	case "tools/list":
		return reply{Result: object{"tools": declared()}}
	case "tools/call":
		return s.call(ctx, m.Params)
	}
	return reply{Error: &failure{-32601, fmt.Sprintf("no method %q", m.Method)}}
}

// revisions are those that are spoken, the latest first.
var revisions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// revision is what is agreed on with a client that asks for one.
func revision(asked string) string {
	for _, r := range revisions {
		if r == asked {
			return r
		}
	}
	return revisions[0]
}

// pause waits, unless the client is gone first.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
