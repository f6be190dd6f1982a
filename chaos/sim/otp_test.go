package sim

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"mcpd/supervisor/otp"
)

// idle is a worker that only crashes when it gets a message.
type idle struct{ otp.Base }

func (idle) Receive(_ *otp.Process, msg any) error { panic(msg) }

// Everything that is told to end does so in time and nothing has to be abandoned, whatever messages
// supervisors and their children get, and whichever of them crash meanwhile.
func TestSupervisorsEndInAnyOrder(t *testing.T) {
	for seed := range uint64(600) {
		w := NewWorld(seed, NewTrace(nil))
		system := otp.NewSystem(otp.Options{Scheduler: w, Clock: w, Events: func(e otp.Event) {
			if a, ok := e.(otp.Abandoned); ok {
				t.Errorf("seed %d: %s was abandoned", seed, a.Path)
			}
		}})
		row := func(id string) otp.Child {
			return otp.Child{ID: id, Start: otp.Worker(func() otp.Behaviour { return idle{} })}
		}
		below := func(id string) otp.Child {
			return otp.Child{ID: id, Shutdown: 10 * time.Second, Start: otp.Supervisor(otp.Spec{
				Intensity: otp.Intensity{Restarts: 3, Within: time.Minute},
				Children:  []otp.Child{row("a"), row("b")},
			})}
		}
		tree, err := system.Start(context.Background(), "top", otp.Spec{
			Intensity: otp.Intensity{Restarts: 100, Within: time.Minute},
			Children:  []otp.Child{below("first")},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			w.Spawn("operator", func() {
				var err error
				id := fmt.Sprint("x", i%3)
				switch ctx, top := context.Background(), tree.Ref(); w.Rand().IntN(4) {
				case 0:
					_, err = otp.StartChild(ctx, top, below(id))
				case 1:
					err = otp.TerminateChild(ctx, top, id)
				case 2:
					_, err = otp.RestartChild(ctx, top, id)
				default:
					if ref, ok := system.Whereis("top/first/a"); ok {
						_ = ref.Send("crash")
					}
				}
				if a := new(otp.AbandonedError); errors.As(err, &a) {
					t.Errorf("seed %d: %v", seed, err)
				}
			})
		}
		w.RunFor(time.Duration(w.Rand().Int64N(int64(time.Millisecond))))
		if err := tree.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		system.Close()
		if took := w.Since(); took > 5*time.Second {
			t.Errorf("seed %d: it took %v", seed, took)
		}
		w.Close()
	}
}
