package task

import (
	"time"

	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Child is the id of a task's actor below the supervisor that it has for itself.
const Child = "task"

// shutdown is how long an actor may take to end.
const shutdown = time.Second

// Supervised is the template of tasks, each under a supervisor of its own: what crashes it is counted against it alone. When it is given up, and
// when it is over, its supervisor ends too; the one above does not count it.
func Supervised(budget otp.Intensity, o func() *Options) otp.Child {
	return otp.Child{Label: telemetry.Passing, Restart: otp.Temporary, Start: otp.SupervisorWith(func(args any) otp.Spec {
		return Spec(budget, o, args.(Args))
	})}
}

// Spec is the supervisor of one of them.
func Spec(budget otp.Intensity, o func() *Options, a Args) otp.Spec {
	return otp.Spec{Intensity: budget, AutoShutdown: otp.AnySignificant, Children: []otp.Child{{
		ID: Child, Label: Child, Restart: otp.Transient, Significant: true, Shutdown: shutdown, Start: otp.Worker(func() otp.Behaviour { return New(o(), a) }),
	}}}
}
