package soak

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// Pauses of a client.
const (
	betweenCalls = 300 * time.Millisecond
	afterBroken  = 500 * time.Millisecond // before the next call
	longestPause = 5 * time.Second        // bounds the pause that an error asks for
)

// attempts bounds how often a call is sent if its errors say that it was not executed.
const attempts = 3

// client calls tools of one tenant, one after the other. If server is set, it uses the endpoint
// of that server, otherwise the endpoint of all servers.
type client struct {
	name   string
	sdk    sdk
	tenant string
	server string
	tools  []tool
	base   string // URL of the host

	open    session
	reopens int
}

// tool is a tool to call. Its arguments hold the nonce, and so must its answer.
type tool struct {
	server, name string
	arguments    func(nonce string) map[string]any
}

// path returns the endpoint of the client.
func (c *client) path() string {
	if c.server == "" {
		return "/t/" + c.tenant + "/mcp"
	}
	return "/t/" + c.tenant + "/" + c.server + "/mcp"
}

// toolName returns the name of a tool at the client's endpoint.
func (c *client) toolName(t tool) string {
	if c.server == "" {
		return t.server + "__" + t.name
	}
	return t.name
}

// run makes calls until end is closed, and records each attempt. The first calls, one for each
// tool, were made before.
func (c *client) run(end <-chan struct{}, record func(outcome)) {
	for n := len(c.tools); ; n++ {
		select {
		case <-end:
			c.closeSession()
			return
		case <-time.After(betweenCalls):
		}
		c.callOnce(n, record)
	}
}

// callOnce makes one call. It sends the call again if an error allows that.
func (c *client) callOnce(n int, record func(outcome)) {
	t := c.tools[n%len(c.tools)]
	nonce := fmt.Sprintf("n-%s-%d-n", c.name, n)
	for range attempts {
		o := outcome{client: c.name, nonce: nonce, tenant: c.tenant, server: t.server, sent: time.Now()}
		r := c.attempt(t, nonce)
		o.ended, o.text, o.err, o.broken, o.timedOut = time.Now(), r.Text, r.Error, r.Broken, r.TimedOut
		if o.err != nil {
			o.broken, o.timedOut = "", false
		}
		record(o)
		if o.broken != "" {
			time.Sleep(afterBroken)
			return
		}
		if o.err == nil {
			return
		}
		done, _ := o.err.fact(executed)
		if again, _ := o.err.fact(retryable); done || !again {
			return
		}
		time.Sleep(min(longestPause,
			max(betweenCalls, time.Duration(o.err.Data.RetryAfterMs)*time.Millisecond)))
	}
}

// attempt sends the call. It leaves a session that gave no answer or that the host has lost. The
// next attempt then opens another session.
func (c *client) attempt(t tool, nonce string) reply {
	if c.open == nil {
		opened, r := c.sdk.open(c.base+c.path(), keyOf(c.tenant))
		if opened == nil {
			return r
		}
		c.open = opened
		c.reopens++
	}
	r := c.open.call(c.toolName(t), t.arguments(nonce))
	if r.Error == nil && r.Broken != "" || r.Error != nil && r.Error.reason() == "session_gone" {
		c.closeSession()
	}
	return r
}

func (c *client) closeSession() {
	if c.open != nil {
		c.open.close()
		c.open = nil
	}
}

// record collects outcomes.
type record struct {
	mu  sync.Mutex
	all []outcome
}

func (r *record) add(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, o)
}

// startNode runs the client of a generation of the TypeScript SDK until the end of the test.
func startNode(t *testing.T, generation string) *nodeSDK {
	t.Helper()
	command := exec.Command("node", mcptest.ScriptFile(t, "testdata/soak.mjs"), generation)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	n := &nodeSDK{in: in, waiting: map[int]chan reply{}}
	ended := make(chan error, 1)
	go func() { // ends with the process
		n.read(out)
		_, _ = io.Copy(io.Discard, out)
		ended <- command.Wait()
	}()
	t.Cleanup(func() {
		select {
		case err := <-ended:
			t.Errorf("the TypeScript client %s ended by itself: %v", generation, err)
		default:
			_ = command.Process.Kill()
			<-ended
		}
	})
	return n
}
