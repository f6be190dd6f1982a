// Package run carries an experiment out on a running host: load on every tenant from beginning to end, faults in the middle, everything healed
// afterwards, and all that was seen meanwhile in one record. It works through what an operator and clients of the host have. It judges nothing,
// and knows no kind of fault by its name.
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

// Options say what to run where.
type Options struct {
	Experiment experiment.Experiment
	// Short says that the experiment's phases are too short for a verdict on latencies and recovery.
	Short bool
	Kinds []faults.Kind
	// Admin is the base URL of the admin listener.
	Admin string
	// Token returns the host's token of a scope. It is asked anew for each request: a host that was started again has others.
	Token func(admin.Scope) (string, error)
	// MCP is the base URL of the host's endpoints; empty asks the host.
	MCP string
	// Keys are the bearer tokens of tenants; one without any needs none.
	Keys map[string]string
	// Target and Bystanders are the roles, as in experiment.Cast.
	Target     string
	Bystanders []string
	Seed       uint64
	// Meant says that a host in production is to be broken too.
	Meant bool
	// Start starts the host again after it was killed. Nil says that it is not ours to kill.
	Start func(ctx context.Context) error
	// Progress is told in a line what happens; nil tells nobody.
	Progress func(line string)
}

// Errors of Run that say why nothing was broken.
var (
	// ErrProduction says that the host is in production and nobody has said that it is meant.
	ErrProduction = errors.New("this host is in production: break another one; if it is to be this one, say so with --i-know")
	// ErrBusy says that another run has faults armed on the host.
	ErrBusy = errors.New("another run breaks this host")
	// ErrUnable says that the host has not what the experiment's faults need. Another experiment may need something else.
	ErrUnable = errors.New("it cannot be run on this host")
	// ErrUnreachable says that the host or one of its tenants does not answer.
	ErrUnreachable = errors.New("no answer")
)

// Bounds of a run.
const (
	// askTime bounds one question to the host. It answers in milliseconds; one that is being broken may take longer.
	askTime = 5 * time.Second
	// healTime bounds the healing of one fault, which may have to wait for what it began.
	healTime = 15 * time.Second
	// warmTime bounds how long the host may take to have all servers started before anything is measured.
	warmTime = time.Minute
	// warmCalls are made in each session before anything is measured, as far as warmSeconds have room for them. A host keeps the streams of the last
	// 256 for a resumption. The short form has less time for all: in it the host may keep more afterwards.
	warmCalls        = 300
	warmSeconds      = 5
	warmSecondsShort = 2
	// graceTime is how much later than its deadline a call may have its outcome.
	graceTime = 250 * time.Millisecond
	// leakTime is how long after the run the host may take to let go of what it held.
	leakTime = 10 * time.Second
	// maxWorkers bounds the calls of one tenant that are under way at once, and the memory for them.
	maxWorkers = 256
	// maxEvents bounds the events of a record, some hundred bytes each.
	maxEvents = 100_000
	// maxPassing bounds those of them that tell of sessions which come and go.
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
