package chaos

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var incident = regexp.MustCompile(`"incident":"([a-z2-7]{8})"`)

// told checks that an error contains an incident, and that the log has an event of the given name
// with the same incident.
func (a *arena) told(err error, event string) {
	a.t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		a.t.Fatalf("got %v", err)
	}
	found := incident.FindSubmatch(e.Data)
	if found == nil {
		a.t.Fatalf("no incident in %v %s", e, e.Data)
	}
	a.eventually("the log tells of "+event+" "+string(found[1]), func() bool {
		for line := range strings.Lines(a.Log()) {
			if strings.Contains(line, `"event":"`+event+`"`) && strings.Contains(line, string(found[0])) {
				return true
			}
		}
		return false
	})
}

// Every error about a failed call contains the incident id that the log uses: for the crash of an
// actor, or for the end of a server.
func TestCallersCanBeFoundInTheLog(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	session, _ := a.client(acme, nil)
	a.must(session, "files__echo", map[string]any{"message": "x"})
	a.panics("mcpd/tenants/acme/request_manager", "*request.Submit", 1)
	_, err := a.call(session, "files__echo", map[string]any{"message": "x"})
	a.told(err, "child_crashed")
	a.panics("mcpd/tenants/acme/catalog",
		"*otp.Call[mcpd/actors/catalog.LookRequest,*mcpd/actors/catalog.View]", 1)
	_, err = session.ListTools(t.Context(), nil)
	a.told(err, "child_crashed")
	a.struck()
	killed := make(chan error, 1)
	go func() { // ends with its call
		_, err := a.call(session, "files__sleep", map[string]any{"millis": 60_000})
		killed <- err
	}()
	pid := a.rows().connection(acme, "files").GetPid()
	a.eventually("the call is there", func() bool {
		return a.metric("mcpd_requests_in_flight", `tenant="acme"`, `method="tools/call"`) == 1
	})
	kill(t, pid)
	a.told(<-killed, "upstream_exited")
}
