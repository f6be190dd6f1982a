package server_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/actors/storage"
	"mcpd/actors/task"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/tasks"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// disk is a store that survives a host.
type disk struct {
	mu     sync.Mutex // guards the fields below
	values map[string]jsontext.Value
	stuck  chan struct{} // if it is set, writes block until it is closed
}

func (d *disk) Apply(changes []store.Change) error {
	if d.stuck != nil {
		<-d.stuck
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.values == nil {
		d.values = map[string]jsontext.Value{}
	}
	for _, c := range changes {
		if d.values[c.Key] = c.Value; c.Value == nil {
			delete(d.values, c.Key)
		}
	}
	return nil
}

func (d *disk) Has(_ store.Bucket, key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.values[key] != nil
}

func (d *disk) Verify() error { return nil }

func (d *disk) Sync() error { return nil }

// killed is a copy of the disk in its current state.
func (d *disk) killed() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &disk{values: maps.Clone(d.values)}
}

// keeps gives the rig a disk.
func keeps(d *disk, home string, change func(r *rig)) func(r *rig) {
	return func(r *rig) {
		change(r)
		r.disk, r.home = d, home
	}
}

func (r *rig) storage() (nobody otp.Ref) {
	if r.disk == nil {
		return nobody
	}
	return r.Ref("storage")
}

func (r *rig) taskOptions() *task.Options {
	return &task.Options{
		Tenant: "acme", Requests: r.Ref("requests"), Catalog: r.Ref("catalog"), NextID: &r.next,
		Index: &r.tasks, Storage: r.storage(),
		Timeout: func() time.Duration {
			return r.tenant.Limits.RequestTimeout
		}, Home: func(string) string { return r.home },
		Session: func(id string) (request.Owner, bool) { return r.index.Get(id) },
	}
}

func (r *rig) restoring() task.ManagerOptions {
	return task.ManagerOptions{
		Tasks: r.taskOptions(), Pool: func() otp.Ref {
			ref, _ := r.System.Whereis("top/task_sup")
			return ref
		}, Emit: r.Events.Emit,
		Serves: func(principal, server string) bool {
			return principal == "ci" && (server == "" || server == "files")
		},
		Stored: func() iter.Seq2[string, jsontext.Value] {
			if r.disk == nil {
				return maps.All(map[string]jsontext.Value(nil))
			}
			return maps.All(r.disk.killed().values)
		},
	}
}

// finishes completes the server's task with a result.
func (r *rig) finishes(p *peer, text string) {
	r.doing(`{"taskId":"s-1","status":"completed"}`)
	time.Sleep(time.Second)
	r.WaitIdle()
	p.answer("tasks/result", text)
}

// I12: a task that its client knows of exists after the host was killed, under the same id. A
// finished outcome is known. A task at a server that survived is followed. A task that ended with
// the host has failed. No call is repeated.
func TestTasksOutliveTheHost(t *testing.T) {
	var first disk
	var done, working string
	var left *disk
	run(t, keeps(&first, "elsewhere", tasked("optional")), func(r *rig) {
		u := r.ready(`{}`)
		done = member(t, u.ask("tools/call", asTask), "task", "taskId")
		r.finishes(r.peer("files"), `{"content":[{"type":"text","text":"done"}]}`)
		r.doing(`{"taskId":"s-1","status":"working"}`)
		working = member(t, u.ask("tools/call", asTask), "task", "taskId")
		left = first.killed()
	})
	if stopped := first.killed(); !maps.EqualFunc(stopped.values, left.values,
		func(a, b jsontext.Value) bool {
			return string(a) == string(b)
		}) {
		t.Errorf("a host that is stopped leaves %v, one that is killed %v", stopped.values, left.values)
	}
	for home, goesOn := range map[string]bool{"elsewhere": true, "": false, "another": false} {
		run(t, keeps(left.killed(), home, tasked("optional")), func(r *rig) {
			u := r.ready(`{}`)
			if out := u.ask("tasks/list", ""); strings.Count(string(out.Outcome().Result), "taskId") != 2 {
				t.Errorf("%s: listed %v", home, out.All())
			}
			if out := u.ask("tasks/result", about(done)); !strings.Contains(string(out.Outcome().Result),
				`"text":"done"`) {
				t.Errorf("%s: the outcome is %v", home, out.All())
			}
			if !goesOn {
				if out := u.ask("tasks/get", about(working)); member(t, out, "status") != "failed" ||
					member(t, out, "statusMessage") == "" {
					t.Errorf("%s: got %v", home, out.All())
				}
				out := u.ask("tasks/result", about(working))
				if refusal := out.Outcome().Error; refusal == nil ||
					!strings.Contains(string(refusal.Data), `"maybeExecuted":true`) {
					t.Errorf("%s: the outcome is %v", home, out.All())
				}
				return
			}
			if out := u.ask("tasks/get", about(working)); member(t, out, "status") != "working" {
				t.Errorf("got %v", out.All())
			}
			p := r.peer("files")
			r.finishes(p, `{"content":[{"type":"text","text":"late"}]}`)
			if out := u.ask("tasks/result", about(working)); !strings.Contains(string(out.Outcome().Result),
				`"text":"late"`) {
				t.Errorf("the outcome is %v", out.All())
			}
			if len(p.heard("tools/call")) != 0 || len(p.heard("tasks/result")) != 1 {
				t.Errorf("the server heard %v", p.heard(""))
			}
			time.Sleep(time.Minute)
			r.WaitIdle()
			if got := r.disk.killed().values; len(got) != 0 {
				t.Errorf("when their time is over, %v is left", got)
			}
		})
	}
}

