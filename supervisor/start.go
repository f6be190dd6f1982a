package supervisor

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"

	"github.com/thejerf/suture/v4"

	"mcpd/actors/configuration"
	"mcpd/actors/process"
	"mcpd/actors/session"
	"mcpd/gateway/config"
	"mcpd/gateway/quota"
	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
	"mcpd/transport/stdio"
)

// root is the id of the tree's root.
const root = "mcpd"

// Options configure a host in addition to its configuration file.
type Options struct {
	Logger *slog.Logger
	Build  Build
	Source string // origin of the configuration, for the log
	// Load reads the configuration again, for a reload. Nil refuses reloads.
	Load func() (c *config.Config, source string, err error)
	// Level is the level of Logger, which a reload may change. Nil means that it cannot change.
	Level   *slog.LevelVar
	Sockets Sockets // sockets that the process was given
	// CheckNext checks that the program which is to replace this one can be started. It executes
	// commands with run. Nil is for a host whose Restart is never called.
	CheckNext func(ctx context.Context, run func(*exec.Cmd) error) error
	// ReplaceError is the error for which this process could not hand over to another program, so that
	// it starts a host again itself. It is logged.
	ReplaceError error
	Embedded     bool          // no listeners: the host serves one client on standard input and output
	Chaos        bool          // faults may be armed through the admin listener
	Tokens       *admin.Tokens // tokens of the admin listener
	Clock        clock.Clock   // nil means clock.System
	// Instance marks this daemon's child processes. It is empty in a program that is not mcpd, which
	// then has no guard process.
	Instance string
	// EarlierPrefix is the prefix of the Instance values of earlier daemons on the same state, empty
	// for none.
	EarlierPrefix string
	// Memory is how many bytes the host may use; 0 means no limit.
	Memory uint64
	// ResidentMemory is how many bytes the process may have, including memory that the Go runtime does
	// not count; 0 means no limit.
	ResidentMemory uint64
	// Pace sets by how many percent the heap of the whole process may grow until the next collection.
	// Nil leaves that to the runtime.
	Pace func(percent int)
	// Contention is passed to otp.Options; see Contention. Nil leaves it out.
	Contention func() (ran, waited time.Duration)
	// State is the directory of the state that survives this host; empty keeps nothing.
	State string
	// CheckOwner makes sure, before each write, that State exists and belongs to this host alone. Nil
	// is for a host whose directory no other host can use.
	CheckOwner func() error
	// SafeReason is the reason for safe mode: only the admin listener serves, and MCP is refused. It
	// is empty for a normal host.
	SafeReason string
	// Faults is the registry of the faults that can be armed in this host. Nil makes a new registry.
	Faults *fault.Registry
	// Intensity, if not zero, is the intensity of every supervisor of the tree, for runs that crash on
	// purpose.
	Intensity otp.Intensity
	// Simulation is the environment of a simulated host. The zero value is the real one.
	Simulation Simulation
}

// Build identifies the running program.
type Build struct{ Version, Commit, Go string }

// Running is a started host.
type Running struct {
	h    *host
	tree *otp.Tree
}

// Start starts the whole host and returns when every row of the tree is ready. It does not wait for
// servers: a tenant is ready when its actors are.
func Start(ctx context.Context, c *config.Config, o Options) (*Running, error) {
	h := newHost(c, o)
	tree, err := h.system.Start(ctx, root, h.tree())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), h.end(ctx))
	}
	h.phase.Store(uint32(admin.Serving))
	if o.SafeReason != "" {
		h.phase.Store(uint32(admin.SafeMode))
		h.recorder.Emit(telemetry.SafeMode{Reason: o.SafeReason})
	}
	h.forgetTenants()
	h.recorder.Emit(telemetry.ConfigLoaded{
		Source: o.Source, Generation: h.now().applied.Generation, At: uint64(h.clock.Now().Unix()),
	})
	h.warn(c)
	if o.ReplaceError != nil {
		h.recorder.Emit(telemetry.RestartRefused{Reason: o.ReplaceError.Error()})
	}
	return &Running{h, tree}, nil
}

