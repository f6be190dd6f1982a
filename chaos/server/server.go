// Package server is an MCP server that experiments break hosts with: it gives back, sleeps and counts, and does wrong whatever it is told to.
// On standard input and output it speaks the revisions that have a handshake; behind a URL it speaks the later one too, and announces nothing
// there. It is there within milliseconds and knows no host: it is told to misbehave by a call of one of its tools, as any client could make it.
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
	s := &server{Options: o, memory: &memory{}}
	s.whole = s.write
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
				continue // a notification, or nothing that could be answered
			}
			free <- struct{}{}
			answer := s.prepare(m)
			s.calls.Go(func() {
				defer func() { <-free }()
				answer(ctx)
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

// server is one as whoever speaks to it has it: the client of a pipe, or one request to a URL.
type server struct {
	Options
	*memory
	calls sync.WaitGroup
	whole func(line []byte) // sends an answer as it should be sent
	over  *exchange         // of a server behind a URL; nil on a pipe

	mu sync.Mutex // guards Out
}

// memory is what a server remembers, whoever speaks to it.
type memory struct {
	counts counter

	wrong  sync.Mutex // guards what is below
	fault  Fault      // what was switched on last
	struck int        // how often it has struck
}

// prepare decides how a request is answered, and returns what answers it: as it should be, or in the way of the fault that is switched on when
// it comes. Requests are prepared in their order, so whoever switches a fault off has right answers to all that is sent from then on. Who
// switches one on or off is answered as it should be.
func (s *server) prepare(m message) func(context.Context) {
	if asks(m) {
		return func(ctx context.Context) {
			before := s.current()
			s.whole(line(m.ID, s.handle(ctx, m)))
			if f := s.current(); f != before {
				s.turned(ctx, before, f)
			}
		}
	}
	bad, f, ok := s.take(m.Method)
	return func(ctx context.Context) {
		r := s.handle(ctx, m)
		if ok {
			bad.reply(ctx, s, f, m, r)
			return
		}
		s.whole(line(m.ID, r))
	}
}

// turned begins what was switched on. Lists that are others then, or are what they were again, are announced.
func (s *server) turned(ctx context.Context, before, f Fault) {
	bad, _ := find(f.Name)
	was, _ := find(before.Name)
	s.beside(ctx, func(ctx context.Context, s *server) {
		if slices.Contains(was.of, "tools/list") || slices.Contains(bad.of, "tools/list") {
			s.announce()
		}
		if bad.begin != nil {
			bad.begin(ctx, s, f)
		}
	})
}

// beside does what is not part of an answer: now, where there is one client.
func (s *server) beside(ctx context.Context, do func(context.Context, *server)) {
	if s.over != nil {
		s.over.web.beside(do)
		return
	}
	do(ctx, s)
}

// announce says that the list of tools has changed.
func (s *server) announce() {
	s.write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"))
}

// write sends bytes at once or not at all. A client that is gone is noticed by the end of what it sends.
func (s *server) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.Out.Write(b)
}
