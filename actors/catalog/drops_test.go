package catalog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/drops"
	"mcpd/actors/internal/testrig"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// S4-65, S4-132: announcements that the dispatcher refuses are reported, and many are summed up in
// one report.
func TestAnnouncementsThatAreNotTakenAreSummed(t *testing.T) {
	const changes = 5
	for _, tt := range []struct {
		name string
		then func(r *rig)
	}{
		{"it goes on", func(*rig) { time.Sleep(drops.Every) }},
		{"the catalogue crashes", func(r *rig) {
			r.Break("catalog", "")
			r.reports(files, report{state: client.Ready, tools: []string{fmt.Sprint("tool", changes-1)}})
			r.Struck()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(r *rig) {
				r.ready()
				<-r.looks(r.caller("ci", ""))
				r.Send("dispatcher", otp.Normal)
				for i := range changes {
					r.reports(files, report{state: client.Ready, tools: []string{fmt.Sprint("tool", i)}})
				}
				tt.then(r)
				var got []uint32
				for _, e := range testrig.Of[telemetry.NotificationDropped](&r.Events) {
					if e.Tenant == "" || e.Server != "files" || e.Reason != "queue_full" ||
						e.Method != "notifications/tools/list_changed" {
						t.Errorf("told of %+v", e)
					}
					got = append(got, e.Count)
				}
				if want := []uint32{1, changes - 1}; !slices.Equal(got, want) {
					t.Errorf("told of %v, want %v", got, want)
				}
			})
		})
	}
}
