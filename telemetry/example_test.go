package telemetry_test

import (
	"log/slog"
	"os"
	"time"

	"mcpd/telemetry"
)

// An actor emits an event and continues; the recorder writes it later. The log in this example
// has no times, so that its output is always the same.
func Example() {
	timeless := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	recorder := telemetry.NewRecorder(telemetry.Options{
		Logger: slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: timeless})),
	})

	files := telemetry.Where{Tenant: "acme", Server: "files"}
	recorder.Emit(telemetry.UpstreamExited{Where: files, PID: 4711, Exit: "SIGKILL"})
	recorder.Emit(telemetry.UpstreamReady{Where: files, PID: 4712, Down: 800 * time.Millisecond})
	recorder.Flush()

	// Output:
	// level=WARN msg="upstream exited" event=upstream_exited tenant=acme server=files pid=4711 exit=SIGKILL
	// level=INFO msg="upstream ready" event=upstream_ready tenant=acme server=files pid=4712 down=800ms
}
