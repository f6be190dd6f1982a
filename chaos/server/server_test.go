package server

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

func TestMain(m *testing.M) {
	if state, ok := os.LookupEnv(asServer); ok {
		serveHere(state)
		return
	}
	mcptest.Main(m)
}

// client is the client of a server that runs in this process.
type client struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

func reading(t *testing.T, in io.WriteCloser, out io.Reader) *client {
	return &client{t, in, bufio.NewReader(out)}
}

func open(t *testing.T, state string) *client {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	c, end := reading(t, to, from), make(chan error, 1)
	go func() {
		end <- Serve(t.Context(), Options{In: in, Out: out, State: state})
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = to.Close()
		go func() { _, _ = io.Copy(io.Discard, c.out) }() // drains late output
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *client) send(id, method, params string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id,
		method, params); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) call(id, tool, args string) {
	c.t.Helper()
	c.send(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

// next returns the next line that the server sends.
func (c *client) next() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// hears fails the test unless the next line contains the text.
func (c *client) hears(text string) {
	c.t.Helper()
	if got := c.next(); !strings.Contains(got, text) {
		c.t.Errorf("%.300s, without %s", got, text)
	}
}

func TestServer(t *testing.T) {
	c := open(t, "")
	for _, r := range []struct{ method, params, want string }{
		{"initialize", `{"protocolVersion":"2025-06-18"}`, `"protocolVersion":"2025-06-18"`},
		{"initialize", `{"protocolVersion":"2099-01-01"}`, `"protocolVersion":"2025-11-25"`},
		{"ping", `{}`, `"result":{}`},
		{"tools/list", `{}`, `"name":"echo"`},
		{"server/discover", `{}`, `"code":-32601`},
		{"tools/call", `{"name":"echo","arguments":{"message":"a\"b"}}`, `"text":"a\"b"`},
		{"tools/call", `{"name":"sleep","arguments":{"ms":1}}`, `"text":"1ms"`},
		{"tools/call", `{"name":"sleep","arguments":{"ms":-1}}`, `"isError":true`},
		{"tools/call", `{"name":"none"}`, `"code":-32602`},
		{"tools/call", `{"name":"count"}`, `"text":"1"`},
		{"tools/call", `{"name":"count"}`, `"text":"2"`},
	} {
		c.send(`"x"`, r.method, r.params)
		got := c.next()
		if !strings.Contains(got, r.want) || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"x",`) {
			t.Errorf("%s %s: %s", r.method, r.params, got)
		}
	}
}

// A call does not delay other calls, and ends when the client leaves.
func TestCallsAreServedAtOnce(t *testing.T) {
	c := open(t, "")
	c.call("1", "sleep", `{"ms":3600000}`)
	c.call("2", "echo", `{"message":"quick"}`)
	c.hears("quick")
}

// A new process continues the count of the previous one.
func TestCountsOutliveTheProcess(t *testing.T) {
	state := t.TempDir()
	for i := range 2 {
		c := open(t, state)
		c.call("1", "count", `{}`)
		c.hears(fmt.Sprintf(`"text":"%d"`, i+1))
	}
}

// An effect is kept with its name, across processes, until it is reported and forgotten. An effect
// that happened twice is reported by name.
func TestEffectsOutliveTheProcess(t *testing.T) {
	state := t.TempDir()
	for _, effects := range [][]string{{"n1-1", "n1-2"}, {"n1-2", "n2-1"}} {
		c := open(t, state)
		for _, e := range effects {
			c.call("1", "count", fmt.Sprintf(`{"effect":%q}`, e))
			c.hears(fmt.Sprintf(`"text":%q`, e))
		}
	}
	c := open(t, state)
	for _, test := range []struct{ args, want string }{
		{`{"of":"n1"}`, `{\"done\":3,\"different\":2,\"twice\":[\"n1-2\"]}`},
		{`{"of":"n2","forget":true}`, `{\"done\":1,\"different\":1,\"twice\":[]}`},
		{`{"of":"n2"}`, `{\"done\":0,\"different\":0,\"twice\":[]}`},
		{`{"of":"../x"}`, `"isError":true`},
		{`{"effect":"n1/../x-1"}`, `"isError":true`},
	} {
		c.call("1", "count", test.args)
		c.hears(test.want)
	}
	c = open(t, "")
	c.call("1", "count", `{"effect":"n1-1"}`)
	c.hears("kept nowhere")
}

// A call with a progress token gets a notification for each step before its answer. A call without
// a token gets none.
func TestStepsTellOfThemselves(t *testing.T) {
	c := open(t, "")
	c.send("1", "tools/call",
		`{"name":"steps","arguments":{"message":"done","steps":2,"ms":1},"_meta":{"progressToken":"p"}}`)
	for _, want := range []string{`"progressToken":"p","progress":1,"total":2`,
		`"progressToken":"p","progress":2,"total":2`, `"id":1,"result"`} {
		c.hears(want)
	}
	c.call("2", "steps", `{"message":"done","steps":2}`)
	c.hears(`"id":2,"result"`)
	c.call("3", "steps", `{"steps":-1}`)
	c.hears(`"isError":true`)
}
