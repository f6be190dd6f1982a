package request_test

import (
	"context"
	"testing"
	"time"

	"mcpd/actors/internal/stage"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// eager is a scheduler under which whoever is sent a message, and is at nothing, handles it before its sender goes on: as if the machine ran it at once. So
// what must be before a message is sent is seen to be, or not to be, each time.
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

// upstream is a connection that looks at an exchange as it is told to forget it.
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

// An exchange is over before its upstream is told so: an upstream that crashes of that, and comes back before the manager goes on, sees by it that there is nothing
// to go on with.
func TestAnExchangeIsOverBeforeItsUpstreamIsTold(t *testing.T) {
	sys := otp.NewSystem(otp.Options{Scheduler: eager{}})
	defer sys.Close()
	u := &upstream{ended: make(chan bool, 1)}
	var owner stage.Box
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{})
	meter := request.NewMeters(func(server, method string) *telemetry.Requests {
		return metrics.Requests("acme", server, method)
	}, time.Now)
	o := request.Options{Tenant: "acme", Meter: meter, Pending: func() int { return 3 }, Emit: func(telemetry.Event) {}}
	tree, err := sys.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
		{ID: "manager", Start: otp.Worker(func() otp.Behaviour { return request.New(o) })},
		{ID: "conn", Start: otp.Worker(func() otp.Behaviour { return u })}, owner.Child("owner"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	top := tree.Ref()
	u.x = &request.Exchange{
		ID: 1, Session: "s", Owner: top.Child("owner"), Version: protocol.V20251125, Downstream: jsonrpc.IntID(1), Server: "files",
		Upstream: top.Child("conn"), Method: "tools/call", Arrived: time.Now(), Timeout: time.Hour, MaxTimeout: time.Hour, Sink: &stage.Sink{},
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
