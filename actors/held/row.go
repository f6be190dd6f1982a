package held

import (
	"time"

	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Child is the id of a call's actor below its own supervisor.
const Child = "held"

// shutdown is how long an actor may take to end.
const shutdown = time.Second

// Supervised is the child template of calls, each under a supervisor of its own, so that its
// crashes count against it alone. When a call is over, or given up, its supervisor ends too; the
// supervisor above does not count that.
func Supervised(budget otp.Intensity, o func() *Options) otp.Child {
	return otp.Child{Label: telemetry.TransientLabel, Restart: otp.Temporary,
		Start: otp.SupervisorWith(func(args any) otp.Spec {
			return Spec(budget, o, args.(Args))
		})}
}

// Spec is the supervisor of one call.
func Spec(budget otp.Intensity, o func() *Options, a Args) otp.Spec {
	return otp.Spec{Intensity: budget, AutoShutdown: otp.AnySignificant, Children: []otp.Child{{
		ID: Child, Label: Child, Restart: otp.Transient, Significant: true, Shutdown: shutdown,
		Start: otp.Worker(func() otp.Behaviour {
			return New(o(), a)
		}),
	}}}
}