func newHost(c *config.Config, o Options) *host {
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.Load == nil {
		o.Load = func() (*config.Config, string, error) { return nil, o.Source, errNoFile }
	}
	if o.Faults == nil {
		o.Faults = fault.New(o.Clock)
	}
	o.Clock = o.Faults.Clock(o.Clock)
	h := &host{
		options: o, clock: o.Clock, awake: clock.NewAwake(o.Clock), faults: o.Faults,
		identity: protocol.Implementation{Name: "mcpd", Version: o.Build.Version},
		last:     process.NewCloser(o.Simulation.Scheduler != nil), renew: make(chan struct{}, 1),
	}
	h.handover.given = o.Sockets
	h.ledger = quota.NewLedger(&h.memory)
	h.index = session.NewIndex(h.ledger)
	var id [16]byte
	o.Simulation.random(id[:])
	h.instance = hex.EncodeToString(id[:])
	h.settings.Store(newSettings(c, configuration.Applied{}.Next(o.Clock.Now(), c.Digest())))
	h.metrics = telemetry.NewMetrics(telemetry.MetricsOptions{
		Version: o.Build.Version, Commit: o.Build.Commit, GoVersion: o.Build.Go,
		Tree: h.snapshot, Readiness: h.readiness, Sessions: h.sessions, Faults: func() int {
			return len(h.faults.Active())
		}, KnownMethod: known,
		Limits: h.limitGauges, Queues: h.queues, Config: func() string { return h.now().applied.Digest },
		Spawns:      func() (int, uint64) { return h.spawner.Waiting() },
		IdleRunners: func() int { return h.system.IdleRunners() }, IdleUpstream: h.transports.idle,
		Certificate: h.certificateLeft,
		History: func() int64 {
			return h.store.Bytes()
		}, Kept: h.holdings, Reserved: h.reserved, Records: h.allRecords,
	})
	h.recorder = telemetry.NewRecorder(telemetry.Options{
		Logger: o.Logger, Clock: o.Clock, Metrics: h.metrics, Faults: h.faults,
	})
	h.faults.Watch(telemetry.Faulted(h.recorder.Emit))
	h.system = otp.NewSystem(otp.Options{
		Logger: o.Logger, Clock: h.awake, Faults: h.faults, Scheduler: o.Simulation.Scheduler,
		Contention: o.Contention,
		Events: o.Simulation.dispatchEvents(h.dispatchEvents(telemetry.Supervision(h.recorder.Emit,
			locate))),
		Origin: func(path string) string { return locate(path).Tenant },
	})
	h.spawner = stdio.NewSpawner(stdio.SpawnerOptions{
		Instance: o.Instance, Daemon: o.Instance != "", Earlier: o.EarlierPrefix, Report: h.reportProcess,
	})
	h.openState()
	h.store = h.newStore(c)
	h.ledger.Bound(h.bounds(c))
	h.recordConfig(c)
	h.edge = &Edge{
		now: h.now, Ledger: h.ledger, Failures: quota.NewFailures(), Clock: h.awake, Index: h.index,
		Sessions: func() otp.Ref {
			return h.core("session_manager")
		}, TenantDown: h.down, Closing: h.refuseSession,
	}
	h.index.Down, h.index.Ending, h.index.Self = h.down, h.refuseCall, h.identity
	return h
}

func known(method string) bool {
	_, ok := protocol.LookupMethod(method)
	return ok
}

// Run keeps the host running until ctx ends, or until the tree gives up, which is an error. The
// tree runs under the one suture supervisor of the process. Run returns when everything has
// stopped.
func (r *Running) Run(ctx context.Context) error {
	top := suture.New(root, suture.Spec{
		EventHook: func(suture.Event) {}, Timeout: r.h.now().config.Drain + stopBudget,
	})
	top.Add(r.tree.Service())
	err := top.Serve(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, r.h.end(context.WithoutCancel(ctx)))
}

// stopBudget is more than all stop times in the tree together, except the drain, so that the tree
// itself decides how long it takes to stop.
const stopBudget = 2 * minute

// AnswerAll answers every in-flight request at once and ends subscriptions, for a host whose
// process is about to end without the rest of its drain.
func (r *Running) AnswerAll() {
	r.h.answer()
	r.h.endSubscriptions()
}

// Draining reports that the host is about to stop, and why. From now on readiness says so too.
func (r *Running) Draining(reason string) {
	r.h.handover.stop()
	r.h.phase.Store(uint32(admin.Draining))
	r.h.recorder.Emit(telemetry.Draining{Reason: reason, Budget: r.h.now().config.Drain})
}

// Edge returns the Edge, for transports outside this package.
func (r *Running) Edge() *Edge { return r.h.edge }

// Addrs returns the addresses of the MCP and the admin listener, empty for a listener that does not
// exist.
func (r *Running) Addrs() (mcp, adm string) { return r.h.addrs.get("mcp"), r.h.addrs.get("admin") }

// Whereis finds a row of the tree by its path, as Snapshot shows it.
func (r *Running) Whereis(path string) (otp.Ref, bool) { return r.h.system.Whereis(path) }

// Snapshot returns the current tree.
func (r *Running) Snapshot() otp.Node { return r.h.snapshot() }

// Kept returns what each tenant keeps.
func (r *Running) Kept() []quota.Holding { return r.h.ledger.Snapshot() }

// lastLines is how long a log that nobody reads may delay the end of the host.
const lastLines = second

// end releases the resources that outlive the tree.
func (h *host) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*second)
	defer cancel()
	err := h.spawner.Close(ctx)
	h.system.Close()
	h.last.Stop()
	h.awake.Close()
	err = errors.Join(err, h.closeState())
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLines)
	defer cancel()
	h.recorder.Close(last)
	return err
}

// snapshot returns the current tree. Before the tree has started it has only its name.
func (h *host) snapshot() otp.Node {
	for _, n := range h.system.Snapshot().Children {
		if n.ID == root {
			return h.withTenants(withServers(n))
		}
	}
	return otp.Node{ID: root, Path: root, Type: otp.SupervisorType}
}
