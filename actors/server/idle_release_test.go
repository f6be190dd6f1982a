package server_test

import (
	"testing"
	"time"

	"mcpd/gateway/tenant"
)

// forgetful makes sessions release the servers after 15 minutes. The server "search" keeps state
// between calls.
func forgetful(r *rig) {
	r.tenant.Servers[0].IdleRelease = 15 * time.Minute
	r.tenant.Servers[1].IdleRelease = 15 * time.Minute
	r.tenant.Servers[1].Instances = 1
}

// postOnly is a client of Streamable HTTP that has completed its handshake, and has no open stream.
func (r *rig) postOnly() *user {
	r.T.Helper()
	u := r.streamed("ci")
	u.shake(`{}`)
	return u
}

// comes is what a transport does with each request of a client.
func (u *user) comes() { u.h.Wake(); u.h.Touch(); u.r.WaitIdle() }

// A session without a request or a stream releases its servers, and its subscriptions end. When its
// client is back they are made again. A server that keeps state between calls is not released.
func TestSilentSessionLetsGoOfItsServers(t *testing.T) {
	run(t, forgetful, func(r *rig) {
		u := r.postOnly()
		u.ask("tools/list", `{}`)
		u.call()
		u.ask("tools/call", `{"name":"search__find"}`)
		u.ask("resources/subscribe", `{"uri":"test://x"}`)
		files := r.peer("files")
		u.comes()
		for range 3 { // each request postpones the release
			time.Sleep(10 * time.Minute)
			u.comes()
		}
		if got := files.heard("resources/unsubscribe"); len(got) != 0 {
			t.Fatal("it lets go although its client is there")
		}
		time.Sleep(15*time.Minute + time.Second)
		r.WaitIdle()
		if got := files.heard("resources/unsubscribe"); len(got) != 1 {
			t.Fatalf("%d unsubscribed", len(got))
		}
		if got := u.h.Subscriptions(); got != 1 {
			t.Errorf("it has forgotten its client's intents: %d", got)
		}

		u.comes()
		if got := files.heard("resources/subscribe"); len(got) != 2 {
			t.Errorf("%d subscribed", len(got))
		}
		if out := u.call(); out.Word() != "result" {
			t.Errorf("a call: %v", out.All())
		}
		time.Sleep(15*time.Minute + time.Second) // and once more
		r.WaitIdle()
		if got := files.heard("resources/unsubscribe"); len(got) != 2 {
			t.Errorf("%d unsubscribed", len(got))
		}
	})
}

// A session with a call in flight is not silent, however long the call takes.
func TestSessionWithACallIsNotSilent(t *testing.T) {
	run(t, func(r *rig) {
		forgetful(r)
		silent(r)
		r.tenant.Limits.CallTimeout = 40 * time.Minute
		r.tenant.Limits.CallTimeoutMax = time.Hour
	}, func(r *rig) {
		u := r.postOnly()
		u.ask("tools/list", `{}`)
		u.ask("resources/subscribe", `{"uri":"test://x"}`)
		files := r.peer("files")
		u.comes()
		u.call()
		time.Sleep(35 * time.Minute)
		r.WaitIdle()
		if got := files.heard("resources/unsubscribe"); len(got) != 0 {
			t.Error("it lets go in the middle of a call")
		}
	})
}

// Servers whose state would be lost are never released; the others are after their idle_release.
func TestReleases(t *testing.T) {
	const long = time.Minute
	url, command := tenant.NewSecret("http://127.0.0.1/mcp"), tenant.NewSecret("x")
	for name, tt := range map[string]struct {
		server tenant.Server
		want   time.Duration
	}{
		"program":                   {tenant.Server{Command: command, Instances: 4}, long},
		"program with one instance": {tenant.Server{Command: command, Instances: 1}, 0},
		"program of a session": {tenant.Server{Command: command, Instances: 4,
			Share: tenant.BySession}, 0},
		"url":                   {tenant.Server{URL: url, Instances: 4}, long},
		"url with one instance": {tenant.Server{URL: url, Instances: 1}, long},
		"sse":                   {tenant.Server{URL: url, Transport: "sse"}, long},
		"sse of a session":      {tenant.Server{URL: url, Transport: "sse", Share: tenant.BySession}, 0},
		"built in":              {tenant.Server{Builtin: "demo"}, 0},
		"shared built in":       {tenant.Server{Builtin: "demo", Share: tenant.ByPrincipal}, long},
	} {
		tt.server.IdleRelease = long
		if got := tt.server.ReleaseAfter(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if tt.server.IdleRelease = 0; tt.server.ReleaseAfter() != 0 {
			t.Errorf("%s: it cannot be turned off", name)
		}
	}
}
