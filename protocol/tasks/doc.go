// Package tasks implements one task that the host runs for a client. It decides which requests go
// to the server, what the client sees of the task, when the task ends, and when it is dropped.
// Tasks have two dialects with different messages: those of 2025-11-25 (§basic/utilities/tasks)
// and those of the 2026-07-28 extension (SEP-2663). A [Task] uses one of the two towards the
// server, and one or none towards the client.
//
// The package has no clock and performs no action: [Task.Step] takes an event with its time and
// returns effects. It does not know the client, the way the task is looked up, or the number of
// tasks.
package tasks

import "time"

// The times and bounds of tasks.
const (
	// DefaultTTL is the time from its creation after which a task is dropped, in any state, if the
	// client asked for no other time: 1 hour.
	DefaultTTL = time.Hour
	// MaxTTL bounds the time that a client may ask for: 24 hours.
	MaxTTL = 24 * time.Hour
	// MinPoll and MaxPoll bound the interval at which a server is polled for the state of a task. A
	// server may ask for any interval between them. DefaultPoll is the interval for a server that asks
	// for none.
	MinPoll     = 500 * time.Millisecond
	DefaultPoll = time.Second
	MaxPoll     = time.Minute
	// MaxMisses is the number of failed polls in a row after which a task fails.
	MaxMisses = 5
	// MaxSteps bounds the rounds of questions before a task is created, or in place of a task.
	MaxSteps = 16
)
