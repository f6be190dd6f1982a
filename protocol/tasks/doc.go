// Package tasks decides about one task that the host keeps for a client: what it asks of the server, what the client sees of it, when it
// ends and when it is forgotten. Tasks of 2025-11-25 (§basic/utilities/tasks) and those of the 2026-07-28 extension (SEP-2663) are not
// alike on the wire; a [Task] speaks one of the two to the server and one, or none, to the client.
//
// It has no clock and performs nothing: [Task.Step] takes an event with its moment and returns effects. It does not know who the client
// is, how the task is found, or how many there may be.
package tasks

import "time"

const (
	// DefaultTTL is how long a task is kept from its creation on, whatever has become of it, when the client did not say.
	DefaultTTL = time.Hour
	// MaxTTL bounds what a client may ask for.
	MaxTTL = 24 * time.Hour
	// MinPoll and MaxPoll bound how often a server is asked how a task is doing; it may wish for something between. DefaultPoll is for one
	// that has no wish.
	MinPoll     = 500 * time.Millisecond
	DefaultPoll = time.Second
	MaxPoll     = time.Minute
	// MaxMisses is how many times in a row a server may fail to say how a task is doing before the task has failed.
	MaxMisses = 5
	// MaxSteps bounds the rounds of questions that come before a task, or instead of one.
	MaxSteps = 16
)
