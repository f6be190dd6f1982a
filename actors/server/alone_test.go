package server_test

import (
	"strings"
	"testing"
	"time"
)

// A client of one server gets the server's last known lists at once while the server does not
// complete its handshake, under the server's own names. It is told when the lists turn out to be
// different.
func TestListOfAServerThatHangsIsTheLastOne(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.open("ci", "files")
		u.shake(`{}`)
		if out := u.ask("tools/list", ""); out.Word() != "result" {
			t.Fatalf("while it works: %v", out.All())
		}
		c := r.caller(`{}`) // over a separate connection
		c.server = "files"
		if out := c.ask("tools/list", ""); out.Word() != "result" {
			t.Fatalf("while it works: %v", out.All())
		}
		answers := r.script["files"]["initialize"]
		r.script["files"]["initialize"] = nil
		for range 2 {
			r.peer("files").Close()
		}
		time.Sleep(2 * time.Second)
		start := time.Now()
		for name, ask := range map[string]func(string, string) string{
			"legacy": func(m, p string) string { return string(u.ask(m, p).Outcome().Result) },
			"modern": func(m, p string) string { return string(c.ask(m, p).Outcome().Result) },
		} {
			if got := ask("tools/list", ""); !strings.Contains(got, `"name":"read"`) ||
				strings.Contains(got, "nextCursor") {
				t.Errorf("%s: %s", name, got)
			} else if modern := strings.Contains(got, `"resultType":"complete"`) &&
				strings.Contains(got, "ttlMs"); modern != (name == "modern") {
				t.Errorf("%s: %s", name, got)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
		r.script["files"]["initialize"] = answers
		r.script["files"]["tools/list"] = result(
			`{"tools":[{"name":"write","inputSchema":{"type":"object"}}]}`,
		)
		for len(r.peers["files"]) > 0 {
			r.peer("files").Close()
		}
		time.Sleep(time.Minute)
		if got := u.heard("notifications/tools/list_changed"); len(got) != 1 {
			t.Errorf("announced %d times", len(got))
		}
		if out := u.ask("tools/list", ""); !strings.Contains(string(out.Outcome().Result),
			`"name":"write"`) {
			t.Errorf("afterwards: %v", out.All())
		}
	})
}
