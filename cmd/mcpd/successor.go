package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"mcpd/gateway/config"
	"mcpd/telemetry"
)

const (
	// checkTime bounds each run of the program that is to replace this process.
	checkTime = 20 * time.Second
	// maxCheckOutput bounds the bytes of output that are kept.
	maxCheckOutput = 4 << 10
)

// runner runs a command. It is (*exec.Cmd).Run or the host's replacement for it.
type runner func(*exec.Cmd) error

// checkNext checks, before any part of this host stops, that the program at its path runs, is an
// mcpd, and accepts the configuration.
func checkNext(ctx context.Context, run runner, source string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := checkProgram(ctx, run, program); err != nil || source == builtIn {
		return err
	}
	if _, _, err := load(source, nil, config.Default); err != nil {
		// Only serve has the flags without which this configuration is not accepted, so the program
		// cannot check it.
		return nil
	}
	// `config check` is not used, because it refuses more than a start does.
	_, err = runProgram(ctx, run, program, "config", "print", "--config", source)
	return err
}

// checkProgram checks that a program runs and is an mcpd. A half-written program may be
// executable and then crash.
func checkProgram(ctx context.Context, run runner, program string) error {
	version, err := runProgram(ctx, run, program, "version")
	if err == nil && !bytes.HasPrefix(version, []byte("mcpd ")) {
		said := telemetry.Clean(string(version), 100)
		err = fmt.Errorf("%s is not mcpd: asked for its version, it says %q", program, said)
	}
	return err
}

// runProgram runs a program and returns the beginning of its output.
func runProgram(ctx context.Context, run runner, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var out, wrong excerpt
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &wrong, time.Second
	// Signals from a terminal must not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := run(cmd)
	switch _, exited := errors.AsType[*exec.ExitError](err); {
	case err == nil:
		return out.kept, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s %s: no answer within %s", program, args[0], checkTime)
	case exited && len(wrong.kept) > 0:
		said := telemetry.Clean(string(wrong.kept), telemetry.MaxValue)
		return nil, fmt.Errorf("%s %s: %w: %s", program, args[0], err, said)
	}
	return nil, fmt.Errorf("%s %s: %w", program, args[0], err)
}

// excerpt keeps the first maxCheckOutput bytes that are written to it.
type excerpt struct{ kept []byte }

func (b *excerpt) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), maxCheckOutput-len(b.kept))]...)
	return len(p), nil
}
