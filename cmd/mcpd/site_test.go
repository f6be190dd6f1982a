package main

import (
	"net"
	"net/url"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// The arena's server behind a URL is started once, serves as soon as its URL is known, and ends
// with its input.
func TestSiteIsThereUntilItIsClosed(t *testing.T) {
	var s arenaServer
	first, err := s.open(mcptest.Mcpd(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.open("/nowhere", "")
	if err != nil || again != first {
		t.Errorf("the second time %q, %v; want %q", again, err, first)
	}
	u, err := url.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.DialTimeout("tcp", u.Host, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	s.close()
	if !s.cmd.ProcessState.Success() {
		t.Errorf("it ended with %v", s.cmd.ProcessState)
	}
	if c, err := net.DialTimeout("tcp", u.Host, time.Minute); err == nil {
		_ = c.Close()
		t.Error("it is there after its end")
	}
	if _, err := (&arenaServer{}).open("/bin/true", ""); err == nil {
		t.Error("a program that does not say where it is was taken for one that does")
	}
}
