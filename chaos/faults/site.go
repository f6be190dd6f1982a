package faults

import (
	"context"
	"io"
	"math/rand/v2"
	"time"
)

// Site is where and how one fault is to strike.
type Site struct {
	Host Operator
	// PID is the host's process, 0 where that is on another machine. It is another one after the host was killed.
	PID int
	// Start starts the host again and waits until it is ready. It is nil where the host is not ours to kill.
	Start func(ctx context.Context) error
	// Launch does so too, and waits only until it lives and says which process it is: it may be in safe mode. It is nil where Start is.
	Launch func(ctx context.Context) (pid int, err error)
	// Tenant is who is hit; empty when the host is.
	Tenant string
	// Client is how a client reaches the tenant.
	Client Client
	// Server is which of the tenant's servers; empty when no server is hit.
	Server string
	// Row is the path of the row that is hit; empty when none is.
	Row string
	// Percent is how many of a hundred are struck; 0 is all.
	Percent float64
	// For is how long the fault is to last. Whoever asked for it calls Heal then.
	For  time.Duration
	With Values
	// Rand is where everything that the fault draws comes from.
	Rand *rand.Rand
}

// Operator is what somebody who runs the host can ask of it.
type Operator interface {
	// Tree returns the rows that there are, pools whole, in the tree's order.
	Tree(ctx context.Context) (Tree, error)
	// Arm has a fault point strike. The operator renews its lease until it is disarmed, and ends it when the run ends.
	Arm(ctx context.Context, o Order) (id string, err error)
	// Disarm ends what was armed. It is no error that it has ended.
	Disarm(ctx context.Context, id string) error
	// Struck is how often what was armed has struck, also after it has ended.
	Struck(ctx context.Context, id string) (int, error)
	// Open asks the admin listener for a path and returns the answer as it comes, until ctx ends.
	Open(ctx context.Context, path string) (io.ReadCloser, error)
	// Reload has the host read its configuration anew.
	Reload(ctx context.Context) error
}

// Order asks for a fault of the host's registry.
type Order struct {
	Action  string  // "panic", "hang", …: see internal/fault
	Place   string  // the kind of place; empty is where actors receive
	Path    string  // an actor's path, or a prefix that ends in "*"
	Kind    string  // of the message, as %T prints it; empty is any
	Tenant  string  // of places that are no actor's
	Server  string  // the same
	Session string  // the same
	Percent float64 // 0 is all
	Seed    uint64  // of what Percent draws
	Delay   time.Duration
	Count   int // 0 is as often as it matches
	// Lease is how long the fault outlives whoever has armed it.
	Lease time.Duration
}
