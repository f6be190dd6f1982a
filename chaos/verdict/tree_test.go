package verdict

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcpd/chaos/record"
)

const (
	struckRow = "mcpd/tenants/acme/request_manager"
	otherRow  = "mcpd/tenants/globex/request_manager"
)

func restartOf(path string, at float64) record.Event {
	return record.Event{At: at, Level: "info", Name: record.Restarted, Path: path}
}

// The row's own count starts from zero after it was replaced, and is missing if the row is gone.
// The events still show the restarts.
func TestRestartsAreCountedByEventsToo(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func(*record.Record)
		is   string
		text string
	}{
		{"a bystander's that counts from none", func(r *record.Record) {
			r.Events = append(r.Events, restartOf(otherRow, 30))
		}, record.Fail, otherRow + " restarted (1), and was not to"},
		{"a bystander's that is gone", func(r *record.Record) {
			r.Events = append(r.Events, restartOf(otherRow, 30))
			r.Rows = r.Rows[:2]
		}, record.Fail, otherRow + " restarted (1), and was not to"},
		{"where the host shows no tree", func(r *record.Record) {
			r.Events = append(r.Events, restartOf(otherRow, 30))
			r.Rows = nil
		}, record.Fail, otherRow + " restarted (1), and was not to"},
		{"before the run", func(r *record.Record) {
			r.Events = append(r.Events, restartOf(otherRow, -0.5))
		}, record.Pass, ""},
		{"what a row has forgotten", func(r *record.Record) {
			for range r.Rows[1].Restarts {
				r.Events = append(r.Events, restartOf(struckRow, 30))
			}
			r.Rows[1].Restarts, r.Rows[1].Incarnations = 0, 0
		}, record.Pass, ""},
		{"one too many that a row has forgotten", func(r *record.Record) {
			for range r.Rows[1].Restarts + 1 {
				r.Events = append(r.Events, restartOf(struckRow, 30))
			}
			r.Rows[1].Restarts, r.Rows[1].Incarnations = 0, 0
		}, record.Fail, "want"},
		{"no tree", func(r *record.Record) {
			r.Rows = nil
		}, record.Unjudged, "the host has shown no tree"},
	} {
		each(func(r record.Record) {
			test.harm(&r)
			if is, found := judgeRestarts(r); is != test.is || !strings.Contains(found, test.text) {
				t.Errorf("%s: %s, %s", test.name, is, found)
			}
		})
	}
}

// A run whose faults have not struck, or that ended early, does not fail because of its
// expectations.
func TestWhatARunHasNotComeToIsNotJudged(t *testing.T) {
	for name, change := range map[string]func(*record.Record){
		"nothing has struck": func(r *record.Record) { r.Strikes[0].Hits = 0 },
		"the run was ended early": func(r *record.Record) {
			r.Aborted = "the host has 4097 MiB of memory"
		},
	} {
		each(func(r record.Record) {
			change(&r)
			r.Experiment.Restarts = map[string][2]int{struckRow: {2, 2}}
			r.Rows[1].Restarts, r.Rows[1].Incarnations = 0, 0
			r.Figures[1].Samples = nil
			for _, judge := range []func(record.Record) (string, string){judgeRestarts, figures} {
				if is, found := judge(r); is != record.Unjudged || !strings.HasPrefix(found, name+"; ") {
					t.Errorf("%s: %s, %s", name, is, found)
				}
			}
			for _, v := range Judge(r) {
				if v.Result == record.Fail && v.ID != "E1" {
					t.Errorf("%s: %s fails: %s", name, v.ID, v.Found)
				}
			}
			r.Rows[2].Restarts = 1
			if is, found := judgeRestarts(r); is != record.Fail {
				t.Errorf("%s, and a bystander's row restarted: %s, %s", name, is, found)
			}
		})
	}
}

// A host that is gone holds nothing, which proves nothing.
func TestWhatWasNotMeasuredIsNotJudged(t *testing.T) {
	r := rapid.Custom(sound).Example(0)
	for i := range r.Holdings {
		r.Holdings[i].After, r.Holdings[i].Unmeasured = 0, true
	}
	for _, judge := range []func(record.Record) (string, string){judgeLeaks, judgeProcesses} {
		if is, found := judge(r); is != record.Unjudged ||
			found != "the host could not be measured afterwards" {
			t.Errorf("%s: %s", is, found)
		}
	}
}

// A short run names the figure that it had no time to measure.
func TestShortRunsSayWhatMayNotShow(t *testing.T) {
	r := rapid.Custom(sound).Example(0)
	r.Experiment.Short = true
	r.Figures[1] = record.Figure{Name: "detect_ms", Unit: "ms", Goal: 5100}
	if is, found := figures(r); is != record.Unjudged ||
		found != "the phases are too short; detect_ms: nothing was measured, which may take 5100 ms" {
		t.Errorf("%s: %s", is, found)
	}
}
