package endings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"mcpd/internal/mcptest"
)

// nodeSession opens a session with a client of a TypeScript SDK. All clients of one generation
// share a Node process. In the full form only clients of one kind share it, because a busy process
// is slow to notice changes of its connections.
func (o *opener) nodeSession(k kind, name string) (session, error) {
	o.t.Helper()
	process := fullOrShort(k.String(), k.generation)
	node := o.nodes[process]
	if node == nil {
		var env []string
		if o.ca != "" {
			env = append(env, "NODE_EXTRA_CA_CERTS="+o.ca)
		}
		node = mcptest.NewNode(o.t, k.generation, env...)
		o.nodes[process] = node
	}
	way := mcptest.ServerAddress{Legacy: k.revision == legacy}
	switch k.over {
	case overHTTP:
		way.URL = o.url + "/mcp"
	case overSSE:
		way.URL, way.SSE = o.url+"/sse", true
	default:
		bridge := o.bridge()
		way.Command, way.Args, way.Cwd = bridge.Path, bridge.Args[1:], bridge.Dir
		way.Env = variables(bridge.Env)
	}
	s := nodeSession{node, name, k.callTime()}
	got, err := s.do("open", map[string]any{"way": way, "mute": true,
		"timeout": openTime.Milliseconds()}, openTime)
	// Version 1 has only one era and seldom reports its revision.
	if err == nil && got != k.revision && k.generation != "1" {
		err = fmt.Errorf("revision %q, want %s", got, k.revision)
	}
	return s, err
}

// openTime limits the opening of a session.
const openTime = 30 * time.Second

// nodeSession is a session in a Node process.
type nodeSession struct {
	node   *mcptest.Node
	name   string
	within time.Duration // limit of a call
}

func (s nodeSession) call(tool string, arguments map[string]any) (string, error) {
	params := map[string]any{"name": tool, "arguments": arguments}
	return s.do("call", map[string]any{"params": params, "timeout": s.within.Milliseconds()}, s.within)
}

func (s nodeSession) close() { _, _ = s.do("close", nil, closeTime) }

// grace is how much longer than the SDK's own time-out a test waits for the SDK.
const grace = 5 * time.Second

// do runs a command in the Node process and returns the text that the SDK answers.
func (s nodeSession) do(label string, members map[string]any, within time.Duration) (text string,
	err error) {
	select {
	case o := <-s.node.Do(label, s.name, members):
		// TypeScript SDK 1 reports the HTTP status only here.
		if e := o.Error; e != nil && e.Code >= 100 && e.Code < 600 {
			return "", fmt.Errorf("%s (HTTP %d)", o.Broken, e.Code)
		}
		if o.Broken != "" {
			return "", errors.New(o.Broken)
		}
		if len(o.Value) == 0 {
			return "", nil
		}
		return text, json.Unmarshal(o.Value, &text)
	case <-time.After(within + grace):
		return "", fmt.Errorf("the SDK says nothing within %v", within+grace)
	}
}

// variables returns the variables of an environment by name.
func variables(env []string) map[string]string {
	all := map[string]string{}
	for _, one := range env {
		name, value, _ := strings.Cut(one, "=")
		all[name] = value
	}
	return all
}
