package notification

import (
	"crypto/sha256"
	"time"
)

const (
	// EchoTime is how long the instances of a server have to tell of the same change of a resource.
	EchoTime = 200 * time.Millisecond
	// MaxEchoes is how many resources are remembered for that, at most. Beyond it a change may be told
	// more than once.
	MaxEchoes = 512
)

const resourceUpdated = "notifications/resources/updated"

// echoes finds what several instances of a server tell of one change. All of them are subscribed for
// whoever is, as each may be the only one that notices a change.
type echoes struct {
	by map[changed]*told
}

// changed is a resource that a server with instances tells of: a digest, since servers choose how long
// their URIs are.
type changed [sha256.Size]byte

func changedOf(n *Notice) changed {
	return sha256.Sum256([]byte(n.Server + "\x00" + over(n.Key) + "\x00" + n.URI))
}

// told is how often each instance has told of it since the first did.
type told struct {
	since time.Time
	most  int // by one instance, which is how often clients were told
	by    map[uint8]int
}

// echo reports whether a notice repeats what another instance has told. The second change that one
// instance tells of within the time is no echo.
func (e *echoes) echo(n *Notice, now time.Time) bool {
	if n.Instance == 0 || n.Method != resourceUpdated {
		return false
	}
	key := changedOf(n)
	t := e.by[key]
	if t == nil || now.Sub(t.since) > EchoTime {
		if e.forget(now); len(e.by) >= MaxEchoes {
			return false
		}
		t = &told{since: now, by: map[uint8]int{}}
		e.by[key] = t
	}
	t.by[n.Instance]++
	if t.by[n.Instance] <= t.most {
		return true
	}
	t.most = t.by[n.Instance]
	return false
}

// forget forgets what is old.
func (e *echoes) forget(now time.Time) {
	if e.by == nil {
		e.by = map[changed]*told{}
	}
	for key, t := range e.by {
		if now.Sub(t.since) > EchoTime {
			delete(e.by, key)
		}
	}
}

// echoesDue says that the time is over in which instances tell of the same change.
type echoesDue struct{}
