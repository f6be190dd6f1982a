package client_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

const watched = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}`

// watchable returns a legacy server that announces changes.
func (r *rig) watchable() *mcptest.Peer {
	r.T.Helper()
	p := r.server()
	p.Handshake(watched)
	for range 3 {
		m := p.Next()
		p.Reply(m, map[string]string{
			"tools/list": `{"tools":[{"name":"a"}]}`, "resources/list": `{"resources":[]}`,
			"resources/templates/list": `{"resourceTemplates":[]}`,
		}[m.Method])
	}
	r.WaitIdle()
	return p
}

// Protocol-matrix 10.8: if a server has no stream for announcements, nothing is offered that would
// come that way.
func TestNothingIsOfferedThatCannotBeHeard(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.watchable()
		if got := string(r.report().Facts.Capabilities.Raw()); got != watched {
			t.Fatalf("offered %s", got)
		}
		for _, c := range []transport.Inbound{{Control: streamable.StandaloneState{Open: true}},
			{Control: streamable.StandaloneState{}}} {
			p.Send(c)
			r.WaitIdle()
			open := c.Control.(streamable.StandaloneState).Open
			got := r.report().Facts.Capabilities
			for _, path := range []string{"tools.listChanged", "resources.listChanged",
				"resources.subscribe"} {
				if got.Has(path) != open {
					t.Errorf("%+v: offered %s", c.Control, got.Raw())
				}
			}
			if !got.Has("tools") || !got.Has("resources") {
				t.Errorf("%+v: offered %s", c.Control, got.Raw())
			}
		}
		x := r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		r.WaitIdle()
		if got := r.outcome(x); !errors.Is(got.Err, protocol.ConditionCapabilityNotSupported) {
			t.Errorf("subscribed: %v", got.Err)
		}
		p.ExpectNothing(time.Minute)
	})
}

// After a gap in the announcements of a server, its lists are fetched again, and subscribed
// resources may have changed. A stream that breaks off all the time does not make clients look all
// the time.
func TestGapInTheStandingStream(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.watchable()
		r.attach("one")
		r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		p.Send(transport.Inbound{Control: streamable.StandaloneState{Open: true, Gap: true}})
		var asked []string
		for range 3 {
			m := p.Next()
			asked = append(asked, m.Method)
			p.Reply(m, map[string]string{
				"tools/list": `{"tools":[{"name":"b"}]}`, "resources/list": `{"resources":[]}`,
				"resources/templates/list": `{"resourceTemplates":[]}`,
			}[m.Method])
		}
		slices.Sort(asked)
		if want := []string{"resources/list", "resources/templates/list",
			"tools/list"}; !slices.Equal(asked, want) {
			t.Errorf("asked for %v", asked)
		}
		r.WaitIdle()
		if got := r.updates(); !slices.Equal(got, []string{"test://x"}) {
			t.Errorf("told of %v", got)
		}
		for range 600 {
			p.Send(transport.Inbound{Control: streamable.StandaloneState{Open: true, Gap: true}})
			time.Sleep(time.Second)
		}
		if got, most := len(r.updates()), 10+int(10*time.Minute/client.LastGap); got > most || got < 10 {
			t.Errorf("told %d times within ten minutes, want at most %d", got, most)
		}
	})
}