// The same holds for a client of the extension, whose task has an open question when the host is
// killed. Another principal has no access to it.
func TestTaskOfTheExtensionOutlivesTheHost(t *testing.T) {
	var id string
	var left *disk
	var first disk
	run(t, keeps(&first, "elsewhere", tasked("optional")), func(r *rig) {
		id = member(t, r.caller(follows).ask("tools/call", `{"name":"files__read"}`), "taskId")
		r.doing(`{"taskId":"s-1","status":"input_required"}`)
		time.Sleep(time.Second)
		r.WaitIdle()
		r.latest("files").Ask(jsonrpc.IntID(9), "elicitation/create",
			`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)
		r.WaitIdle()
		left = first.killed()
	})
	run(t, keeps(left, "elsewhere", tasked("optional")), func(r *rig) {
		c := r.caller(follows)
		if out := c.ask("tasks/get", about(id)); member(t, out, "status") != "working" {
			t.Errorf("got %v", out.All())
		}
		other := &caller{r: r, principal: "other", capabilities: follows}
		if out := other.ask("tasks/get", about(id)); out.Word() != int64(-32602) {
			t.Errorf("another principal got %v", out.All())
		}
		if out := c.ask("tasks/cancel", about(id)); out.Word() != "result" ||
			len(r.latest("files").heard("tasks/cancel")) != 1 {
			t.Errorf("got %v", out.All())
		}
		if out := c.ask("tasks/get", about(id)); member(t, out, "status") != "cancelled" {
			t.Errorf("got %v", out.All())
		}
	})
}

// The answer that announces a task waits until the task is stored, but only for a limited time if
// the disk is stuck.
func TestTaskIsPromisedWhenItIsWrittenDown(t *testing.T) {
	var d disk
	run(t, keeps(&d, "", tasked("optional")), func(r *rig) {
		d.stuck = make(chan struct{})
		defer close(d.stuck)
		u := r.ready(`{}`)
		out := u.ask("tools/call", asTask)
		if len(out.All()) != 0 {
			t.Errorf("got %v before it was written", out.All())
		}
		time.Sleep(storage.WriteWait)
		r.WaitIdle()
		if member(t, out, "task", "status") != "working" {
			t.Errorf("got %v", out.All())
		}
	})
	run(t, keeps(&disk{}, "", tasked("optional")), func(r *rig) {
		u := r.ready(`{}`)
		if out := u.ask("tools/call", asTask); member(t, out, "task", "status") != "working" ||
			len(r.disk.killed().values) != 1 {
			t.Errorf("got %v, and %v is written", out.All(), r.disk.killed().values)
		}
	})
}

// For an outcome that is too large to be stored, only its size is kept.
func TestLargeOutcomeIsNotKept(t *testing.T) {
	var first disk
	var legacy, modern string
	var left *disk
	run(t, keeps(&first, "elsewhere", tasked("optional")), func(r *rig) {
		u := r.ready(`{}`)
		legacy = member(t, u.ask("tools/call", asTask), "task", "taskId")
		p := r.peer("files")
		large := `{"content":[{"type":"text","text":"` + strings.Repeat("x", tasks.MaxSaved) + `"}]}`
		r.finishes(p, large)
		r.doing(`{"taskId":"s-1","status":"working"}`)
		modern = member(t, r.caller(follows).ask("tools/call", `{"name":"files__read"}`), "taskId")
		r.finishes(r.peer("files"), large)
		if out := u.ask("tasks/result", about(legacy)); out.Word() != "result" {
			t.Errorf("while the host lives: %v", out.Word())
		}
		left = first.killed()
	})
	for key, value := range left.values {
		if len(value) > 10_000 {
			t.Errorf("%s has %d bytes", key, len(value))
		}
	}
	run(t, keeps(left, "elsewhere", tasked("optional")), func(r *rig) {
		u := r.ready(`{}`)
		if out := u.ask("tasks/get", about(legacy)); member(t, out, "status") != "completed" {
			t.Errorf("got %v", out.All())
		}
		want := fmt.Sprintf("more than the %d", tasks.MaxSaved)
		if out := u.ask("tasks/result", about(legacy)); out.Outcome().Error == nil ||
			!strings.Contains(out.Outcome().Error.Message, want) {
			t.Errorf("got %v", out.All())
		}
		out := r.caller(follows).ask("tasks/get", about(modern))
		if reason, _ := jsonedit.GetString(out.Outcome().Result, "error", "message"); member(t, out,
			"status") != "failed" || !strings.Contains(reason, want) {
			t.Errorf("got %v", out.All())
		}
	})
}

// A stored record that is not a valid task is dropped and reported. A task that is given up is
// stored as failed, and then deleted.
func TestBrokenTasksAreDropped(t *testing.T) {
	var first disk
	var id string
	var left *disk
	run(t, keeps(&first, "elsewhere", tasked("optional")), func(r *rig) {
		id = member(t, r.ready(`{}`).ask("tools/call", asTask), "task", "taskId")
		left = first.killed()
	})
	row := slices.Collect(maps.Keys(left.values))[0]
	good := string(left.values[row])
	key := func(n int) string { return fmt.Sprintf("%032x", n) }
	for n, broken := range []string{
		`7`, `{}`, `{"server":"files"}`, strings.Replace(good, `"2025-11-25"`, `"2031-01-01"`, 1),
		strings.Replace(good, `"working"`, `"dreaming"`, 1),
		strings.Replace(good, `"ci"`, `"gone"`, 1),
		strings.Replace(good, `"created":"2000`, `"created":"2100`, 1),
		strings.Replace(good, `"down":1`, `"down":0`, 1),
	} {
		if broken == good {
			t.Fatalf("%d is whole: %s", n, good)
		}
		left.values[key(n)] = jsontext.Value(broken)
	}
	left.values["x"] = jsontext.Value(good)
	run(t, keeps(left, "elsewhere", tasked("optional")), func(r *rig) {
		dropped := 0
		for _, d := range testrig.Of[telemetry.RecordDropped](&r.Events) {
			if d.Kind == "task" && d.Reason != "" {
				dropped++
			}
		}
		if dropped != 9 || len(r.disk.killed().values) != 1 {
			t.Errorf("%d were dropped, %v is left", dropped, r.disk.killed().values)
		}
		u := r.ready(`{}`)
		if out := u.ask("tasks/get", about(id)); member(t, out, "status") != "working" {
			t.Errorf("got %v", out.All())
		}
		for n := range 6 {
			r.Break("task_sup/*", "*request.Forward")
			if out := u.ask("tasks/get", about(id)); out.Outcome().Error == nil {
				t.Errorf("%d: %v", n, out.All())
			}
			r.Struck()
			left := r.disk.killed().values
			if n < 5 && len(left) != 1 || n == 4 && !strings.Contains(string(left[row]), `"failed"`) ||
				n == 5 && len(left) != 0 {
				t.Errorf("after crash %d %v is left", n, left)
			}
		}
		if out := u.ask("tasks/get", about(id)); out.Word() != int64(-32602) {
			t.Errorf("then: %v", out.All())
		}
	})
}
