package client

import (
	"crypto/sha256"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// clients are the sessions and tasks that use a connection, by row. They survive a crash of it.
// Each changes as a whole, by one assignment: a crash leaves it as it was, or as it is to be.
type clients map[string]client

type client struct {
	User
	uses  bool    // and not only as one whose calls another connection hands over
	ref   otp.Ref // zero for a session that has ended before it could be restored
	holds bool    // the server keeps something for it between its calls
	task  taskID  // that it keeps: see tasks.go
}

// User is on whose behalf a session uses a connection.
type User struct {
	Principal string
	Version   protocol.Version // that its client speaks; zero when it is not known
	// Differs says that the server may be told something else than what this client can do, which
	// is Declare, as far as it can be passed on.
	Differs bool
	Declare protocol.ClientCapabilities
	// Presence tells whether its client is there; nil for what is always there.
	Presence Presence
}

// attach notes a session. One that was attached anew after a crash keeps what it had.
func (all clients) attach(row string, ref otp.Ref, holds bool, user User) {
	all[row] = client{user, true, ref, all[row].holds || holds, all[row].task}
}

// detach forgets the sessions of an actor, and returns their rows.
func (all clients) detach(ref otp.Ref) (rows []string) {
	for row := range all.of(ref) {
		delete(all, row)
		rows = append(rows, row)
	}
	return rows
}

// of are the sessions of an actor.
func (all clients) of(ref otp.Ref) clients {
	return all.those(func(c client) bool { return c.uses && c.ref == ref })
}

// here are the sessions that use the connection.
func (all clients) here() clients { return all.those(using) }

func using(c client) bool { return c.uses }

// attached is how many sessions use the connection.
func (all clients) attached() int { return all.count(using) }

// hold reports whether the server keeps something for any of them between its calls.
func (all clients) hold() bool { return all.count(func(c client) bool { return c.holds }) > 0 }

func (all clients) count(are func(client) bool) (n int) {
	for _, c := range all {
		if are(c) {
			n++
		}
	}
	return n
}

func (all clients) those(are func(client) bool) clients {
	some := clients{}
	for row, c := range all {
		if are(c) {
			some[row] = c
		}
	}
	return some
}

// handed notes on whose behalf another connection hands over a call, alone if it has no other.
func (all clients) handed(row string, user User, alone bool) {
	if alone {
		maps.DeleteFunc(all, func(_ string, c client) bool { return !c.uses })
	}
	c := all[row]
	c.User = user
	all[row] = c
}

// keeps notes the server's task that a session keeps.
func (all clients) keeps(row string, task jsontext.Value) {
	if c := all[row]; c.uses {
		c.task = sha256.Sum256(task)
		all[row] = c
	}
}

// keepers are those that keep a task.
func (all clients) keepers(task jsontext.Value) clients {
	sum := taskID(sha256.Sum256(task))
	return all.those(func(c client) bool { return c.task == sum })
}

// leave puts them down for whoever gets them when the connection is given up.
func (all clients) leave(left *Left) {
	left.Sessions, left.Holds, left.Users = map[string]otp.Ref{}, map[string]bool{}, map[string]User{}
	for row, c := range all {
		if left.Users[row] = c.User; c.uses {
			left.Sessions[row] = c.ref
		}
		if c.holds {
			left.Holds[row] = true
		}
	}
}

// regain adds those that were given up, and returns the actors that are back.
func (all clients) regain(left *Left) (back []otp.Ref) {
	for row, ref := range order.Of(left.Sessions) {
		c, known := all[row]
		if !known {
			c.User = left.Users[row]
		}
		if !c.uses {
			c.uses, c.ref = true, ref
			back = append(back, ref)
		}
		c.holds = c.holds || left.Holds[row]
		all[row] = c
	}
	return back
}
