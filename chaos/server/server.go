// Package server is an MCP server that experiments use to break hosts. It echoes, sleeps and
// counts, and misbehaves in the ways that it is told. On standard input and output it speaks the
// revisions that have a handshake. Behind a URL it speaks the later revision too, in which it
// announces no changes. It is ready within milliseconds and knows nothing about hosts: a call of
// one of its tools, which any client could make, tells it to misbehave.
package server

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Options are the options of Serve.
type Options struct {
	In  io.Reader
	Out io.Writer
	// State is the folder for state that outlives the process; empty keeps nothing.
	State string
}

// maxLine bounds a message of the client, in bytes. Hosts send no longer messages than they accept.
const maxLine = 16 << 20

// maxCalls bounds the concurrent calls. Further input waits to be read.
const maxCalls = 1024

// Serve serves one client until the client is gone or ctx ends. It returns the error of reading.
func Serve(ctx context.Context, o Options) error {
	s := &server{Options: o, memory: &memory{}}
	s.send = s.write
	s.resume()
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
				continue // a notification, or a message that cannot be answered
			}
			free <- struct{}{}
			answer := s.prepare(m)
			s.calls.Go(func() {
				defer func() { <-free }()
				answer(ctx)
			})
		case err := <-ended:
			s.delayEnd()
			return err
		case <-told:
			if f := s.current(); f.Name != stubborn.Name || !f.on(time.Now()) {
				return nil
			}
			told = nil
		}
	}
}

// delayEnd delays the end of the server while the fault stubborn is on.
func (s *server) delayEnd() {
	if f := s.current(); f.Name == stubborn.Name {
		time.Sleep(time.Until(f.Until))
	}
}

// read passes on lines until the input or the context ends.
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

// server is the server from the view of one peer: the client of a pipe, or one request to a URL.
type server struct {
	Options
	*memory
	calls    sync.WaitGroup
	send     func(line []byte) // sends a correct answer
	exchange *exchange         // methods a server behind a URL; nil on a pipe

	mu sync.Mutex // guards Out
}

// memory is the state that the server shares among all peers.
type memory struct {
	counts counter

	faultMu sync.Mutex // guards the fields below
	fault   Fault      // the fault that was switched on last
	struck  int        // how often it has struck
}

// prepare decides how a request is answered and returns a function that answers it, either
// correctly or in the way of the fault that is on when the request arrives. Requests are prepared
// in the order of arrival, so that a client that has switched a fault off gets correct answers to
// all later requests. A request that switches a fault on or off is itself answered correctly.
func (s *server) prepare(m message) func(context.Context) {
	if callsMisbehave(m) {
		return func(ctx context.Context) {
			before := s.current()
			s.send(encodeLine(m.ID, s.handle(ctx, m)))
			if f := s.current(); f != before {
				s.faultChanged(ctx, before, f)
			}
		}
	}
	bad, f, ok := s.claimStrike(m.Method)
	return func(ctx context.Context) {
		r := s.handle(ctx, m)
		if ok {
			bad.sendReply(ctx, s, f, m, r)
			return
		}
		s.send(encodeLine(m.ID, r))
	}
}

// faultChanged begins the fault that was switched on. It announces the list of tools if the old or
// the new fault changes that list.
func (s *server) faultChanged(ctx context.Context, before, f Fault) {
	bad, _ := find(f.Name)
	was, _ := find(before.Name)
	s.unasked(ctx, func(ctx context.Context, s *server) {
		if slices.Contains(was.methods, "tools/list") || slices.Contains(bad.methods, "tools/list") {
			s.announce()
		}
		if bad.begin != nil {
			bad.begin(ctx, s, f)
		}
	})
}

// unasked does something that is not part of an answer. With one client it does so at once.
func (s *server) unasked(ctx context.Context, do func(context.Context, *server)) {
	if s.exchange != nil {
		s.exchange.web.unasked(do)
		return
	}
	do(ctx, s)
}

// announce notifies the client that the list of tools has changed.
func (s *server) announce() {
	s.write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"))
}

// write sends bytes in one piece. It ignores errors: the end of the client's input shows that the
// client is gone.
func (s *server) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.Out.Write(b)
}
