package held_test

import (
	"crypto/rand"
	"io"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"mcpd/actors/client"
	"mcpd/actors/held"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/seal"
	"mcpd/supervisor/otp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	park  = 5 * time.Minute
	form  = `{"message":"name?","requestedSchema":{}}`
	yes   = `{"action":"accept"}`
	every = `{"elicitation":{},"sampling":{},"roots":{}}`
)

// rig is one call, with boxes in place of the request manager and of the connection to the server.
type rig struct {
	kept quota.Ledger
	*testrig.Rig
	requests testrig.Box
	conn     testrig.Box
	ring     *seal.Ring
	o        *held.Options
	x        *request.Exchange
	relay    *held.Relay
	out      *testrig.Sink // of the client's first request
	calls    session.Calls
	actor    otp.Ref
	retries  uint64
}

// binding is that of the states.
var binding = seal.Binding{
	Tenant: "acme", Principal: "ci", Upstream: "files", Method: "tools/call",
	Params: seal.DigestOf("tools/call", nil),
}

// stand sets the stage for a call without questions.
func stand(t *testing.T, test func(r *rig)) { standWith(t, rand.Reader, test) }

func standWith(t *testing.T, random io.Reader, test func(r *rig)) {
	t.Helper()
	r := &rig{out: &testrig.Sink{}}
	var err error
	if r.ring, err = seal.NewRing(random, seal.Key{ID: "k"}); err != nil {
		t.Fatal(err)
	}
	children := func(s *testrig.Rig) []otp.Child {
		r.Rig = s
		template := held.Supervised(otp.Intensity{}, nil)
		template.Start = otp.SupervisorWith(func(args any) otp.Spec {
			spec := held.Spec(otp.Intensity{Restarts: 5, Within: 30 * time.Second}, nil, held.Args{})
			spec.Children[0].Start = otp.Worker(func() otp.Behaviour {
				return held.New(r.o, args.(held.Args))
			})
			return spec
		})
		return []otp.Child{
			r.requests.Child("requests"), r.conn.Child("conn"),
			{ID: "held_sup", Start: otp.Supervisor(otp.Spec{
				Strategy: otp.SimpleOneForOne, Children: []otp.Child{template},
			})},
		}
	}
	testrig.Run(t, children, func(s *testrig.Rig) {
		r.o = &held.Options{Ring: r.ring, Instance: "here", Park: func() time.Duration {
			return park
		}, Requests: s.Ref("requests"), Kept: r.kept.Account("acme")}
		r.relay = held.NewRelay(r.out, func() seal.Binding { return binding })
		r.x = &request.Exchange{
			ID: 7, Version: protocol.V20260728, Downstream: jsonrpc.StringID("a"), Method: "tools/call",
			Sink: r.relay, Token: jsontext.Value(`"t"`),
		}
		test(r)
	})
}

// run sets the stage for a call with an actor.
func run(t *testing.T, test func(r *rig)) {
	t.Helper()
	stand(t, func(r *rig) {
		r.start()
		test(r)
	})
}

func (r *rig) start() {
	r.T.Helper()
	if !r.relay.Holding() {
		r.T.Fatal("the call is over")
	}
	var err error
	if r.actor, err = r.attach(); err != nil {
		r.T.Fatal(err)
	}
}

func (r *rig) attach() (otp.Ref, error) {
	ref, err := otp.StartChildArgs(r.T.Context(), r.Ref("held_sup"), held.Row(r.x.ID), held.Args{
		Exchange: r.x, Relay: r.relay, Capabilities: able(every),
	})
	return ref.Child(held.Child), err
}

func able(text string) protocol.ClientCapabilities {
	c, err := protocol.ParseClientCapabilities(jsontext.Value(text))
	if err != nil {
		panic(err)
	}
	return c
}

func (r *rig) send(msg any) {
	r.T.Helper()
	if err := r.actor.Send(msg); err != nil {
		r.T.Fatal(err)
	}
	r.WaitIdle()
}

// ask makes the server ask.
func (r *rig) ask(id uint64, method, params string) {
	r.T.Helper()
	q := &client.Question{
		From: r.Ref("conn"), Server: "files", ID: jsonrpc.IntID(id), Exchange: r.x, Method: method,
		Params: jsontext.Value(params),
	}
	r.send(q)
}

// asked makes the server ask for a name, and returns the state that the client gets.
func (r *rig) asked() string {
	r.T.Helper()
	r.ask(1, "elicitation/create", form)
	time.Sleep(time.Second)
	return r.state(r.out)
}

// state returns the state in a result that asks the client.
func (r *rig) state(out *testrig.Sink) string {
	r.T.Helper()
	m := out.Outcome()
	if mrtr.TypeOf(m.Result) != mrtr.InputRequired {
		r.T.Fatalf("got %v, want to be asked", out.All())
	}
	token, _ := jsonedit.GetString(m.Result, "requestState")
	return token
}

// retry lets the client come back with answers under a state.
func (r *rig) retry(token, answers, meta string) *testrig.Sink {
	r.T.Helper()
	return r.retryAs(token, answers, meta, every)
}

func (r *rig) retryAs(token, answers, meta, capabilities string) *testrig.Sink {
	r.T.Helper()
	m, out := r.coming(token, answers, meta, capabilities)
	if err := r.actor.Send(m); err != nil { // as a session does that finds no actor
		m.Fail(err)
	}
	r.WaitIdle()
	return out
}

func (r *rig) coming(token, answers, meta, capabilities string) (*held.Retry, *testrig.Sink) {
	r.T.Helper()
	state, err := r.ring.Open(time.Now(), binding, token)
	if err != nil {
		r.T.Fatal(err)
	}
	if held.RowOf(state) != held.Row(r.x.ID) || state.Instance != "here" || state.Kind != seal.Held {
		r.T.Fatalf("the state is %+v", state)
	}
	again, err := mrtr.ParseRetry(jsontext.Value(`{"inputResponses":` + answers + `}`))
	if err != nil {
		r.T.Fatal(err)
	}
	r.retries++
	out := &testrig.Sink{}
	d := &session.Deliver{
		Message: jsonrpc.Request(jsonrpc.IntID(r.retries), "tools/call",
			jsontext.Value(`{"_meta":`+meta+`}`)), Out: out, Version: protocol.V20260728,
	}
	r.calls.AddRetry(out, r.x.ID)
	return &held.Retry{Deliver: d, Calls: &r.calls, Capabilities: able(capabilities),
		Round: state.Round, Answers: again}, out
}

// finish gives the call its outcome, as the request manager does.
func (r *rig) finish(m jsonrpc.Message) {
	r.relay.Finish(m)
	r.WaitIdle()
}

// say sends a notification of the server during the call.
func (r *rig) say(method, params string) {
	_ = r.relay.Send(jsonrpc.Notification(method, jsontext.Value(params)))
	r.WaitIdle()
}

// answers returns the answers that the server got, in order.
func (r *rig) answers() []*client.Answer { return testrig.Of[*client.Answer](&r.conn.Log) }

// cancelled returns how often the request manager was told to withdraw the call.
func (r *rig) cancelled() int { return len(testrig.Of[*request.Cancel](&r.requests.Log)) }

// there reports whether the call still has its actor.
func (r *rig) there() bool {
	r.WaitIdle()
	_, ok := r.System.Whereis("top/held_sup/" + held.Row(r.x.ID))
	return ok
}

var done = jsonrpc.Response(jsonrpc.IntID(99), jsontext.Value(`{"content":[]}`))
