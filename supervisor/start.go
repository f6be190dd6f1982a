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

// Options are what a host is started with beside its configuration.
type Options struct {
	Logger *slog.Logger
	Build  Build
	Source string // where the configuration came from, for the log
	// Load reads the configuration again, for a reload. Nil refuses those.
	Load func() (c *config.Config, source string, err error)
	// Level is the Logger's, for a reload to change. Nil leaves it.
	Level   *slog.LevelVar
	Sockets Sockets // that the process was given
	// Next checks that the program which is to replace this one can be started. It executes commands
	// by run. Nil is for a host whose Restart is never called.
	Next func(ctx context.Context, run func(*exec.Cmd) error) error
	// Unreplaced is why this process starts a host once more in place of another program.
	Unreplaced error
	Embedded   bool          // no listeners: the host serves one client on standard input and output
	Chaos      bool          // faults may be armed through the admin listener
	Tokens     *admin.Tokens // of the admin listener
	Clock      clock.Clock   // nil is clock.System
	Instance   string        // marks this daemon's child processes; empty in a program that is not mcpd, which has no guard then
	Earlier    string        // how the instances of earlier daemons on the same state begin; empty is none
	Memory     uint64        // bytes that the host may use; 0 is no limit
	Resident   uint64        // bytes that its process may have, with what the runtime does not count; 0 is no limit
	// Pace sets by how many percent the heap may grow until the next collection, for the whole process. Nil leaves it to the runtime.
	Pace func(percent int)
	// Contention is for otp.Options, see Contention. Nil leaves it out.
	Contention func() (ran, waited time.Duration)
	State      string // the directory of what survives this host; empty keeps nothing
	// Own makes sure, before each write, that State is there and this host's alone. Nil is for a host that nobody else's can meet there.
	Own func() error
	// Safe is why only the admin listener is to serve, and MCP to be refused; empty for a host as usual.
	Safe string
	// Faults are those that can be armed in this host. Nil is a registry of its own.
	Faults *fault.Registry
	// Intensity is the restart budget of every supervisor of the tree, for runs that crash on purpose. Zero keeps the tree's own.
	Intensity otp.Intensity
	// Simulation is what a simulated host runs in; the zero value is the world.
	Simulation Simulation
}

// Build says what is running.
type Build struct{ Version, Commit, Go string }

// Running is a started host.
type Running struct {
	h    *host
	tree *otp.Tree
}

// Start starts the whole host and returns when every row of the tree is ready. Servers are not waited for: a tenant is ready when its
// actors are.
func Start(ctx context.Context, c *config.Config, o Options) (*Running, error) {
	h := newHost(c, o)
	tree, err := h.system.Start(ctx, root, h.tree())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), h.end(ctx))
	}
	h.phase.Store(uint32(admin.Serving))
	if o.Safe != "" {
		h.phase.Store(uint32(admin.SafeMode))
		h.recorder.Emit(telemetry.SafeMode{Reason: o.Safe})
	}
	h.forgetTenants()
	h.recorder.Emit(telemetry.ConfigLoaded{Source: o.Source, Generation: h.now().applied.Generation, At: uint64(h.clock.Now().Unix())})
	h.warn(c)
	if o.Unreplaced != nil {
		h.recorder.Emit(telemetry.RestartRefused{Reason: o.Unreplaced.Error()})
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
		self: protocol.Implementation{Name: "mcpd", Version: o.Build.Version},
		last: process.NewLast(o.Simulation.Scheduler != nil), renew: make(chan struct{}, 1),
	}
	h.handover.given = o.Sockets
	h.kept = quota.NewLedger(&h.memory)
	h.index = session.NewIndex(h.kept)
	var id [16]byte
	o.Simulation.random(id[:])
	h.instance = hex.EncodeToString(id[:])
	h.settings.Store(newSettings(c, configuration.Applied{}.Next(o.Clock.Now(), c.Digest())))
	h.metrics = telemetry.NewMetrics(telemetry.MetricsOptions{
		Version: o.Build.Version, Commit: o.Build.Commit, GoVersion: o.Build.Go,
		Tree: h.snapshot, Readiness: h.readiness, Sessions: h.sessions, Faults: func() int { return len(h.faults.Active()) }, KnownMethod: known,
		Limits: h.exported, Queues: h.queues, Config: func() string { return h.now().applied.Digest },
		Spawns:      func() (int, uint64) { return h.spawner.Waiting() },
		IdleRunners: func() int { return h.system.IdleRunners() }, IdleUpstream: h.pools.idle,
		Certificate: h.certificateLeft,
		History:     func() int64 { return h.store.Bytes() }, Kept: h.holdings, Reserved: h.reserved, Records: h.allRecords,
	})
	h.recorder = telemetry.NewRecorder(telemetry.Options{Logger: o.Logger, Clock: o.Clock, Metrics: h.metrics, Faults: h.faults})
	h.faults.Watch(telemetry.Faulted(h.recorder.Emit))
	h.system = otp.NewSystem(otp.Options{
		Logger: o.Logger, Clock: h.awake, Faults: h.faults, Scheduler: o.Simulation.Scheduler, Contention: o.Contention,
		Events: o.Simulation.heard(h.heard(telemetry.Supervision(h.recorder.Emit, locate))),
		Origin: func(path string) string { return locate(path).Tenant },
	})
	h.spawner = stdio.NewSpawner(stdio.SpawnerOptions{Instance: o.Instance, Daemon: o.Instance != "", Earlier: o.Earlier, Report: h.remark})
	h.openState()
	h.store = h.newStore(c)
	h.kept.Bound(h.bounds(c))
	h.beginsWith(c)
	h.edge = &Edge{
		now: h.now, Kept: h.kept, Failures: quota.NewFailures(), Clock: h.awake, Index: h.index,
		Sessions: func() otp.Ref { return h.core("session_manager") }, Down: h.down, Closing: h.closing,
	}
	h.index.Down, h.index.Ending, h.index.Self = h.down, h.ending, h.self
	return h
}

