package supervisor

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"mcpd/telemetry"
)

// A GET that is answered with 405 tells a client that there is no stream. The log has it only at
// level debug.
func TestRefusedStreamIsRoutine(t *testing.T) {
	for level, want := range map[slog.Level]int{slog.LevelInfo: 2, slog.LevelDebug: 3} {
		var log strings.Builder
		h := hostOf("files")
		h.recorder = telemetry.NewRecorder(telemetry.Options{
			Logger: telemetry.NewLogger(&log, telemetry.FormatJSON, level),
		})
		for _, refused := range []struct{ method, reason string }{
			{"GET", "http_method"}, {"PUT", "http_method"}, {"GET", "unauthorized"},
		} {
			h.refused(httptest.NewRequest(refused.method, "/mcp", nil), "acme", refused.reason, 0)
		}
		h.recorder.Flush()
		if got := strings.Count(log.String(), `"rejected"`); got != want {
			t.Errorf("at level %v there are %d lines, want %d:\n%s", level, got, want, log.String())
		}
	}
}
