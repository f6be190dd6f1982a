package request_test

import (
	"context"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// eager is a scheduler that lets an idle receiver of a message handle it before the sender
// continues, as if the machine ran the receiver at once. So a test sees every time whether a state
// was set before the message was sent.
type eager struct{}

func (eager) Schedule(f func())                           { f() }
func (eager) Throughput() int                             { return otp.DefaultThroughput }
func (eager) Handle(string, any)                          {}
func (eager) Go(_ context.Context, _, _ string, f func()) { f() }
func (eager) Wait(ready func() bool) {
	if !ready() {
		panic("somebody waits for what will not come")
	}
}

// upstream is a connection that inspects an exchange when it is told to withdraw it.
type upstream struct {
	otp.Base
	x     *request.Exchange
	ended chan bool
}

func (u *upstream) Receive(_ *otp.Process, msg any) error {
	if _, ok := msg.(*request.Withdraw); ok {
		u.ended <- u.x.Ended()
	}
	return nil
}

// An exchange is marked as over before its upstream is told so. If the upstream crashes on that
// message and restarts before the manager continues, the mark tells it not to continue the
// exchange.
func TestAnExchangeIsOverBeforeItsUpstreamIsTold(t *testing.T) {
	sys := otp.NewSystem(otp.Options{Scheduler: eager{}})
	defer sys.Close()
	u := &upstream{ended: make(chan bool, 1)}
	var owner testrig.Box
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{})
	meter := request.NewMeters(func(server, method string) *telemetry.Requests {
		return metrics.Requests("acme", server, method)
	}, time.Now)
	o := request.Options{Tenant: "acme", Meter: meter, Pending: func() int {
		return 3
	}, Emit: func(telemetry.Event) {}}
	tree, err := sys.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
		{ID: "manager", Start: otp.Worker(func() otp.Behaviour { return request.New(o) })},
		{ID: "conn", Start: otp.Worker(func() otp.Behaviour { return u })}, owner.Child("owner"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	top := tree.Ref()
	u.x = &request.Exchange{
		ID: 1, Session: "s", Owner: top.Child("owner"), Version: protocol.V20251125,
		Downstream: jsonrpc.IntID(1), Server: "files",
		Upstream: top.Child("conn"), Method: "tools/call", Arrived: time.Now(), Timeout: time.Hour,
		MaxTimeout: time.Hour, Sink: &testrig.Sink{},
	}
	manager := top.Child("manager")
	if err := manager.Send(&request.Submit{Exchange: u.x}); err != nil {
		t.Fatal(err)
	}
	if err := manager.Send(request.NewCancel(manager, u.x.ID)); err != nil {
		t.Fatal(err)
	}
	select {
	case ended := <-u.ended:
		if !ended {
			t.Error("it was told before")
		}
	default:
		t.Error("it was told nothing")
	}
}