func known(method string) bool {
	_, ok := protocol.LookupMethod(method)
	return ok
}

// Run keeps the host running until ctx ends or the tree gives up, which is an error. The tree runs under the one suture supervisor of
// the process. It returns when everything has stopped.
func (r *Running) Run(ctx context.Context) error {
	top := suture.New(root, suture.Spec{EventHook: func(suture.Event) {}, Timeout: r.h.now().config.Drain + stopBudget})
	top.Add(r.tree.Service())
	err := top.Serve(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, r.h.end(context.WithoutCancel(ctx)))
}

// stopBudget is more than all budgets of the tree but that of the drain together, so that the tree itself decides how long it takes to stop.
const stopBudget = 2 * minute

// Hurry has every request in flight answered at once and subscriptions ended, for a host whose process is about to end without the rest of
// its drain.
func (r *Running) Hurry() {
	r.h.answer()
	r.h.hangUp()
}

// Draining says why the host is about to stop. Readiness says so from here on.
func (r *Running) Draining(reason string) {
	r.h.handover.stays()
	r.h.phase.Store(uint32(admin.Draining))
	r.h.recorder.Emit(telemetry.Draining{Reason: reason, Budget: r.h.now().config.Drain})
}

// Edge is what a transport that this package does not know may serve.
func (r *Running) Edge() *Edge { return r.h.edge }

// Addrs are the addresses of the MCP and the admin listener, empty for one that there is not.
func (r *Running) Addrs() (mcp, adm string) { return r.h.addrs.get("mcp"), r.h.addrs.get("admin") }

// Whereis finds a row of the tree by its path, as Snapshot shows it.
func (r *Running) Whereis(path string) (otp.Ref, bool) { return r.h.system.Whereis(path) }

// Snapshot is the live tree.
func (r *Running) Snapshot() otp.Node { return r.h.snapshot() }

// Kept is what each tenant keeps.
func (r *Running) Kept() []quota.Holding { return r.h.kept.Snapshot() }

// lastLines is what a log that nobody reads may delay the end of the host by.
const lastLines = second

// end lets go of what the tree stood on.
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

// snapshot is the live tree. Before it has started there is nothing but its name.
func (h *host) snapshot() otp.Node {
	for _, n := range h.system.Snapshot().Children {
		if n.ID == root {
			return h.withTenants(withServers(n))
		}
	}
	return otp.Node{ID: root, Path: root, Type: otp.SupervisorType}
}
