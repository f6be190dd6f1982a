package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// eagerly sets both servers to eager start.
func eagerly(tn *tenant.Tenant) {
	for i := range tn.Servers {
		tn.Servers[i].Start = tenant.StartEager
	}
}

// runs reports how many of the connections exist.
func (r *rig) runs(paths ...string) (running int) {
	r.T.Helper()
	r.WaitIdle()
	for _, path := range paths {
		if _, ok := r.System.Whereis("top/client_sup/" + path); ok {
			running++
		}
	}
	return running
}

const searchForAnother = "search/principal=cd"

// An eager server runs before any request: once for all principals, or once for each, as it is
// shared. The first list finds it ready. It is kept although no session uses it, and it is started
// again after it was given up.
func TestEagerServerRunsBeforeAnybodyAsks(t *testing.T) {
	r := &rig{configure: eagerly}
	r.run(t, func(r *rig) {
		if got := r.runs(files, search, searchForAnother); got != 3 {
			t.Fatalf("%d connections", got)
		}
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		r.reports(search, report{state: client.Ready, tools: []string{"find"}})
		start := time.Now()
		if v := <-r.looks(r.caller("ci", "")); v.err != nil || len(v.Servers) != 2 || v.at != start {
			t.Errorf("got %+v, %v", v.View, v.err)
		}
		conn := r.Ref("client_sup/" + files + "/connection")
		r.Send("catalog", &client.Unused{
			Server: "files", Key: tenant.Key{Share: tenant.ByTenant}, From: conn,
		})
		if got := r.runs(files); got != 1 {
			t.Error("it was ended because nobody uses it")
		}
		r.fails(files, errDisk)
		if got := r.runs(files); got != 0 {
			t.Error("it was not given up")
		}
		time.Sleep(2 * catalog.FirstPause)
		if got := r.runs(files); got != 1 {
			t.Error("it is not started again")
		}
	})
}

// The next host starts the connections that the clients had, and ends those that are not needed.
func TestEagerServerComesBackForTheSameClients(t *testing.T) {
	first := &rig{configure: eagerly}
	asks := catalog.Caller{Session: "s", Principal: "ci", Server: "search"}
	asks.Capabilities, _ = protocol.ParseClientCapabilities(
		jsontext.Value(`{"sampling":{},"roots":{}}`),
	)
	const searchAsking = search + ",caps=roots.sampling"
	first.run(t, func(r *rig) {
		asks.Ref = r.Ref("session")
		answer := r.looks(asks)
		r.reports(search, report{state: client.Ready, tools: []string{"find"}})
		r.reports(searchAsking, report{state: client.Ready, tools: []string{"find"}})
		if v := <-answer; v.err != nil {
			t.Fatal(v.err)
		}
		first.stored, _ = r.written()
	})
	r := &rig{configure: eagerly, stored: first.stored}
	r.run(t, func(r *rig) {
		if got := r.runs(search, searchAsking, searchForAnother, files); got != 4 {
			t.Fatalf("%d connections", got)
		}
		key := tenant.Key{Share: tenant.ByPrincipal, Principal: "ci"}
		r.Send("catalog", &client.Unused{
			Server: "search", Key: key, From: r.Ref("client_sup/" + search + "/connection"),
		})
		if r.runs(search) != 0 || r.runs(searchAsking) != 1 {
			t.Error("one of two that nobody uses is to end, and to stay ended")
		}
		key.Fingerprint = protocol.CanRoots | protocol.CanSample
		r.Send("catalog", &client.Unused{
			Server: "search", Key: key, From: r.Ref("client_sup/" + searchAsking + "/connection"),
		})
		if r.runs(searchAsking) != 1 {
			t.Error("the last one was ended")
		}
	})
}

// A reload starts servers that are eager from then on.
func TestReloadStartsEagerServers(t *testing.T) {
	run(t, func(r *rig) {
		if got := r.runs(files, search); got != 0 {
			t.Fatalf("%d connections", got)
		}
		r.tenant.Servers = append([]tenant.Server{}, r.tenant.Servers...)
		eagerly(&r.tenant)
		if _, err := testrig.Ask[catalog.ReloadRequest, struct{}](r.Rig, "catalog",
			catalog.ReloadRequest{}); err != nil {
			t.Fatal(err)
		}
		if got := r.runs(files+",revision=2", search+",revision=3", search+",revision=2"); got != 2 {
			t.Errorf("%d connections", got)
		}
	})
}

// A stored listing is rejected if its client's declaration does not match its key.
func TestStoredClientIsChecked(t *testing.T) {
	stored := earlier(t)
	const was, is = `"client":{}`, `"client":{"sampling":{}}`
	if !strings.Contains(string(stored["search principal=ci"]), was) {
		t.Fatalf("stored %s", stored["search principal=ci"])
	}
	stored["search principal=ci"] = jsontext.Value(
		strings.Replace(string(stored["search principal=ci"]), was, is, 1),
	)
	r := &rig{stored: stored}
	r.run(t, func(r *rig) {
		if got := r.record("search"); got.Tools != 0 {
			t.Errorf("search is %+v", got)
		}
	})
}
