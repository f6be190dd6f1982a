package catalog_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/capability"
	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/actors/storage"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/store"
	"mcpd/telemetry"
)

// written is the contents of the store, which started with the stored values, and the number of
// writes.
func (r *rig) written() (values map[string]jsontext.Value, times int) {
	r.T.Helper()
	if values = maps.Clone(r.stored); values == nil {
		values = map[string]jsontext.Value{}
	}
	for _, k := range testrig.Of[*storage.Keep](&r.storage.Log) {
		if times++; k.Bucket != store.Lists("acme") {
			r.T.Errorf("written to %s", k.Bucket)
		}
		if values[k.Key] = k.Value; k.Value == nil {
			delete(values, k.Key)
		}
	}
	return values, times
}

// earlier is the store of a host whose servers have listed one tool each.
func earlier(t *testing.T) (stored map[string]jsontext.Value) {
	t.Helper()
	run(t, func(r *rig) {
		r.ready()
		stored, _ = r.written()
	})
	if len(stored) != 2 {
		t.Fatalf("stored %v", stored)
	}
	return stored
}

// The next host has the lists at once, although no server runs, and marks them as stale. They are
// not shown to other principals.
func TestListsOfAnEarlierHostAreServedAtOnce(t *testing.T) {
	r := &rig{stored: earlier(t)}
	r.run(t, func(r *rig) {
		start := time.Now()
		v := <-r.looks(r.caller("ci", ""))
		if v.err != nil || len(v.Servers) != 2 || len(v.Missing) != 0 || v.at != start ||
			len(v.List(merge.Tools).Items()) != 2 {
			t.Fatalf("got %+v, %v after %v", v.View, v.err, v.at.Sub(start))
		}
		if f := v.Servers[0].Facts; f.Version != protocol.V20251125 || f.Server.Name != "files" ||
			!f.Capabilities.Has("tools.listChanged") {
			t.Errorf("facts %+v", f)
		}
		for _, name := range []string{"files", "search"} {
			if rec := r.record(name); !rec.Stale || rec.State != client.Idle || rec.Tools != 1 ||
				rec.Open != 0 {
				t.Errorf("%s is %+v", name, rec)
			}
		}
		answer := r.looks(r.caller("other", "search"))
		r.reports("search/principal=other", report{state: client.Ready, tools: []string{"hers"}})
		if v := <-answer; v.err != nil || len(v.List(merge.Tools).Items()) != 1 ||
			!strings.Contains(string(v.List(merge.Tools).Items()[0]), "hers") {
			t.Errorf("another principal got %+v, %v", v.View, v.err)
		}
	})
}

// A server for which callers have timed out delays no caller in the next host, and is shown when it
// has listed.
func TestServerThatNeverAnsweredIsNotWaitedForAgain(t *testing.T) {
	first := &rig{}
	first.run(t, func(r *rig) {
		answer := r.looks(r.caller("ci", ""))
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		if v := <-answer; len(v.Missing) != 1 {
			t.Fatalf("got %+v, %v", v.View, v.err)
		}
		<-r.looks(r.caller("ci", ""))
		times := 0
		if first.stored, times = r.written(); times != 2 {
			t.Errorf("written %d times", times)
		}
	})
	r := &rig{stored: first.stored}
	r.run(t, func(r *rig) {
		start := time.Now()
		if v := <-r.looks(r.caller("ci", "")); v.err != nil || v.at != start || len(v.Servers) != 1 ||
			len(v.Missing) != 1 {
			t.Errorf("got %+v, %v after %v", v.View, v.err, v.at.Sub(start))
		}
		if rec := r.record("search"); rec.Stale || rec.Open != 1 {
			t.Errorf("search is %+v", rec)
		}
		r.reports(search, report{state: client.Ready, tools: []string{"find"}})
		if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) != 1 ||
			got[0].Server != "search" {
			t.Errorf("announced %v", got)
		}
		if v := <-r.looks(r.caller("ci", "")); len(v.Servers) != 2 {
			t.Errorf("got %+v", v.View)
		}
	})
}

// If a server lists something else than what was stored, it is announced once and stored. If it
// lists the same, nothing is announced or stored.
func TestListsOfAnEarlierHostAreRefreshed(t *testing.T) {
	stored := earlier(t)
	for _, tools := range [][]string{{"read"}, {"read", "write"}} {
		r := &rig{stored: stored}
		r.run(t, func(r *rig) {
			<-r.looks(r.caller("ci", ""))
			if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
				t.Fatal(err)
			}
			r.reports(files, report{state: client.Ready, tools: tools})
			another := len(tools) - 1
			if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) != another {
				t.Errorf("%v: announced %v", tools, got)
			}
			if rec := r.record("files"); rec.Stale || rec.Tools != len(tools) {
				t.Errorf("%v: files is %+v", tools, rec)
			}
			if _, times := r.written(); times != another {
				t.Errorf("%v: written %d times", tools, times)
			}
			r.reports(files, report{state: client.Ready, tools: tools})
			if _, times := r.written(); times != another {
				t.Errorf("%v: written %d times in the end", tools, times)
			}
		})
	}
}

