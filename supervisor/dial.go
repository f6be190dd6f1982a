package supervisor

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"mcpd/actors/client"
	"mcpd/actors/demo"
	"mcpd/actors/process"
	"mcpd/gateway/tenant"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/faulty"
	"mcpd/transport/pipe"
	"mcpd/transport/stdio"
)

// Builtins are the names of the servers that are built into this program.
var Builtins = []string{"demo"}

// linger is how long a program without a session keeps running. A client that reconnects within
// this time finds its server running.
const linger = 5 * minute

// connection returns the row of a connection to a server, which has its own supervisor. self is the
// identity sent to the server, by default the host's.
func (h *host) connection(
	t *tenant.Tenant, s tenant.Server, k tenant.Key, declare protocol.ClientCapabilities,
	self protocol.Implementation, r *client.AbandonedState, from otp.Ref,
) otp.Child {
	if self.Name == "" {
		self = h.identity
	}
	at := telemetry.Where{Tenant: t.Name, Server: s.Name}
	o := client.Options{
		Tenant: t.Name, Server: s.Name, Key: k, Declare: declare, Self: self, Restore: r,
		Policy: s.Negotiation, Transport: s.Link().String(), Target: target(s),
		Close:     h.release(t.Name),
		Instances: s.Instances, ShareLogs: s.ShareLogs, Replay: s.Replay, Pending: h.pending(t),
		Intensity: s.Intensity, StartTimeout: s.StartTimeout, RequestTimeout: h.requestTimeout(t),
		ListTimeout: h.listTimeout(t), QuestionWait: h.questionWait(t),
		Dispatcher: h.at(t, "notification_dispatcher"), Catalog: from,
		Emit: h.recorder.Emit, Waited: &h.marks.calls, Kept: h.ledger.Account(t.Name),
		Forgot: func(from otp.Ref) { h.tellTenant(t, client.UsersForgotten{Server: s.Name, From: from}) },
	}
	if s.Start != tenant.StartEager {
		o.Idle = s.IdleStop
	}
	if s.Link() == tenant.Stdio {
		o.Linger = linger
	} else { // it learns of changes meanwhile
		o.Linger, o.Listened = min(linger, s.IdleRelease), true
	}
	o.Known = h.knownOf(serverName{t.Name, s.Name}, k.Revision)
	o.Dial = h.dial(t, s, at)
	return client.Supervised(k, s.Intensity, withMailbox(t.Limits.MaxPending, otp.Child{
		Label: "connection", Shutdown: 5 * second, Start: otp.Worker(func() otp.Behaviour {
			return client.New(o)
		}),
	}))
}

// queued is how many messages may wait on a connection to a server: each in-flight request, and its
// cancellation or answer.
func queued(t *tenant.Tenant) int { return 2 * t.Limits.MaxPending }

// dial returns the function that opens connections of this server. The configuration decides the
// kind.
func (h *host) dial(t *tenant.Tenant, s tenant.Server, at telemetry.Where) client.Dial {
	if simulated := h.options.Simulation.Dial; simulated != nil {
		return simulated(t.Name, s.Name)
	}
	var dial client.Dial
	switch s.Link() {
	case tenant.Stdio:
		dial = h.dialProgram(t, s, at)
	case tenant.HTTP, tenant.SSE:
		dial = h.dialURL(t, s)
	default:
		dial = h.dialBuiltin(t, s)
	}
	return h.faulty(dial, fault.Who{Tenant: t.Name, Server: s.Name})
}

// faulty makes armed faults strike at messages read from a server and written to it.
func (h *host) faulty(dial client.Dial, origin fault.Who) client.Dial {
	return func(ctx context.Context, self otp.Ref) (transport.Upstream, error) {
		up, err := dial(ctx, self)
		if err != nil {
			return nil, err
		}
		return faulty.New(up, h.faults, origin), nil
	}
}

func (h *host) dialProgram(t *tenant.Tenant, s tenant.Server, at telemetry.Where) client.Dial {
	spec := stdio.Spec{Command: s.Command.Reveal(), Dir: s.Cwd.Reveal(), Pass: s.EnvPass,
		Env: map[string]string{}, Tenant: at.Tenant,
		Files: uint64(s.Files), FileSize: uint64(s.FileSize), Memory: uint64(s.Memory),
		Processes: uint64(s.Processes)}
	for _, a := range s.Args {
		spec.Args = append(spec.Args, a.Reveal())
	}
	for name, value := range s.Env {
		spec.Env[name] = value.Reveal()
	}
	stray := lineLimiter{report: func(n uint32, sample string) {
		h.recorder.Emit(telemetry.UpstreamNoise{Where: at, Lines: n, Sample: sample})
	}}
	stderr := lineLimiter{report: func(n uint32, sample string) {
		h.recorder.Emit(telemetry.UpstreamStderr{Where: at, Lines: n, Sample: sample})
	}}
	spec.Stderr = func(line []byte, _ bool) {
		stderr.line(h.clock.Now(), string(line[:min(len(line), maxSample)]))
	}
	var last atomic.Pointer[stdio.Child]
	return func(ctx context.Context, self otp.Ref) (transport.Upstream, error) {
		spec := spec
		if before := last.Load(); before != nil {
			spec.Restart = before.HasSettled()
		}
		ctx, cancel := context.WithTimeout(ctx, s.StartTimeout) // it waits for its turn
		defer cancel()
		child, err := otp.Do[process.StartRequest, *stdio.Child](ctx, h.core("process_manager"),
			process.StartRequest{Spec: spec, Owner: self, Tenant: at.Tenant, Server: at.Server})
		if err != nil {
			return nil, err
		}
		last.Store(child)
		edge := &h.now().config.Edge
		return stdio.NewConn(child, stdio.Options{
			Queue: queued(t), Queued: h.queuedOf(t.Name), Room: h.answerBudget(t.Name),
			MaxDepth: edge.AnswerDepth, MaxMembers: edge.AnswerMembers,
			Stray: func(s stdio.Stray) { stray.line(h.clock.Now(), s.Line) },
		}), nil
	}
}

// dialBuiltin starts an instance of the built-in server beside its connection, under the same
// supervisor.
func (h *host) dialBuiltin(t *tenant.Tenant, s tenant.Server) client.Dial {
	return func(ctx context.Context, _ otp.Ref) (transport.Upstream, error) {
		sup := h.at(t, "client_sup/"+s.Name)
		ours, theirs := pipe.Pair(queued(t))
		_, err := otp.StartChild(ctx, sup, otp.Child{
			ID: fmt.Sprintf("instance-%d", h.instances.Add(1)), Label: s.Builtin, Restart: otp.Temporary,
			Start: otp.Worker(func() otp.Behaviour {
				return demo.New(demo.Options{
					Conn: theirs, Build: h.identity.Version, Pending: t.Limits.MaxPending,
				})
			}),
		})
		if err != nil {
			return nil, err
		}
		return ours, nil
	}
}

// target returns what the log calls a server: its program or its address, without anything that may
// be secret.
func target(s tenant.Server) string {
	switch s.Link() {
	case tenant.Stdio:
		return s.Command.String()
	case tenant.HTTP, tenant.SSE:
		return strings.Clone(s.URL.String())
	}
	return s.Builtin
}
