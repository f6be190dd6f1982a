package actor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/notification"
	"mcpd/actors/request"
	"mcpd/actors/version"
	"mcpd/bench/kit"
	"mcpd/bench/subject"
	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/supervisor"
	"mcpd/supervisor/otp"
)

// wholeHost is the role of a host whose own actors are made to crash. It answers this line:
//
//	ROW, a tab, TIMES   the times until the row served again
const wholeHost = "whole-host"

// bareRow is an actor in a tree of its own that only answers.
const bareRow = "bare actor"

// wholeConfig has one server, whose own budget is also unlimited.
const wholeConfig = `{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {default: {servers: {demo: {builtin: demo, share: tenant, intensity: {restarts: 1000, within: 1ms}}}}}}`

// initializeParams are those of a client without capabilities. callParams call the echo tool of the
// built-in server through the aggregate.
const (
	initializeParams = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcpd-bench","version":"1"}}`
	callParams       = `{"name":"demo__echo","arguments":{"message":"hello"}}`
)

// victim is an actor, with a request that only a live incarnation of it answers.
type victim struct {
	send  func(msg any) error
	serve func(context.Context) error
	row   otp.Ref // zero for a row that is looked up after each crash
}

// hostRows is the process in the role wholeHost. The first question starts its host.
type hostRows struct{ victims map[string]victim }

func newWhole(string) kit.Answer { return (&hostRows{}).answer }

func (h *hostRows) answer(line string) (any, error) {
	w := &words{left: strings.Split(line, "\t")}
	name, times := w.next(), w.number()
	if w.err != nil {
		return nil, w.err
	}
	if h.victims == nil {
		if err := h.begin(context.Background()); err != nil {
			return nil, err
		}
	}
	v, ok := h.victims[name]
	if !ok {
		return nil, fmt.Errorf("there is no actor %q", name)
	}
	return v.crashes(times)
}

// crashes crashes a victim that many times. Each sample is the time until it has served again.
func (v victim) crashes(times int) (answer, error) {
	h, before := newHistogram(), v.row.Incarnation()
	for range times {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		start := time.Now()
		err := v.send(crash{})
		if err == nil {
			err = v.serve(ctx)
		}
		note(h, time.Since(start))
		cancel()
		if err != nil {
			return answer{}, err
		}
	}
	if began := v.row.Incarnation() - before; !v.row.IsZero() && began != uint64(times) {
		return answer{}, fmt.Errorf("%d incarnations after %d crashes", began, times)
	}
	return timed(h), nil
}

func (h *hostRows) begin(ctx context.Context) error {
	faults := fault.New(clock.System)
	host, err := subject.Open(ctx, wholeConfig, supervisor.Options{
		Embedded: true, Faults: faults, Intensity: unlimited,
	})
	if err != nil {
		return err
	}
	go func() { _ = host.Run(ctx) }() // owner: the process, which ends with it; callers notice its end
	if _, err := faults.Arm(crashing("*")); err != nil {
		return err
	}
	c, err := subject.Initialize(ctx, host, "default", jsontext.Value(initializeParams))
	if err == nil {
		err = c.Confirm(ctx)
	}
	if err != nil {
		return err
	}
	call := func(ctx context.Context) error {
		_, err := c.Ask(ctx, "tools/call", jsontext.Value(callParams))
		return err
	}
	if err := call(ctx); err != nil {
		return err
	}
	sys := otp.NewSystem(otp.Options{Faults: faults})
	if _, err := sys.Start(ctx, "bare",
		otp.Spec{Intensity: unlimited, Children: workers(1, newArrivals(0))}); err != nil {
		return err
	}
	bare, _ := sys.Whereis("bare/0")
	h.victims = map[string]victim{
		bareRow: {bare.Send, asking[int, int](1)(bare), bare},
		"session": {send: c.Send, serve: func(ctx context.Context) error {
			_, err := c.Ask(ctx, "ping", nil)
			return err
		}},
	}
	for _, row := range []struct {
		name, path string
		serve      func(otp.Ref) func(context.Context) error
	}{
		{"protocol version", "core/protocol_version",
			asking[version.SupportsRequest, bool](version.SupportsRequest{
				Version: "2025-11-25", Feature: "tasks",
			})},
		{"request manager", "tenants/default/request_manager",
			asking[request.PendingQuery, []request.Info](request.PendingQuery{})},
		{"notification dispatcher", "tenants/default/notification_dispatcher",
			asking[notification.StatsRequest, notification.Counts](notification.StatsRequest{})},
		{"catalog", "tenants/default/catalog",
			asking[catalog.ServersRequest, []catalog.Record](catalog.ServersRequest{})},
		{"connection", connectionPath(host), func(otp.Ref) func(context.Context) error { return call }},
	} {
		ref, ok := host.Whereis("mcpd/" + row.path)
		if !ok {
			return fmt.Errorf("there is no actor %s", row.path)
		}
		h.victims[row.name] = victim{ref.Send, row.serve(ref), ref}
	}
	return nil
}

// asking returns a function that, for an actor, makes a request of it: one call sends req and waits
// for the answer.
func asking[Req, Resp any](req Req) func(otp.Ref) func(context.Context) error {
	return func(to otp.Ref) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := otp.Do[Req, Resp](ctx, to, req)
			return err
		}
	}
}

// connectionPath returns the path of the only connection, below the root.
func connectionPath(h *supervisor.Running) (path string) {
	h.Snapshot().Walk(func(n otp.Node) bool {
		if n.Label == "connection" {
			path = n.Path
		}
		return path == ""
	})
	return strings.TrimPrefix(path, "mcpd/")
}
