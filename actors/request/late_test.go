package request_test

import (
	"slices"
	"testing"
	"time"

	"mcpd/actors/internal/drops"
	"mcpd/actors/internal/stage"
	"mcpd/actors/request"
	"mcpd/telemetry"
)

// F21: however many replies come too late, they are one event at first and one a second, and none is left out, also when the manager stops or
// crashes meanwhile.
func TestLateRepliesAreSummed(t *testing.T) {
	const many = 50
	for _, tt := range []struct {
		name string
		then func(r *rig)
		want []uint32
	}{
		{"it goes on", func(*rig) { time.Sleep(drops.Every) }, []uint32{1, many - 1}},
		{"less than a second", func(*rig) { time.Sleep(drops.Every - 1) }, []uint32{1}},
		{"it stops", func(r *rig) { _ = r.Tree.Shutdown(r.T.Context()) }, []uint32{1, many - 1}},
		{"it crashes", func(r *rig) {
			r.Break("manager", "*request.Cancel")
			r.send(&request.Cancel{})
			r.Struck()
		}, []uint32{1, many - 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(r *rig) {
				x, _ := r.submit("s")
				time.Sleep(11 * time.Second)
				for range many {
					r.send(&request.Complete{ID: x.ID, Exchange: x, Waited: 11 * time.Second})
				}
				tt.then(r)
				r.Rest()
				var got []uint32
				for _, e := range stage.Of[telemetry.ReplyDropped](&r.Events) {
					if e.Tenant != "acme" || e.Server != "files" || e.Reason != "late" || e.Method != "tools/call" || e.After != 11*time.Second {
						t.Errorf("told of %+v", e)
					}
					got = append(got, e.Count)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("told of %v, want %v", got, tt.want)
				}
			})
		})
	}
}
