package client

import (
	"crypto/sha256"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// clients are the sessions and tasks that use a connection, by row. They survive a crash of the
// connection. Each changes as a whole, by one assignment: a crash leaves it as it was or as it is
// to be.
type clients map[string]client

type client struct {
	User
	uses  bool    // it uses this connection itself, not only by calls that another one hands over
	ref   otp.Ref // zero for a session that has ended before it could be restored
	holds bool    // the server keeps state for it between calls
	task  taskID  // the server's task that it keeps: see tasks.go
}

// User is on whose behalf a session uses a connection.
type User struct {
	Principal string
	Version   protocol.Version // spoken by its client; zero if unknown
	// Differs says that the server may be told something else than what this client can do. Declare is
	// what it can do, as far as that can be passed on.
	Differs bool
	Declare protocol.ClientCapabilities
	// Presence tells whether the client is there; nil for a user that always is.
	Presence Presence
}

// attach records a session. A session that was attached anew after a crash keeps what it had.
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

// of returns the sessions of an actor.
func (all clients) of(ref otp.Ref) clients {
	return all.those(func(c client) bool { return c.uses && c.ref == ref })
}

// here returns the sessions that use the connection.
func (all clients) here() clients { return all.those(using) }

func using(c client) bool { return c.uses }

// attached returns how many sessions use the connection.
func (all clients) attached() int { return all.count(using) }

// anyHolds reports whether the server keeps state for any of them between calls.
func (all clients) anyHolds() bool { return all.count(func(c client) bool { return c.holds }) > 0 }

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

// handed records the user of a call that another connection hands over. If the call is alone, the
// users of earlier such calls are forgotten.
func (all clients) handed(row string, user User, alone bool) {
	if alone {
		maps.DeleteFunc(all, func(_ string, c client) bool { return !c.uses })
	}
	c := all[row]
	c.User = user
	all[row] = c
}

// keeps records the server's task that a session keeps.
func (all clients) keeps(row string, task jsontext.Value) {
	if c := all[row]; c.uses {
		c.task = sha256.Sum256(task)
		all[row] = c
	}
}

// keepers returns the sessions that keep a task.
func (all clients) keepers(task jsontext.Value) clients {
	sum := taskID(sha256.Sum256(task))
	return all.those(func(c client) bool { return c.task == sum })
}

// leave stores the clients in left, with which the next connection of this key starts.
func (all clients) leave(abandoned *AbandonedState) {
	abandoned.Sessions, abandoned.Holds, abandoned.Users = map[string]otp.Ref{}, map[string]bool{},
		map[string]User{}
	for row, c := range all {
		if abandoned.Users[row] = c.User; c.uses {
			abandoned.Sessions[row] = c.ref
		}
		if c.holds {
			abandoned.Holds[row] = true
		}
	}
}

// restore adds the clients of a connection that was given up, and returns the actors that it added.
func (all clients) restore(abandoned *AbandonedState) (back []otp.Ref) {
	for row, ref := range sortedmap.Sorted(abandoned.Sessions) {
		c, known := all[row]
		if !known {
			c.User = abandoned.Users[row]
		}
		if !c.uses {
			c.uses, c.ref = true, ref
			back = append(back, ref)
		}
		c.holds = c.holds || abandoned.Holds[row]
		all[row] = c
	}
	return back
}
