package tasks_test

import (
	"testing"
	"time"

	"mcpd/protocol/tasks"
)

// §B5: a task is never kept longer than MaxTTL, whatever time a client asks for.
func TestTasksAreKeptForABoundedTime(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, tasks.MaxTTL: tasks.MaxTTL, tasks.MaxTTL + 1: tasks.MaxTTL,
		30 * tasks.MaxTTL: tasks.MaxTTL,
	} {
		if got := tasks.New(start, tasks.Options{TTL: asked}).Expires().Sub(start); got != want {
			t.Errorf("asked for %v it is kept for %v, want %v", asked, got, want)
		}
	}
}
