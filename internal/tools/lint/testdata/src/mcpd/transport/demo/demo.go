package demo

import (
	"encoding/json" // want `import of encoding/json`
	"log/slog"
	"time"
)

func deadline() time.Time {
	go slog.Info("outside of the actors")
	_ = json.Valid(nil)
	return time.Now().Add(time.Second)
}
