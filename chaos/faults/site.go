package faults

import (
	"context"
	"io"
	"math/rand/v2"
	"time"
)

// Site says where and how one fault is to strike.
type Site struct {
	Host Operator
	// PID is the host's process, or 0 if the host is on another machine. It changes when the host is
	// killed.
	PID int
	// Start starts the host again and waits until it is ready. It is nil if the host is not ours to
	// kill.
	Start func(ctx context.Context) error
	// Launch starts the host again too, but waits only until it is alive and returns its pid: the host
	// may be in safe mode. It is nil where Start is.
	Launch func(ctx context.Context) (pid int, err error)
	// Tenant is the tenant that is hit; empty when the host is hit.
	Tenant string
	// Client says how a client reaches the tenant.
	Client Client
	// Server is the server of the tenant that is hit; empty when no server is hit.
	Server string
	// Row is the path of the row that is hit; empty when none is.
	Row string
	// Percent is the percentage of matches that are struck; 0 is all.
	Percent float64
	// Duration is the duration of the fault. The caller of Inject calls Heal after it.
	Duration time.Duration
	Params   Values
	// Rand is the source of all randomness of the fault.
	Rand *rand.Rand
}

// Operator is the set of requests that a fault makes of the host in the role of its operator.
type Operator interface {
	// Tree returns the rows of the host, with the members of all pools, in the order of the
	// supervision tree.
	Tree(ctx context.Context) (Tree, error)
	// Arm arms a fault point. The operator renews its lease until it is disarmed, and disarms it when
	// the run ends.
	Arm(ctx context.Context, o ArmRequest) (id string, err error)
	// Disarm ends an armed fault. It is no error if the fault has already ended.
	Disarm(ctx context.Context, id string) error
	// Struck returns how often an armed fault has struck, also after it has ended.
	Struck(ctx context.Context, id string) (int, error)
	// Open requests a path of the admin listener and returns the response as a stream, until ctx ends.
	Open(ctx context.Context, path string) (io.ReadCloser, error)
	// Reload has the host read its configuration again.
	Reload(ctx context.Context) error
}

// ArmRequest asks for a fault of the host's registry.
type ArmRequest struct {
	Action  string  // "panic", "hang", …: see internal/fault
	Place   string  // the kind of place; empty is where actors receive
	Path    string  // an actor's path, or a prefix that ends in "*"
	Kind    string  // the type of the message, as %T prints it; empty is any
	Tenant  string  // the tenant of the place, or whose request caused the message; empty is any
	Server  string  // the server of the place; empty is any, as it must be for a place of an actor
	Session string  // as Server
	Percent float64 // 0 is all
	Seed    uint64  // for the random choice of Percent
	Delay   time.Duration
	Count   int // 0 is unlimited
	// Lease is how long the fault stays armed after its owner has stopped renewing it.
	Lease time.Duration
}
