//go:build !race

package server_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"mcpd/actors/session"
	"mcpd/protocol/jsonrpc"
)

// outcome is a sink that records only whether an answer came.
type outcome struct{ answered bool }

func (*outcome) Send(jsonrpc.Message) error { return nil }

func (o *outcome) Finish(m jsonrpc.Message) bool {
	o.answered = len(m.Result) > 0
	return true
}

// A call allocates no more objects than this, from its bytes to its outcome: in the session, the
// request manager, the connection, and the test server in this process. If the number falls, lower
// the bound here.
func TestObjectsOfACall(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
		`"params":{"name":"files__read","arguments":{"path":"a"}%s}}`
	for name, c := range map[string]struct {
		meta   string
		handle func(r *rig) *session.Handle
		most   float64
	}{
		"legacy": {"", func(r *rig) *session.Handle { return r.ready(`{}`).h }, 21},
		"legacy with progress": {
			`,"_meta":{"progressToken":7}`,
			func(r *rig) *session.Handle { return r.ready(`{"roots":{}}`).h }, 28,
		},
		"modern": {
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientCapabilities":{}}`,
			func(r *rig) *session.Handle { return r.caller(`{}`).peer() }, 29,
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				h := c.handle(r)
				data := fmt.Appendf(nil, call, c.meta)
				out := &outcome{}
				objects := testing.AllocsPerRun(200, func() {
					m, err := jsonrpc.Decode(data, jsonrpc.Limits{})
					if err != nil {
						t.Fatal(err)
					}
					*out = outcome{}
					if err := h.Deliver(t.Context(), m, out); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if !out.answered {
						t.Fatal("no answer")
					}
				})
				if objects > c.most {
					t.Errorf("%v objects, at most %v", objects, c.most)
				}
			})
		})
	}
}
