package server_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/server"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// S1-11: logging/setLevel is answered when the servers in use have accepted the level, without
// waiting for slow ones.
func TestLevelIsAnsweredWhenServersHaveIt(t *testing.T) {
	run(t, func(r *rig) { r.script["files"]["logging/setLevel"] = nil }, func(r *rig) {
		u := r.ready(`{}`)
		if out := u.ask("logging/setLevel", `{"level":"error"}`); out.Word() != "result" {
			t.Errorf("no server is in use: %v", out.All())
		}
		call := u.call()
		p := r.peer("files")
		if len(p.heard("tools/call")) != 0 {
			t.Error("a call went out before the server had taken the level over")
		}
		agree := func(n int) {
			t.Helper()
			asked := p.heard("logging/setLevel")
			if len(asked) != n {
				t.Fatalf("asked %v, want %d", asked, n)
			}
			p.send(transport.Inbound{Message: jsonrpc.Response(asked[n-1].ID, jsontext.Value(`{}`))})
			r.WaitIdle()
		}
		agree(1) // the level it was told when it came into use
		if call.Word() != "result" {
			t.Errorf("the call: %v", call.All())
		}
		out := u.ask("logging/setLevel", `{"level":"info"}`)
		time.Sleep(server.IntentWait / 2)
		if out.Word() != "none" {
			t.Errorf("before the server agreed: %v", out.All())
		}
		agree(2)
		if out.Word() != "result" {
			t.Errorf("after: %v", out.All())
		}
		slow := u.ask("logging/setLevel", `{"level":"debug"}`)
		if same := u.ask("logging/setLevel", `{"level":"debug"}`); same.Word() != "none" {
			t.Errorf("the same again: %v", same.All())
		}
		time.Sleep(server.IntentWait)
		if slow.Word() != "result" {
			t.Errorf("the server is slow: %v", slow.All())
		}
	})
}

// A refusal of a level by a server is the client's error only if no other server accepted it.
func TestLevelThatEveryServerRefusesIsAnError(t *testing.T) {
	run(t, func(r *rig) {
		delete(r.script["files"], "logging/setLevel")
		r.script["search"]["tools/call"] = result(`{"content":[]}`)
	}, func(r *rig) {
		u := r.ready(`{}`)
		u.call()
		if out := u.ask("logging/setLevel",
			`{"level":"info"}`); out.Word() != int64(jsonrpc.CodeMethodNotFound) {
			t.Errorf("the only server refuses: %v", out.All())
		}
		if out := u.ask("tools/call", `{"name":"search__find"}`); out.Word() != "result" {
			t.Fatal(out.All())
		}
		if out := u.ask("logging/setLevel", `{"level":"debug"}`); out.Word() != "result" {
			t.Errorf("one of two refuses: %v", out.All())
		}
	})
}
