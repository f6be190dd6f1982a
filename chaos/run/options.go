// Package run carries out an experiment on a running host. It keeps load on every tenant from
// beginning to end, injects faults in the middle, heals everything afterwards, and records all
// observations. It uses only the interfaces of an operator and of clients of the host. It judges
// nothing, and knows no kind of fault by name.
package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
	"mcpd/telemetry/admin"
)

// Options are the options of a run.
type Options struct {
	Experiment experiment.Experiment
	// Short says that the experiment's phases are too short for a verdict on latencies and recovery.
	Short bool
	Kinds []faults.Kind
	// Admin is the base URL of the admin listener.
	Admin string
	// Token returns the host's token of a scope. It is called for each request, since a restarted host
	// has new tokens.
	Token func(admin.Scope) (string, error)
	// MCP is the base URL of the host's endpoints. If it is empty, the host is asked.
	MCP string
	// Keys are the bearer tokens of tenants. A tenant that requires no key has no entry.
	Keys map[string]string
	// Target and Bystanders are the roles, as in experiment.Experiment.AssignRoles.
	Target     string
	Bystanders []string
	Seed       uint64
	// Meant allows faults on a host in production.
	AllowProduction bool
	// Start starts the host again after it was killed. Nil says that the run must not kill the host.
	Start func(ctx context.Context) error
	// Progress is called with a line about each step. It may be nil.
	Progress func(line string)
}

// Errors of Run. They say why nothing was broken.
var (
	// ErrProduction says that the host is in production and Options.Meant is not set.
	ErrProduction = errors.New("this host is in production: break another one; if it is to be this " +
		"one, say so with --i-know")
	// ErrBusy says that another run has faults armed on the host.
	ErrBusy = errors.New("another run breaks this host")
	// ErrUnable says that the host lacks something that the experiment's faults need. Other
	// experiments may not need it.
	ErrUnable = errors.New("it cannot be run on this host")
	// ErrUnreachable says that the host or one of its tenants does not answer.
	ErrUnreachable = errors.New("no answer")
)

// Bounds of a run.
const (
	// askTime bounds one request to the host. The host answers in milliseconds, but may take longer
	// while it is being broken.
	askTime = 5 * time.Second
	// healTime bounds the healing of one fault, which may have to wait for work that the fault began.
	healTime = 15 * time.Second
	// warmTime bounds how long the host may take to start all servers before anything is measured.
	warmTime = time.Minute
	// warmCalls is the number of calls in each session before anything is measured, limited by
	// warmSeconds. A host keeps the streams of the last 256 calls for resumption. The short form has
	// less time, so that the host may hold more afterwards.
	warmCalls        = 300
	warmSeconds      = 5
	warmSecondsShort = 2
	// graceTime is how much later than its deadline a call may have its outcome.
	graceTime = 250 * time.Millisecond
	// releaseTime is how long after the run the host may take to release what it held.
	releaseTime = 10 * time.Second
	// maxWorkers bounds the concurrent calls of one tenant, and so their memory.
	maxWorkers = 256
	// maxEvents bounds the events of a record, at some hundred bytes each.
	maxEvents = 100_000
	// maxPassing bounds the events about sessions that come and go. They are part of maxEvents.
	maxPassing = maxEvents / 2
	// maxSlips and maxErrors bound the texts of one tenant.
	maxSlips  = 1000
	maxErrors = 32
)

func (o *Options) say(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}
