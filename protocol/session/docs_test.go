package session_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"mcpd/protocol"
	"mcpd/protocol/session"
)

//go:generate go test -run ^TestLifecyclesAreDocumented$ . -update

var update = flag.Bool("update", false, "rewrite docs/lifecycle.gen.md")

// docs/lifecycle.gen.md shows the two transition tables as diagrams.
func TestLifecyclesAreDocumented(t *testing.T) {
	const file = "../../docs/lifecycle.gen.md"
	got := fmt.Sprintf("<!-- Written by go generate ./protocol/session. Do not edit. -->\n\n# The "+
		"lifecycle of a legacy connection\n\n"+
		"From the tables in `protocol/session/phase.go`: what happens to a connection, and the phase "+
		"it leads to. An event that has no arrow is refused and\n"+
		"changes nothing; a deadline that passes after the handshake is ignored.\n\n"+
		"## As a server, towards a client\n\n```mermaid\n%s```\n\n## As a client, towards a "+
		"server\n\n```mermaid\n%s```\n",
		session.Mermaid(protocol.Server), session.Mermaid(protocol.Client))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s is not current (%v): run go generate ./protocol/session", file, err)
	}
}
