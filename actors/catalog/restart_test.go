package catalog_test

import (
	"testing"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
)

// A caller that waits for a server without lists still waits while an operator restarts the server.
// If a call needs the server, the caller also waits while the server restarts by itself.
func TestWhoWaitsIsCarriedOverARestart(t *testing.T) {
	for name, again := range map[string]func(r *rig){
		"by an operator": func(r *rig) { r.operates(catalog.Restart) },
		"after its own end": func(r *rig) {
			r.reports(files, report{state: client.Backoff, cause: errDisk})
		},
		"by one, after an end": func(r *rig) {
			r.reports(files, report{state: client.Backoff, cause: errDisk})
			r.operates(catalog.Restart)
		},
	} {
		run(t, func(r *rig) {
			if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
				t.Fatal(err)
			}
			answer := r.look(catalog.LookRequest{
				Caller: r.caller("ci", "files"), Wait: 10 * time.Second, For: "files",
			})
			before, _ := r.System.Whereis("top/client_sup/" + files + "/connection")
			again(r)
			time.Sleep(time.Second)
			if len(answer) > 0 {
				t.Errorf("%s: answered %v", name, (<-answer).err)
				return
			}
			r.reports(files, report{state: client.Ready, tools: []string{"read"}})
			if v := <-answer; v.err != nil || len(v.Servers) != 1 {
				t.Errorf("%s: %+v, %v", name, v.View, v.err)
			}
			if after, there := r.System.Whereis("top/client_sup/" + files + "/connection"); !there ||
				after != before || !before.Alive() {
				t.Errorf("%s: the connection is another", name)
			}
		})
	}
}
