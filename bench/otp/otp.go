// Package otp is OTP's side of the measurements of bench/actor: an Erlang program that answers the
// same questions as mcpd's side, with ordinary supervisors and gen_servers. It knows no scenario.
package otp

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"mcpd/bench/kit"
)

//go:embed bench.erl
var program []byte

// Start starts the program in a folder, in which the program also writes its reports. The error
// wraps exec.ErrNotFound if Erlang is not installed.
func Start(ctx context.Context, folder string) (*kit.Talk, error) {
	escript, err := exec.LookPath("escript")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "bench.erl")
	if err := os.WriteFile(file, program, 0o600); err != nil {
		return nil, err
	}
	return kit.TalkTo(exec.CommandContext(ctx, escript, file, filepath.Join(folder, "otp.log")))
}

// Release returns the release of OTP and its runtime.
func Release(t *kit.Talk) (string, error) {
	var answer struct {
		Release string `json:"release"`
	}
	if err := t.Ask("release", &answer); err != nil {
		return "", fmt.Errorf("erlang: %w", err)
	}
	return answer.Release, nil
}
