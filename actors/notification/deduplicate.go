package notification

import (
	"crypto/sha256"
	"time"
)

const (
	// DuplicateTime is how long the instances of a server have to report the same change of a
	// resource.
	DuplicateTime = 200 * time.Millisecond
	// MaxRememberedChanges is how many resources are remembered for that, at most. Beyond it a change
	// may be delivered more than once.
	MaxRememberedChanges = 512
)

const resourceUpdated = "notifications/resources/updated"

// deduplicator deduplicates the reports of one change by several instances of a server. All
// instances hold the subscriptions of all clients, because each may be the only one that notices a
// change.
type deduplicator struct {
	by map[changed]*reports
}

// changed identifies a resource of a server with instances. It is a digest, because servers choose
// the length of their URIs.
type changed [sha256.Size]byte

func changedOf(n *Notice) changed {
	return sha256.Sum256([]byte(n.Server + "\x00" + connectionName(n.Key) + "\x00" + n.URI))
}

// reports counts the reports of a change by instance, since the first.
type reports struct {
	since time.Time
	// most is the highest number of reports by one instance, which is how often clients were told.
	most int
	by   map[uint8]int
}

// echo reports whether a notice repeats a report of another instance. The second report of one
// instance within DuplicateTime is no echo.
func (e *deduplicator) echo(n *Notice, now time.Time) bool {
	if n.Instance == 0 || n.Method != resourceUpdated {
		return false
	}
	key := changedOf(n)
	t := e.by[key]
	if t == nil || now.Sub(t.since) > DuplicateTime {
		if e.forget(now); len(e.by) >= MaxRememberedChanges {
			return false
		}
		t = &reports{since: now, by: map[uint8]int{}}
		e.by[key] = t
	}
	t.by[n.Instance]++
	if t.by[n.Instance] <= t.most {
		return true
	}
	t.most = t.by[n.Instance]
	return false
}

// forget drops old entries.
func (e *deduplicator) forget(now time.Time) {
	if e.by == nil {
		e.by = map[changed]*reports{}
	}
	for key, t := range e.by {
		if now.Sub(t.since) > DuplicateTime {
			delete(e.by, key)
		}
	}
}

// echoesDue says that DuplicateTime is over for some entries.
type echoesDue struct{}
