package catalog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// announced are the changes announced on transparent endpoints, and on the aggregate endpoint.
func (r *rig) announced() (alone, all []string) {
	r.WaitIdle()
	for _, n := range testrig.Of[*notification.Dispatch](&r.dispatcher.Log) {
		if n.Server == "" {
			all = append(all, n.Method)
		} else {
			alone = append(alone, n.Method)
		}
	}
	return alone, all
}

// If a thousand servers change together, one change is announced on the aggregate endpoint, within
// a second, and one on each transparent endpoint.
func TestThousandServersAreAnnouncedOnce(t *testing.T) {
	const servers = 1000
	r := &rig{configure: func(t *tenant.Tenant) {
		t.Servers = nil
		for i := range servers {
			t.Servers = append(t.Servers, tenant.Server{
				Name: fmt.Sprintf("s%d", i), Command: tenant.NewSecret("s"), Share: tenant.ByTenant,
				Intensity: tenant.Intensity{Restarts: 2, Within: 30 * time.Second},
			})
		}
	}}
	r.run(t, func(r *rig) {
		answer := r.looks(r.caller("ci", ""))
		report1 := func(i int, tool string) {
			r.reports(fmt.Sprintf("s%d/tenant", i), report{
				state: client.Ready, tools: []string{"all", "the", "while", tool},
			})
		}
		for i := range servers {
			report1(i, "a")
		}
		if v := <-answer; v.err != nil || len(v.Servers) != servers {
			t.Fatalf("%d servers, %v", len(v.Servers), v.err)
		}
		time.Sleep(time.Minute)
		r.dispatcher.Forget()
		for i := range servers {
			report1(i, "b")
		}
		time.Sleep(merge.ChangesQuiet)
		alone, all := r.announced()
		if len(alone) != servers || !slices.Equal(all, []string{"notifications/tools/list_changed"}) {
			t.Errorf("announced %d times of one server, and of all servers %v", len(alone), all)
		}
		time.Sleep(time.Minute)
		if _, all := r.announced(); len(all) != 1 {
			t.Errorf("then %v", all)
		}
		r.pagesGoOn(servers, func(n int) { report1(n*7%servers, fmt.Sprint("c", n)) })
	})
}

// pagesGoOn reads all pages of a list while a server changes between any two pages.
func (r *rig) pagesGoOn(servers int, change func(n int)) {
	r.T.Helper()
	seen, cursor := map[string]int{}, ""
	for n := 0; n == 0 || cursor != ""; n++ {
		v := <-r.looks(r.caller("ci", ""))
		page, err := v.Listed(merge.Tools, protocol.V20251125, "ci", cursor)
		if err != nil {
			r.T.Fatalf("page %d: %v", n, err)
		}
		tools, _ := jsonedit.Get(page, "tools")
		for tool := range jsonedit.Elements(tools) {
			name, _ := jsonedit.GetString(tool, "name")
			seen[name]++
		}
		cursor, _ = jsonedit.GetString(page, "nextCursor")
		change(n)
	}
	for i := range servers {
		for _, tool := range []string{"all", "the", "while"} {
			if name := fmt.Sprintf("s%d__%s", i, tool); seen[name] != 1 {
				r.T.Errorf("%s comes %d times", name, seen[name])
			}
		}
	}
}

// A burst is announced although the catalogue crashes during it.
func TestBurstOutlivesTheCatalogue(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		time.Sleep(time.Minute)
		r.dispatcher.Forget()
		r.reports(files, report{state: client.Ready, tools: []string{"other"}})
		r.Break("catalog", "")
		<-r.looks(r.caller("ci", ""))
		r.Struck()
		time.Sleep(merge.ChangesMost)
		if _, all := r.announced(); len(all) != 1 {
			t.Errorf("announced %v", all)
		}
	})
}
