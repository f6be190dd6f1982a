// Package instances manages the instances of a server beyond the first. It decides which of them
// takes a call that waits for its turn, when another is started, and when one ends.
//
// Where calls of several clients cannot be in flight at once, a long one would keep all others
// waiting: a call that asks its user something lasts for minutes. So the first connection of a key
// has more instances of the server started, and hands them the calls that wait for their turn.
// These instances know no sessions. They subscribe to what the first one is subscribed to. Lists
// are those of the first one, with what a call has added to another.
//
// The package knows no clock, no connection and no process: it is told the time, what is known of
// the server and what happened, and returns what to do.
package instances
