package process_test

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/process"
	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
	"mcpd/transport/stdio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a process manager with two rows that own programs. The programs and the time are real.
type rig struct {
	t      *testing.T
	system *otp.System
	tree   *otp.Tree
	faults *fault.Registry
	last   *process.Closer
	spawns *stdio.Spawner
}

func start(t *testing.T) *rig {
	t.Helper()
	return startWith(t, stdio.SpawnerOptions{Instance: "test"})
}

func startWith(t *testing.T, o stdio.SpawnerOptions) *rig {
	t.Helper()
	r := &rig{t: t, faults: fault.New(clock.System)}
	r.system = otp.NewSystem(otp.Options{Faults: r.faults})
	spawner := stdio.NewSpawner(o)
	r.last, r.spawns = process.NewCloser(false), spawner
	var err error
	r.tree, err = r.system.Start(t.Context(), "top",
		otp.Spec{Intensity: otp.Intensity{Restarts: 100, Within: time.Second}, Children: []otp.Child{
			{ID: "manager", Shutdown: 10 * time.Second, Start: otp.Worker(func() otp.Behaviour {
				return process.New(spawner, r.last)
			})},
			new(testrig.Box).Child("one"), new(testrig.Box).Child("two"),
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.system.Close()
		r.last.Stop()
		if err := spawner.Close(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Millisecond) // a library's goroutine that lives a moment longer
	})
	return r
}

func (r *rig) ref(row string) otp.Ref {
	r.t.Helper()
	ref, ok := r.system.Whereis("top/" + row)
	if !ok {
		r.t.Fatalf("no row %s", row)
	}
	return ref
}

// cat asks for a program that ends when its input does.
func (r *rig) cat(ctx context.Context, owner string) (*stdio.Child, error) {
	return r.run(ctx, owner, "/bin/cat")
}

func (r *rig) run(ctx context.Context, owner, command string) (*stdio.Child, error) {
	return otp.Do[process.StartRequest, *stdio.Child](ctx, r.ref("manager"), process.StartRequest{
		Spec: stdio.Spec{Command: command}, Owner: r.ref(owner), Tenant: "acme", Server: owner,
	})
}

func (r *rig) must(owner string) *stdio.Child {
	r.t.Helper()
	c, err := r.cat(r.t.Context(), owner)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) list() []process.Info {
	r.t.Helper()
	list, err := otp.Do[process.ListRequest, []process.Info](r.t.Context(), r.ref("manager"),
		process.ListRequest{})
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func (r *rig) breaks(kind string) {
	r.t.Helper()
	f := fault.Fault{
		Action: fault.Panic, Point: fault.Point{Path: "top/manager", Kind: kind}, Count: 1,
		Lease: time.Minute,
	}
	if _, err := r.faults.Arm(f); err != nil {
		r.t.Fatal(err)
	}
}

// giveUp makes the manager end for good, with a crash.
func (r *rig) giveUp() {
	r.t.Helper()
	f := fault.Fault{
		Action: fault.Panic, Point: fault.Point{Path: "top/manager"}, Count: 1000, Lease: time.Minute,
	}
	if _, err := r.faults.Arm(f); err != nil {
		r.t.Fatal(err)
	}
	manager := r.ref("manager")
	r.eventually("without a manager", func() bool {
		return manager.Send(struct{}{}) != nil && !manager.Alive()
	})
}

// eventually waits for a condition that takes as long as the kernel needs.
func (r *rig) eventually(label string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not %s", label)
		}
	}
}

// there reports whether a process exists.
func there(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	return err == nil
}
