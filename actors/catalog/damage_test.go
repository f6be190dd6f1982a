package catalog_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
)

// Whatever a crash has done to what the catalogue knows, the next incarnation does not crash on it, answers who waited, and soon knows all again.
func TestDamagedCatalogueIsSoonAsGoodAsNew(t *testing.T) {
	for seed := range uint64(100) {
		run(t, func(r *rig) {
			defer func() {
				if r.T.Failed() || t.Failed() {
					r.T.Errorf("seed %d: after %q", seed, r.Heirs.Done)
				}
			}()
			r.Heirs.Rand = rand.New(rand.NewPCG(seed, 0))
			r.Heirs.Whole = []string{"*catalog.Catalog", "otp.Call"}
			if seed%2 == 0 {
				r.ready()
			}
			if seed%4 == 0 {
				r.fails(search, errors.New("test"))
			}
			catalogue := r.Ref("catalog")
			asked := make(chan error, 3)
			ask := func(f func(ctx context.Context) error) {
				go func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
					defer cancel()
					asked <- f(ctx)
				}()
			}
			for _, who := range []string{"ci", "dev"} {
				ask(func(ctx context.Context) error {
					_, err := otp.Do[catalog.ConnectRequest, otp.Ref](ctx, catalogue, catalog.ConnectRequest{Caller: r.caller(who, ""), Server: "search"})
					return err
				})
			}
			ask(func(ctx context.Context) error {
				_, err := otp.Do[catalog.LookRequest, *catalog.View](ctx, catalogue, catalog.LookRequest{Caller: r.caller("dev", ""), Wait: 10 * time.Second})
				return err
			})
			r.Rest()
			r.Break("catalog", "*client.Unused")
			r.Send("catalog", &client.Unused{Server: "files", Key: tenant.Key{Share: tenant.ByTenant}})
			r.Heirs.Rand = nil
			time.Sleep(time.Minute)
			unanswered := 0
			for range 3 {
				if errors.Is(<-asked, context.DeadlineExceeded) {
					unanswered++
				}
			}
			if unanswered > 0 && !slices.ContainsFunc(r.Heirs.Done, forgets) {
				t.Errorf("seed %d: %d got no answer", seed, unanswered)
			}
			for _, server := range []string{"files", "search"} {
				if _, err := r.connects(r.caller("ci", ""), server); err != nil {
					t.Errorf("seed %d: %s: %v", seed, server, err)
				}
			}
			r.reports(files, report{state: client.Ready, tools: []string{"read"}})
			r.reports(search, report{state: client.Ready, tools: []string{"find"}})
			if v := <-r.looks(r.caller("ci", "")); v.err != nil || len(v.Servers) != 2 {
				t.Errorf("seed %d: view %+v, %v", seed, v.View, v.err)
			}
			if got := r.Ref("catalog").Incarnation(); got != 2 {
				t.Errorf("seed %d: incarnation %d", seed, got)
			}
		})
	}
}

// forgets reports whether nobody knows any more, after that, who waited.
func forgets(harm string) bool {
	return slices.Contains([]string{
		"zero kept.servers", "delete from kept.servers", "zero in kept.servers", "duplicate in kept.servers", "zero kept.waiting", "zero in kept.waiting",
		"duplicate in kept.waiting", "zero waiter.call", "zero server.opening", "delete from server.opening", "zero in server.opening",
		"duplicate in server.opening", "zero pending.answer",
	}, harm)
}

// A catalogue that cannot live with what it was left starts without: who waited is answered, and it learns anew what there is.
func TestCatalogueStartsWithoutWhatItCannotLiveWith(t *testing.T) {
	run(t, func(r *rig) {
		waiting := r.looks(r.caller("ci", ""))
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		r.GivesUp("catalog", "*client.Unused", func() {
			r.Send("catalog", &client.Unused{Server: "files", Key: tenant.Key{Share: tenant.ByTenant}})
		})
		if v := <-waiting; v.err == nil {
			t.Errorf("who waited was shown %+v", v.View)
		}
		if v := <-r.looksFor(r.caller("ci", ""), 0); v.err != nil || len(v.Servers) != 0 {
			t.Errorf("at first: %+v, %v", v.View, v.err)
		}
		for _, server := range []string{"files", "search"} {
			if _, err := r.connects(r.caller("ci", ""), server); err != nil {
				t.Errorf("%s: %v", server, err)
			}
		}
		r.ready()
	})
}
