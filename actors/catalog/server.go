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

// MaxConnections bounds the connections to one server on behalf of one principal. It is above what a machine's ports and memory bear, so
// that it is met only by one who never ends a session; it keeps others from paying for that.
const MaxConnections = 1 << 14

// server is what the catalogue knows about one server.
type server struct {
	config   tenant.Server
	revision uint32 // of config; 0 is the first
	gone     bool   // it is configured no more, and ends when nobody uses it
	removing bool   // its supervisor is being stopped
	sup      otp.Ref
	starting bool // the supervisor is on its way
	state    client.State
	unneeded string // why a connection was closed last that was in order, in a word
	since    time.Time
	ran      bool // some connection was ready
	channel  bool // it was found to speak HTTP+SSE
	vain     bool // a caller has waited for it as long as any may, and no connection was ready since
	recovery recovery.Table
	noted    bool // there is something of it among what is stored of quarantines
	conns    map[tenant.Key]*conn
	lists    map[tenant.Key]*listing
	last     *listing                     // the one that was learnt last
	odd      [client.Kinds][]merge.Oddity // of its items in the list of all servers
	opening  map[tenant.Key][]pending
	// retiring are the connections that have ended for good and whose rows are being removed.
	retiring map[tenant.Key]bool
	left     map[tenant.Key]*client.Left // of connections that were given up
	// instead are the connections that callers use for whom there may be no other, by their keys.
	instead map[tenant.Key]tenant.Key

	// What follows is counted from the fields above by each incarnation anew.
	in    map[client.State]int  // connections, by what they reported last
	lacks map[tenant.Key]string // which lists those that are ready could not have
	held  map[string]int        // connections that are or are being opened, by the principal they are for
	// counted is how many bytes its lists count for the tenant.
	counted int
}

func newServer(config tenant.Server, now time.Time) *server {
	return &server{
		config: config, state: client.Idle, since: now,
		recovery: recovery.New(), conns: map[tenant.Key]*conn{}, lists: map[tenant.Key]*listing{},
		opening: map[tenant.Key][]pending{}, retiring: map[tenant.Key]bool{}, left: map[tenant.Key]*client.Left{},
		instead: map[tenant.Key]tenant.Key{},
		in:      map[client.State]int{}, lacks: map[tenant.Key]string{}, held: map[string]int{},
	}
}

// conn is one connection.
type conn struct {
	sup       otp.Ref // its own
	ref       otp.Ref
	declare   protocol.ClientCapabilities // what its clients can be asked
	info      protocol.Implementation     // and who they are
	modern    bool                        // their revision has no handshake
	dismissed bool                        // it was told to end when it is not used any more
	removed   bool                        // and that its server is configured no more
	report    client.Report
	said      int       // bytes of its lists and facts
	since     time.Time // when it became ready
	own       bool      // it is one session's, which is shown what this one lists: see ownLists
	// arriving are the sessions that were sent there, and of which it has not said that they are.
	arriving []*client.AttachRequest
}

// place is where a connection's supervisor or, without a key, a server's is kept.
type place struct {
	server string
	key    *tenant.Key
}

// add keeps a connection.
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
	c.makeRoom(s, key)
	delete(c.places, conn.sup)
	s.release(key.Principal)
	s.in[conn.report.State]--
	delete(s.lacks, key)
	c.countLists(s)
	c.unlistOwn(s, key, conn)
	c.follow(s, recovery.Event{Op: recovery.Gone, Key: key})
}

// release counts one connection less for a principal.
func (s *server) release(principal string) {
	if s.held[principal]--; s.held[principal] == 0 {
		delete(s.held, principal)
	}
}

// took takes note of what a connection reported last, and reports whether it was ready for a while until now.
func (s *server) took(conn *conn, r *client.Report, now time.Time) (steady bool) {
	before := conn.report.State
	conn.report, conn.said = *r, r.Facts.Size()+sizeOf(&r.Lists)
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
		conn.since, s.ran, s.vain = now, true, s.vain && !s.current(r.Key)
	case r.State != client.Ready && before == client.Ready:
		return now.Sub(conn.since) >= recovery.Steady
	}
	return false
}

// key is the connection that a caller's requests go through. Where nobody has said how a URL is shared
// and its server is found to speak HTTP+SSE, that is shared as one that is configured so: the stream that
// the lists came on may be all that such a server can serve.
func (s *server) key(caller Caller) tenant.Key {
	key := Key(s.config, caller)
	if key.Share != tenant.BySession || s.config.Share != tenant.ByDefault || !s.channel || s.conns[s.at(key)] != nil {
		return key
	}
	return ListKey(s.config, caller)
}

// Status is what the catalogue publishes about itself in the tree: a record for each server, each replaced when it changes.
type Status struct{ records []atomic.Pointer[Record] }

// Records is how the servers are doing, in configuration order. Safe for concurrent use.
func (s Status) Records() []Record {
	list := make([]Record, len(s.records))
	for i := range s.records {
		list[i] = *s.records[i].Load()
	}
	return list
}
