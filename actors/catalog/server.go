package catalog

import (
	"sync/atomic"
	"time"

	"mcpd/actors/catalog/internal/recovery"
	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// MaxConnections bounds the connections to one server for one principal. It is more than the ports
// and memory of a machine serve in normal use, so only a principal that never ends its sessions
// reaches it. It protects the others from such a principal.
const MaxConnections = 1 << 14

// server is what the catalogue knows about one server.
type server struct {
	config           tenant.Server
	revision         uint32 // of config; 0 is the first
	unconfigured     bool   // no longer configured; it ends when no session uses it
	removing         bool   // its supervisor is being stopped
	sup              otp.Ref
	starting         bool // the supervisor is being started
	state            client.State
	unneeded         string // short reason why a healthy connection was closed last
	since            time.Time
	ran              bool // some connection was ready
	channel          bool // it speaks HTTP+SSE
	timedOut         bool // a caller has timed out waiting for it, and no connection was ready since
	recovery         recovery.Table
	quarantineStored bool // the store has a quarantine record of it
	conns            map[tenant.Key]*conn
	lists            map[tenant.Key]*listing
	last             *listing                        // the one that was learnt last
	oddities         [client.Kinds][]merge.ItemIssue // oddities of its items in the aggregate's list
	awaitingStart    map[tenant.Key][]pending
	// retiring are the connections that have ended for good and whose rows are being removed.
	retiring map[tenant.Key]bool
	carried  map[tenant.Key]*client.AbandonedState // carried states of ended connections
	// substitutes maps the keys of callers to the connections that they use instead of their own.
	substitutes map[tenant.Key]tenant.Key

	// The fields below are derived from those above, by each new incarnation.
	in    map[client.State]int  // number of connections by their last reported state
	lacks map[tenant.Key]string // lists that ready connections could not get
	held  map[string]int        // number of connections, open or being opened, by principal
	// counted is the number of bytes charged to the tenant for its lists.
	counted int
}

func newServer(config tenant.Server, now time.Time) *server {
	return &server{
		config: config, state: client.Idle, since: now,
		recovery: recovery.New(), conns: map[tenant.Key]*conn{}, lists: map[tenant.Key]*listing{},
		awaitingStart: map[tenant.Key][]pending{}, retiring: map[tenant.Key]bool{},
		carried:     map[tenant.Key]*client.AbandonedState{},
		substitutes: map[tenant.Key]tenant.Key{},
		in:          map[client.State]int{}, lacks: map[tenant.Key]string{}, held: map[string]int{},
	}
}

// conn is one connection.
type conn struct {
	sup         otp.Ref // its own supervisor
	ref         otp.Ref
	declare     protocol.ClientCapabilities // capabilities of its clients
	info        protocol.Implementation     // implementation of its clients
	modern      bool                        // their revision has no handshake
	dismissed   bool                        // it was told to end when it is no longer used
	removed     bool                        // it was told that its server is no longer configured
	report      client.Report
	reportBytes int       // bytes of its lists and facts
	since       time.Time // when it became ready
	listsDiffer bool      // it belongs to one session, which sees its lists: see ownLists
	// arriving are the sessions that were sent to it, and that it has not confirmed.
	arriving []*client.AttachRequest
}

// place locates the supervisor of a connection or, without a key, of a server.
type place struct {
	server string
	key    *tenant.Key
}

// add stores a connection.
func (c *Catalog) add(s *server, key tenant.Key, conn *conn) {
	s.conns[key] = conn
	c.count(s, key, conn)
}

func (c *Catalog) count(s *server, key tenant.Key, conn *conn) {
	c.places[conn.sup] = place{s.config.Name, &key}
	s.held[key.Principal]++
	s.in[conn.report.State]++
	c.p.Monitor(conn.sup)
}

// drop forgets a connection.
func (c *Catalog) drop(s *server, key tenant.Key) {
	conn := s.conns[key]
	delete(s.conns, key)
	c.dropSubstitutes(s, key)
	delete(c.places, conn.sup)
	s.release(key.Principal)
	s.in[conn.report.State]--
	delete(s.lacks, key)
	c.countLists(s)
	c.unlistOwn(s, key, conn)
	c.applyRecovery(s, recovery.Event{Op: recovery.Gone, Key: key})
}

// release counts one connection less for a principal.
func (s *server) release(principal string) {
	if s.held[principal]--; s.held[principal] == 0 {
		delete(s.held, principal)
	}
}

// noteReport stores the last report of a connection. It returns true if the report ends a ready
// time of at least recovery.Steady.
func (s *server) noteReport(conn *conn, r *client.Report, now time.Time) (steady bool) {
	before := conn.report.State
	conn.report, conn.reportBytes = *r, r.Facts.Size()+sizeOf(&r.Lists)
	s.in[before]--
	s.in[r.State]++
	delete(s.lacks, r.Key)
	if r.Closed != "" {
		s.unneeded = r.Closed
	}
	if r.Lacks != "" {
		s.lacks[r.Key] = r.Lacks
	}
	switch {
	case r.State == client.Ready && before != client.Ready:
		s.channel = r.Channel
		conn.since, s.ran, s.timedOut = now, true, s.timedOut && !s.current(r.Key)
	case r.State != client.Ready && before == client.Ready:
		return now.Sub(conn.since) >= recovery.Steady
	}
	return false
}

// key is the connection that carries a caller's requests. If the configuration does not say how a
// URL is shared, and its server speaks HTTP+SSE, it is treated as shared by principal. Such a
// server may be able to serve only one stream: the one that its lists came on.
func (s *server) key(caller Caller) tenant.Key {
	key := Key(s.config, caller)
	if key.Share != tenant.BySession || s.config.Share != tenant.ByDefault || !s.channel ||
		s.conns[s.at(key)] != nil {
		return key
	}
	return ListKey(s.config, caller)
}

// Status is what the catalogue publishes about itself in the tree. It has a record for each server,
// which is replaced when it changes.
type Status struct{ records []atomic.Pointer[Record] }

// Records are the states of the servers, in configuration order. Safe for concurrent use.
func (s Status) Records() []Record {
	list := make([]Record, len(s.records))
	for i := range s.records {
		list[i] = *s.records[i].Load()
	}
	return list
}
