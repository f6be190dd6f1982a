package admin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTokenFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run", "mcpd")
	tokens, err := CreateTokens(dir, Read, Chaos)
	if err != nil {
		t.Fatal(err)
	}
	const addr = "127.0.0.1:7421"
	if _, err := ReadToken(dir, addr, Read); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("before there is a listener: %v", err)
	}
	if err := tokens.Publish(addr); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, TokenFile("localhost:7421"))
	for name, want := range map[string]os.FileMode{dir: 0o700, file: 0o600} {
		if stat, err := os.Stat(name); err != nil || stat.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want mode %v", name, stat.Mode(), err, want)
		}
	}
	old, err := ReadToken(dir, addr, Chaos)
	if err != nil || len(old) < 30 {
		t.Errorf("ReadToken = %q, %v", old, err)
	}
	if got, ok := tokens.scope(old); got != Chaos || !ok {
		t.Errorf("scope of the chaos token = %v, %v", got, ok)
	}
	if _, err := ReadToken(dir, addr, Write); err == nil || !strings.Contains(err.Error(), "write") {
		t.Errorf("a scope that was not granted: %v", err)
	}
	if got, ok := tokens.scope(""); ok {
		t.Errorf("the empty token has scope %v", got)
	}

	next, err := CreateTokens(dir, Read, Chaos)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Remove(); err != nil {
		t.Errorf("removing what was never published: %v", err)
	}
	if got, err := ReadToken(dir, addr, Chaos); got != old {
		t.Errorf("tokens that were not published replaced %q by %q (%v)", old, got, err)
	}
	for range 2 { // the second call is that of a listener that is started again
		if err := next.Publish(addr); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := next.scope(old); ok {
		t.Error("a token of an earlier run is still good")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%v in the runtime directory, want the token file alone", entries)
	}

	other, err := CreateTokens(dir, Chaos)
	if err != nil || other.Publish("127.0.0.1:7431") != nil {
		t.Fatal(err)
	}
	if got, err := ReadToken(dir, addr, Chaos); err != nil || got == old {
		t.Errorf("beside another listener: %q, %v", got, err)
	}
	if err := other.Remove(); err != nil {
		t.Error(err)
	}

	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadToken(dir, addr, Read); err == nil {
		t.Error("a token file that all may read was trusted")
	}
	if err := next.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := ReadToken(dir, addr, Read); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end of the run: %v", err)
	}

	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateTokens(dir, Read); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory that all may write: %v", err)
	}
}
