package subject

import (
	"context"
	"os"
	"testing"

	"mcpd/bench/kit"
	"mcpd/internal/load"
)

func TestMain(m *testing.M) {
	kit.RunIfRole(Roles)
	os.Exit(m.Run())
}

// Each process answers a call with a nonce, and ends when it is told to.
func TestProcessesAnswer(t *testing.T) {
	const config = `{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {default: {servers: {demo: {builtin: demo}}}}}`
	for _, test := range []struct{ role, argument, tool string }{{Host, config, "demo__echo"},
		{Bare, "", "echo"}} {
		p, err := kit.Start(t.Context(), test.role, test.argument)
		if err != nil {
			t.Fatal(err)
		}
		s, err := load.Connect(t.Context(), load.SessionOptions{
			URL: p.URL, Tool: test.tool, Argument: "message",
		})
		if err != nil {
			t.Fatal(err)
		}
		nonce := load.Nonce("a-nonce")
		if got, err := s.Call(t.Context(), nonce); err != nil || got != nonce {
			t.Errorf("%s: %q, %v", test.role, got, err)
		}
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := p.Stop(); err != nil {
			t.Errorf("%s: %v", test.role, err)
		}
	}
}