// A remote server costs no process, so the first look asks it again, without waiting for it.
func TestRemoteServerIsAskedAgainByTheFirstLook(t *testing.T) {
	remote := func(tn *tenant.Tenant) {
		tn.Servers[0].Command, tn.Servers[0].URL = tenant.Secret{}, tenant.NewSecret("http://files")
	}
	first := &rig{configure: remote}
	first.run(t, func(r *rig) {
		r.ready()
		first.stored, _ = r.written()
	})
	r := &rig{configure: remote, stored: first.stored}
	r.run(t, func(r *rig) {
		if v := <-r.looks(r.caller("ci", "")); v.err != nil || len(v.Servers) != 2 {
			t.Fatalf("got %+v, %v", v.View, v.err)
		}
		if got := r.record("files"); got.Open != 1 || got.State != client.Starting {
			t.Errorf("files is %+v", got)
		}
		if got := r.record("search"); got.Open != 0 {
			t.Errorf("search is %+v", got)
		}
	})
}

// A server that has been replaced does not get the lists of the old one. Lists of a server that is
// not configured are deleted.
func TestListsOfAnotherServerAreForgotten(t *testing.T) {
	r := &rig{stored: earlier(t), configure: func(tn *tenant.Tenant) {
		tn.Servers[0].Args = []tenant.Secret{tenant.NewSecret("--other")}
		tn.Servers[1].Name = "find"
	}}
	r.run(t, func(r *rig) {
		if left, _ := r.written(); len(left) != 0 {
			t.Errorf("left are %v", left)
		}
		if got := testrig.Of[telemetry.StateLost](&r.Events); len(got) != 0 {
			t.Errorf("reported %v", got)
		}
		if got := r.record("files"); got.Tools != 0 || got.Stale {
			t.Errorf("files is %+v", got)
		}
	})
}

// A reload that removes a server deletes its lists.
func TestListsOfAServerThatIsConfiguredNoMoreAreDeleted(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.tenant.Servers = r.tenant.Servers[1:]
		if _, err := testrig.Ask[catalog.ReloadRequest, struct{}](r.Rig, "catalog",
			catalog.ReloadRequest{}); err != nil {
			t.Fatal(err)
		}
		r.WaitIdle()
		if left, _ := r.written(); len(left) != 1 || left["search principal=ci"] == nil {
			t.Errorf("left are %v", left)
		}
	})
}

// An unreadable list is deleted and reported, and has no other effect.
func TestBrokenListsAreForgotten(t *testing.T) {
	whole := earlier(t)
	good := string(whole["files tenant"])
	for name, bad := range map[string]string{
		"no object":    `7`,
		"no member":    `{}`,
		"a number":     strings.Replace(good, `"version":"2025-11-25"`, `"version":7`, 1),
		"no revision":  strings.Replace(good, `"version":"2025-11-25"`, `"version":"x"`, 1),
		"no info":      strings.Replace(good, `"info":{`, `"info":{"name":7},"x":{`, 1),
		"declared":     strings.Replace(good, `"declared":{`, `"declared":7,"x":{`, 1),
		"another name": strings.Replace(good, `"capabilities"`, `"x"`, 1),
		"share":        strings.Replace(good, `"share":1`, `"share":250`, 1),
	} {
		stored := maps.Clone(whole)
		if stored["files tenant"] = jsontext.Value(bad); name == "another name" {
			delete(stored, "files tenant")
			stored["elsewhere"] = whole["files tenant"]
		}
		r := &rig{stored: stored}
		r.run(t, func(r *rig) {
			if left, _ := r.written(); len(left) != 1 || r.record("search").Tools != 1 ||
				r.record("files").Tools != 0 {
				t.Errorf("%s: left are %v, files is %+v", name, left, r.record("files"))
			}
			reported := len(testrig.Of[telemetry.StateLost](&r.Events)) == 1
			if foreign := name == "no member" || name == "share"; reported == foreign {
				t.Errorf("%s: reported %v", name, reported)
			}
		})
	}
}

// If a list is too long to be stored, its earlier stored copy is deleted too.
func TestListThatIsTooLongIsNotKept(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		long := jsontext.Value(`{"name":"read","description":"` +
			strings.Repeat("x", catalog.MaxSaved) + `"}`)
		r.reports(files, report{state: client.Ready, items: []jsontext.Value{long}})
		if left, _ := r.written(); len(left) != 1 || left["files tenant"] != nil {
			t.Errorf("%d are left", len(left))
		}
		if got := testrig.Of[telemetry.Rejected](&r.Events); len(got) != 1 || got[0].Server != "files" {
			t.Errorf("reported %v", got)
		}
	})
}

// The registry is told of servers that are known from an earlier host.
func TestRegistryHearsOfStoredServers(t *testing.T) {
	r := &rig{stored: earlier(t)}
	r.run(t, func(r *rig) {
		got, err := testrig.Ask[capability.DiscoverRequest, jsontext.Value](r.Rig, "registry",
			capability.DiscoverRequest{Tenant: "acme", Server: "files"})
		if err != nil || !strings.Contains(string(got), "listChanged") {
			t.Errorf("the registry has %s, %v", got, err)
		}
	})
}
