package catalog_test

import (
	"slices"
	"testing"
	"time"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
)

// instances starts the server "search" in three instances that list one tool.
func (r *rig) instances() (paths []string) {
	r.T.Helper()
	r.ready()
	paths = []string{search, search + ",instance=2", search + ",instance=3"}
	for _, path := range paths[1:] {
		if _, err := r.another("ci"); err != nil {
			r.T.Fatal(err)
		}
		r.reports(path, report{state: client.Ready})
	}
	r.WaitIdle()
	time.Sleep(time.Minute)
	r.dispatcher.Forget()
	return paths
}

// If each instance of a server reports the same change, as when they watch one file, it is
// announced once, in whichever order the instances report it.
func TestChangeInAllInstancesIsAnnouncedOnce(t *testing.T) {
	for name, order := range map[string][]int{"first first": {0, 1, 2}, "first last": {2, 1, 0}} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				paths := r.instances()
				for _, n := range order {
					r.reports(paths[n], report{
						state: client.Ready, tools: []string{"find", "new"}, told: []merge.Kind{merge.Tools},
					})
					r.WaitIdle()
					time.Sleep(merge.ChangesQuiet / 4)
				}
				time.Sleep(time.Minute)
				const want = "notifications/tools/list_changed"
				alone, all := r.announced()
				if !slices.Equal(alone, []string{want}) || !slices.Equal(all, []string{want}) {
					t.Errorf("announced %v, and to those who see all servers %v", alone, all)
				}
			})
		})
	}
}

// An instance that reports a tool which the first has already listed changes nothing that is shown.
// A tool that it alone lists does, and so does its end.
func TestInstanceThatListsWhatIsShownAnnouncesNothing(t *testing.T) {
	run(t, func(r *rig) {
		paths := r.instances()
		says := func(n int, tools ...string) int {
			t.Helper()
			r.dispatcher.Forget()
			r.reports(paths[n], report{state: client.Ready, tools: tools, told: []merge.Kind{merge.Tools}})
			r.WaitIdle()
			time.Sleep(time.Minute)
			alone, _ := r.announced()
			return len(alone)
		}
		if n := says(0, "find", "new"); n != 1 {
			t.Errorf("the first lists a new tool, and announces %d times", n)
		}
		if n := says(1, "find", "new"); n != 0 {
			t.Errorf("the same from another instance is announced %d times", n)
		}
		if n := says(1, "find", "new", "own"); n != 1 {
			t.Errorf("a tool of an instance is announced %d times", n)
		}
		if n := says(2, "find", "new", "own"); n != 0 {
			t.Errorf("the same tool of a third is announced %d times", n)
		}
		if n := says(0, "find", "new"); n != 1 {
			t.Errorf("what the first says has changed is announced %d times", n)
		}
	})
}
