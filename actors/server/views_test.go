package server_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"mcpd/actors/catalog"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// Sessions that have listed once keep none of the old views when the lists change. However many
// sessions there are, the views in memory are those charged to their tenant.
func TestSessionsKeepNoOldViews(t *testing.T) {
	run(t, nil, func(r *rig) {
		caps, err := protocol.ParseClientCapabilities(nil)
		if err != nil {
			t.Fatal(err)
		}
		r.ready("{}")
		p := r.peer("files")
		var seen []weak.Pointer[catalog.View]
		const sessions = 8
		for range sessions {
			u := r.ready("{}")
			if out := u.ask("tools/list", "{}"); out.Word() != "result" {
				t.Fatalf("tools/list: %v", out.All())
			}
			v, err := otp.Do[catalog.LookRequest, *catalog.View](r.T.Context(), r.Ref("catalog"),
				catalog.LookRequest{Caller: catalog.Caller{Principal: "ci", Capabilities: caps}})
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, weak.Make(v))
			r.change(p)
			time.Sleep(time.Minute) // changes in a row are fetched at a limited rate
			r.WaitIdle()
		}
		runtime.GC()
		runtime.GC()
		alive, kept := 0, int(r.kept.Account("acme").Holding().Kinds[quota.ClientLists])
		for _, w := range seen {
			if v := w.Value(); v != nil {
				alive += v.Size()
			}
		}
		if alive > kept {
			t.Errorf("%d sessions keep %d bytes of views, and %d count", sessions, alive, kept)
		}
	})
}

// A session whose view was dropped asks for another, and goes on.
func TestSessionWithoutViewAsksAgain(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready("{}")
		u.ask("tools/list", "{}")
		r.kept.EvictCached()
		if n := r.kept.Account("acme").Holding().Kinds[quota.ClientLists]; n != 0 {
			t.Errorf("%d bytes of views count when they are dropped", n)
		}
		out := u.ask("tools/call", `{"name":"files__read"}`)
		if got := fmt.Sprint(out.All()); out.Word() != "result" || !strings.Contains(got, "read") {
			t.Errorf("tools/call: %s", got)
		}
	})
}
