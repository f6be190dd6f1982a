package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mcpd/telemetry/admin"
)

// claim reserves a host for one user's run: each of two runs at once would measure the damage of
// the other. The claim ends with the process, however the process ends.
type claim struct {
	f     *os.File
	since time.Time
}

// maxClaim bounds the bytes that are read from another run's claim: a name, a process and a time.
const maxClaim = 512

// claimHost reserves the host at addr for this process. The error says which run holds it.
func claimHost(dir, addr string, now time.Time) (*claim, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, claimFile(addr))
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			// If this fails, the error just says less.
			data, _ := io.ReadAll(io.LimitReader(f, maxClaim))
			return nil, errors.Join(&failure{exitBusy, errors.New(describeClaim(string(data)))}, f.Close())
		case err != nil:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		ours, err := f.Stat()
		if at, e := os.Stat(path); err == nil && e == nil && os.SameFile(at, ours) {
			return &claim{f, now}, nil
		}
		// The previous owner has ended and removed the file in the meantime.
		f.Close()
	}
}

// claimFile returns the name of the claim file. It resembles the name of the host's token file,
// and also contains the host if the host is on another machine.
func claimFile(addr string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(admin.TokenFile(addr), "admin-"), ".tokens")
	host, _, _ := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); host != "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		name = strings.Map(func(r rune) rune {
			if r == '/' || r == ':' || r == '%' {
				return '-'
			}
			return r
		}, host) + "-" + name
	}
	return "chaos-" + name + ".run"
}

// setExperiment writes the name of the experiment into the claim, for processes that find the host
// claimed.
func (c *claim) setExperiment(name string) error {
	text := fmt.Sprintf("%s\n%d\n%s\n", name, os.Getpid(), c.since.Format(time.RFC3339))
	if err := c.f.Truncate(0); err != nil {
		return err
	}
	_, err := c.f.WriteAt([]byte(text), 0)
	return err
}

// describeClaim describes the text of a claim in a sentence.
func describeClaim(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) < 3 {
		return "another run is about to begin on this host: wait for its end"
	}
	return fmt.Sprintf(
		"%s runs on this host, in process %s since %s: wait for its end, or end it with kill -INT %s, "+
			"which heals everything first", lines[0], lines[1], lines[2], lines[1],
	)
}

// release releases the host.
func (c *claim) release() {
	// The file is removed while it is locked, so a process that has opened it notices.
	_ = os.Remove(c.f.Name())
	_ = c.f.Close()
}
