package subject

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"mcpd/actors/memory"
	"mcpd/gateway/config"
	"mcpd/supervisor"
	"mcpd/telemetry"
)

// Open starts a host from the text of a configuration. It writes its log in the production format,
// to nowhere, and its garbage collector is set as in production.
func Open(ctx context.Context, text string, o supervisor.Options) (*supervisor.Running, error) {
	c, err := config.Load([]byte(text), config.Options{Builtins: supervisor.Builtins})
	if err != nil {
		return nil, err
	}
	o.Pace = memory.GCPercentSetter()
	o.Logger = telemetry.NewLogger(io.Discard, telemetry.FormatJSON, slog.LevelInfo)
	return supervisor.Start(ctx, c, o)
}

func serveHost(ctx context.Context, text string) (string, error) {
	h, err := Open(ctx, text, supervisor.Options{})
	if err != nil {
		return "", err
	}
	go func() { // owner: the process, which ends with it
		if err := h.Run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "bench: host:", err)
			os.Exit(1)
		}
	}()
	address, _ := h.Addrs()
	return "http://" + address + "/mcp", nil
}
