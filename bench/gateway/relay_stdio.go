package gateway

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"

	"mcpd/bench/kit"
	"mcpd/bench/subject"
	"mcpd/protocol/jsonrpc"
)

// relayStdio does the least that a gateway to a program can do: it accepts HTTP, rewrites ids, and
// shares one child. Each caller writes to the child's input itself, and one reader wakes the
// callers.
type relayStdio struct {
	// writing is held while a caller writes to the child. The write may block until the reader has
	// read.
	writing sync.Mutex
	in      *os.File

	mu    sync.Mutex // guards the fields below
	ids   uint64
	waits map[jsonrpc.ID]chan jsonrpc.Message
}

// serveRelayStdio starts the child: the echo server of the eras in its argument. The child ends
// with the relay, by the end of its input.
func serveRelayStdio(_ context.Context, argument string) (string, error) {
	program, args, err := kit.RoleCommand(subject.EchoStdio, argument)
	if err != nil {
		return "", err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return "", err
	}
	child := exec.Command(program, args...)
	child.Stdin, child.Stderr = theirs, os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := child.Start(); err != nil {
		return "", err
	}
	_ = theirs.Close() // the child has its own copy
	r := &relayStdio{in: ours, waits: map[jsonrpc.ID]chan jsonrpc.Message{}}
	go func() { // owner: the process, which ends with it
		err := r.read(bufio.NewReaderSize(out, 64<<10))
		fmt.Fprintln(os.Stderr, "bench: relay: the child has ended:", err)
		os.Exit(1)
	}()
	return subject.Listen(relayStdioRole, "", r)
}

func (r *relayStdio) read(out *bufio.Reader) error {
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			return err
		}
		m, err := jsonrpc.Decode(line[:len(line)-1], jsonrpc.Limits{Bytes: subject.MaxMessage})
		if err != nil {
			return err
		}
		r.mu.Lock()
		wait := r.waits[m.ID]
		delete(r.waits, m.ID)
		r.mu.Unlock()
		if wait != nil {
			wait <- m
		}
	}
}

// ServeHTTP relays one message.
func (r *relayStdio) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	m, ok := subject.ReadRequest(w, req)
	if !ok {
		return
	}
	id, answer := m.ID, make(chan jsonrpc.Message, 1)
	r.mu.Lock()
	r.ids++
	m.ID = jsonrpc.IntID(r.ids)
	r.waits[m.ID] = answer
	r.mu.Unlock()
	line := append(m.Append(make([]byte, 0, m.Size()+1)), '\n')
	r.writing.Lock()
	_, err := r.in.Write(line)
	r.writing.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	got := <-answer
	got.ID = id
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "relay")
	}
	subject.WriteMessage(w, got)
}
