package core

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/notification"
	"mcpd/actors/request"
	"mcpd/bench/subject"
	"mcpd/supervisor"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// hostConfig is a host without listeners, with its built-in server.
const hostConfig = `tenants: {default: {servers: {demo: {builtin: demo}}}}`

// stage is a whole host in this process. It also has a request manager and a notification
// dispatcher whose neighbours are test doubles.
type stage struct {
	host    *supervisor.Running
	stop    context.CancelFunc
	ended   chan error
	system  *otp.System
	manager otp.Ref
	notices otp.Ref
	conn    otp.Ref
}

func newStage(ctx context.Context) (*stage, error) {
	h, err := subject.Open(ctx, hostConfig, supervisor.Options{Embedded: true})
	if err != nil {
		return nil, err
	}
	s := &stage{host: h, ended: make(chan error, 1), system: otp.NewSystem(otp.Options{})}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go func() { s.ended <- h.Run(running) }() // owner: close
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{})
	manager := request.Options{
		Tenant: "default", Pending: func() int { return waiting }, Emit: func(telemetry.Event) {},
		Meter: request.NewMeters(func(server, method string) *telemetry.Requests {
			return metrics.Requests("default", server, method)
		}, time.Now),
	}
	_, err = s.system.Start(ctx, "stage", otp.Spec{Children: []otp.Child{
		{ID: "manager", Start: otp.Worker(func() otp.Behaviour { return request.New(manager) })},
		{ID: "notices", Start: otp.Worker(func() otp.Behaviour {
			return notification.New(notification.Options{Tenant: "default", Emit: func(telemetry.Event) {}})
		})},
		{ID: "connection", Start: otp.Worker(func() otp.Behaviour { return taker{} })},
	}})
	if err != nil {
		s.close()
		return nil, err
	}
	s.manager, _ = s.system.Whereis("stage/manager")
	s.notices, _ = s.system.Whereis("stage/notices")
	s.conn, _ = s.system.Whereis("stage/connection")
	return s, nil
}

func (s *stage) close() {
	s.stop()
	<-s.ended // it was told to
	s.system.Close()
}

// taker is a connection that accepts each exchange and confirms that.
type taker struct{ otp.Base }

func (taker) Receive(_ *otp.Process, msg any) error {
	if f, ok := msg.(*request.Forward); ok {
		f.Exchange.Write()
		f.Exchange.Owner.(taken) <- struct{}{} // it has room
	}
	return nil
}

// taken is a session that is notified when its exchange has reached the connection.
type taken chan struct{}

func (taken) Send(any) error { return nil }

// wait returns the next value of a channel, or an error when ctx ends.
func wait[T any](ctx context.Context, from chan T) (v T, err error) {
	select {
	case v = <-from:
		return v, nil
	case <-ctx.Done():
		return v, fmt.Errorf("nothing came: %w", ctx.Err())
	}
}

// open opens a session of the host with a complete initialize, through its manager and its actor.
func (s *stage) open(ctx context.Context) (*subject.Client, error) {
	return subject.Initialize(ctx, s.host, "default", jsontext.Value(wanting))
}
