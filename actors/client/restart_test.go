package client_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// After a restart come, in this order: the handshake, in which the server is told again what its
// client can do; its lists; the log level and resources that clients had asked for; ready; the
// calls that waited. A changed list is announced once, and an unchanged one not at all.
func TestReadyAfterARestartIsTrue(t *testing.T) {
	declare := func(o *client.Options) {
		o.Declare, _ = protocol.ParseClientCapabilities([]byte(`{"roots":{"listChanged":true}}`))
	}
	const caps = `{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}`
	for name, tt := range map[string]struct {
		tools   string
		changed []catalog.Kind
	}{
		"the same lists": {`{"tools":[{"name":"a"}]}`, nil},
		"another list":   {`{"tools":[{"name":"b"}]}`, []catalog.Kind{catalog.Tools}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, declare, func(r *rig) {
				lists := map[string]string{
					"tools/list": `{"tools":[{"name":"a"}]}`, "resources/list": `{"resources":[]}`,
					"resources/templates/list": `{"resourceTemplates":[]}`,
				}
				p := r.server()
				p.Handshake(caps)
				for range 3 {
					m := p.Next()
					p.Reply(m, lists[m.Method])
				}
				r.WaitIdle()
				r.attach("one")
				granted := r.setIntent(client.SubscriptionIntent{
					Session: "one", Level: "debug", URIs: []string{"test://x"},
				})
				for range 2 {
					p.Reply(p.Next(), `{}`)
				}
				if err := <-granted; err != nil {
					t.Fatal(err)
				}
				r.catalog.Forget()

				p.Close(&transport.ExitError{Cause: stdio.CauseSignal, Signal: "SIGKILL"})
				r.WaitIdle()
				r.call("one")
				lists["tools/list"] = tt.tools
				p = r.server()
				if params := p.Handshake(caps); !strings.Contains(string(params),
					`"roots":{"listChanged":true}`) {
					t.Errorf("the handshake says %s", params)
				}
				var order []string
				for range 3 {
					m := p.Next()
					order = append(order, m.Method)
					if got := r.report().State; got == client.Ready {
						t.Errorf("ready before %s was answered", m.Method)
					}
					p.Reply(m, lists[m.Method])
				}
				slices.Sort(order)
				if want := []string{"resources/list", "resources/templates/list",
					"tools/list"}; !slices.Equal(order, want) {
					t.Errorf("asked for %v", order)
				}
				p.Expect("logging/setLevel")
				p.Expect("resources/subscribe")
				p.Expect("tools/call")
				var changed []catalog.Kind
				for _, report := range r.reports() {
					changed = append(changed, report.Changed...)
				}
				if !slices.Equal(changed, tt.changed) || r.report().State != client.Ready {
					t.Errorf("then %s, changed %v, want %v", r.report().State, changed, tt.changed)
				}
			})
		})
	}
}

// A server is not asked whether it lives; only its end shows that it does not. A server that is
// busy with a call for minutes is left alone.
func TestBusyServerIsLeftAlone(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.call("one")
		call := p.Expect("tools/call")
		p.ExpectNothing(10 * time.Minute)
		if got := r.report(); got.State != client.Ready || r.Ref("conn").Incarnation() != 1 {
			t.Errorf("meanwhile it is %s, incarnation %d", got.State, r.Ref("conn").Incarnation())
		}
		p.Reply(call, `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(x); got.Err != nil {
			t.Errorf("the call: %v", got.Err)
		}
		if ended := testrig.Of[telemetry.UpstreamExited](&r.Events); len(ended) > 0 {
			t.Errorf("told %+v", ended)
		}
	})
}

// A restart of a server ends the calls that it holds. Queued calls go to the next server, whether
// the first was ready or starting, and later messages of the first are ignored. The incarnation
// stays the same, and it counts as no failure.
func TestRestartOfAServerCarriesOverWhatWaits(t *testing.T) {
	ending := client.EndedByOperator(false, "incident")
	for name, inHand := range map[string]bool{"starting": false, "ready": true} {
		run(t, nil, func(r *rig) {
			var former *mcptest.Peer
			var written *request.Exchange
			if inHand {
				former = r.ready(`{"tools":{}}`)
				written = r.call("one")
				former.Expect("tools/call")
			} else {
				former = r.server()
				former.Expect("initialize")
			}
			var waiting []*request.Exchange
			if !inHand {
				waiting = append(waiting, r.call("one"))
			}
			r.send(client.Restart{Why: ending})
			waiting = append(waiting, r.call("two"))
			if inHand {
				former.ExpectClosed()
			}
			if former.Close(nil); r.Ref("conn").Incarnation() != 1 {
				t.Errorf("%s: incarnation %d", name, r.Ref("conn").Incarnation())
			}
			for _, e := range testrig.Of[telemetry.UpstreamExited](&r.Events) {
				if !e.Routine {
					t.Errorf("%s: told %+v, although the command is", name, e)
				}
			}
			if inHand {
				got := protocol.Translate(r.outcome(written).Err, protocol.V20251125)
				if data := string(got.Data); !strings.Contains(data, `"maybeExecuted":true`) ||
					!strings.Contains(data, `"cause":"operator"`) {
					t.Errorf("%s: what was written: %s", name, data)
				}
			}
			p := r.ready(`{"tools":{}}`)
			for _, x := range waiting {
				p.Reply(p.Expect("tools/call"), `{"content":[]}`)
				r.WaitIdle()
				if got := r.outcome(x); got.Err != nil {
					t.Errorf("%s: what waited: %v", name, got.Err)
				}
			}
		})
	}
}
