package server_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/server"
	"mcpd/protocol/jsonedit"
)

// slowly delays the answer of "files" to initialize.
func slowly(r *rig, took time.Duration) {
	answer := r.script["files"]["initialize"]
	r.script["files"]["initialize"] = func(params jsontext.Value) string {
		time.Sleep(took)
		return answer(params)
	}
}

// The time that a server takes to start does not count against the client. Initialize on the
// transparent endpoint waits for the server, and the client still has all of session_init for its
// own part.
func TestOwnEndpointWaitsForItsServer(t *testing.T) {
	run(t, func(r *rig) { slowly(r, 40*time.Second) }, func(r *rig) {
		u := r.open("ci", "files")
		out := u.ask("initialize", greeting("2025-11-25", `{}`))
		time.Sleep(45 * time.Second)
		r.WaitIdle()
		if out.Word() != "result" {
			t.Fatalf("got %v", out.All())
		}
		time.Sleep(20 * time.Second)
		u.tell("notifications/initialized", "")
		if out := u.ask("tools/list", ""); out.Word() != "result" {
			t.Errorf("afterwards: %v", out.All())
		}
	})
}

// Initialize is answered before its client times out, with the reason. A session that was refused
// ends in its time.
func TestOwnEndpointSaysWhyItsServerIsNotThere(t *testing.T) {
	run(t, func(r *rig) { mute(r, "files") }, func(r *rig) {
		u := r.open("ci", "files")
		out := u.ask("initialize", greeting("2025-11-25", `{}`))
		time.Sleep(server.TransparentWait)
		r.WaitIdle()
		if len(out.All()) == 0 {
			t.Fatal("no answer")
		}
		data := out.Outcome().Error.Data
		for _, name := range []string{"cause", "retryable"} {
			if _, ok := jsonedit.Get(data, name); !ok {
				t.Errorf("no %s in %s", name, data)
			}
		}
		time.Sleep(2 * r.tenant.Limits.SessionInit)
		r.WaitIdle()
		if r.index.Len() != 0 {
			t.Error("the session is there")
		}
	})
}

// A modern request waits for its server no longer than a call may take.
func TestModernCallWaitsForItsServerAsLongAsACallMayTake(t *testing.T) {
	run(t, func(r *rig) {
		mute(r, "files")
		r.tenant.Limits.CallTimeout = 2 * time.Second
	}, func(r *rig) {
		c := r.caller(`{}`)
		c.server = "files"
		out := c.ask("tools/call", `{"name":"read"}`)
		time.Sleep(2 * time.Second)
		r.WaitIdle()
		if len(out.All()) == 0 {
			t.Error("no answer")
		}
	})
}

// A call that names its server waits for that server only. Another server that never answers does
// not delay the first call, nor make it fail where the time-out of calls is no longer than that
// wait. Such a call has no influence on the later offer.
func TestFirstCallWaitsForNoOtherServer(t *testing.T) {
	for method, params := range map[string]string{
		"tools/call": bound, "prompts/get": `{"name":"files__greet"}`,
		"resources/read": `{"uri":"mcpd://files/test%3A%2F%2Fx"}`,
	} {
		change := func(r *rig) {
			r.script["files"][method] = result(`{"content":[],"messages":[],"contents":[]}`)
			slowly(r, time.Second)
			mute(r, "search")
			r.tenant.Limits.CallTimeout = server.AggregateWait
		}
		run(t, change, func(r *rig) {
			out := r.caller(`{}`).ask(method, params)
			time.Sleep(time.Second)
			if r.WaitIdle(); out.Word() != "result" {
				t.Errorf("%s: %v", method, out.All())
			}
		})
	}
	run(t, nil, func(r *rig) {
		r.script["files"]["initialize"] = offers(`{"tools":{}}`)
		slowly(r, time.Second/2)
		answer := r.script["search"]["initialize"]
		r.script["search"]["initialize"] = func(params jsontext.Value) string {
			time.Sleep(time.Second)
			return answer(params)
		}
		c := r.caller(`{}`)
		out := c.call()
		time.Sleep(time.Second / 2)
		if r.WaitIdle(); out.Word() != "result" {
			t.Errorf("got %v", out.All())
		}
		time.Sleep(time.Second)
		out = c.ask("server/discover", "")
		if _, ok := jsonedit.Get(out.Outcome().Result, "capabilities", "completions"); ok {
			t.Errorf("nobody has completions: %s", out.Outcome().Result)
		}
	})
}
