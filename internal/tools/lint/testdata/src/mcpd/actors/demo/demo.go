package demo

import (
	"encoding/json" // want `import of encoding/json: .*protocol/jsonrpc`
	"log/slog"      // want `import of log/slog: .*telemetry/events.go`
	"os/exec"
	"time"
)

func init() { // want `init function: .*list the thing`
	slog.Info("a log line")
}

func work(done chan struct{}) {
	go close(done) // want `bare go statement: .*Process.Go`

	// owner: the caller, which receives from done.
	go close(done)

	time.Sleep(time.Second) // want `time.Sleep: .*take now`
	clock := time.Now       // want `time.Now: .*take now`
	_ = time.Since(clock()) // want `time.Since: .*take now`
	<-time.After(1)         // want `time.After: .*take now`
	_ = json.Valid(nil)

	_ = exec.Command("true") // want `os/exec.Command: .*transport/stdio`
	_ = exec.ErrNotFound
}

// timer has a method that is named like a function of package time.
type timer struct{}

func (timer) Now() int { return 0 }

func unrelated(time timer) int { return time.Now() }
