package gateway

import (
	"os"
	"slices"
	"testing"

	"mcpd/bench/kit"
	"mcpd/bench/subject"
	"mcpd/internal/load"
)

func TestMain(m *testing.M) {
	kit.RunIfRole(slices.Concat(Roles, subject.Roles))
	os.Exit(m.Run())
}

// TestTargetsEcho calls every target that is measured: each answers with the message that it got.
func TestTargetsEcho(t *testing.T) {
	var all processes
	defer func() {
		if err := all.stop(); err != nil {
			t.Error(err)
		}
	}()
	stdio, err := startStdio(t.Context(), &all)
	if err != nil {
		t.Fatal(err)
	}
	http, err := startHTTP(t.Context(), &all)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range slices.Concat(stdio, http) {
		if err := target.open(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		for i, c := range target.clients {
			nonce := load.Nonce("n1-" + string(rune('0'+i)))
			if got, err := c.Call(t.Context(), nonce); err != nil || got != nonce {
				t.Errorf("%s: %q, %v", target.name, got, err)
			}
		}
		if err := target.shut(); err != nil {
			t.Errorf("%s: %v", target.name, err)
		}
	}
}
