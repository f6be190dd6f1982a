package server_test

import (
	"runtime"
	"testing"
	"weak"

	"mcpd/actors/internal/stage"
)

// A session lets go of a call when it has been answered, and not only when it would have had to be: its params may be megabytes.
func TestAnsweredCallIsLetGo(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		first := func() weak.Pointer[stage.Sink] { // it waits for its connection
			out := u.call()
			if out.Word() != "result" {
				t.Errorf("got %v", out.All())
			}
			return weak.Make(out)
		}()
		u.call() // what was handled last may still be at hand
		runtime.GC()
		if first.Value() != nil {
			t.Error("it is still there")
		}
	})
}
