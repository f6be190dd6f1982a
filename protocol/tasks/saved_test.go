package tasks_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/tasks"
)

const savedTask = `{"id":"T","down":1,"up":2,"client":"2025-11-25","server":"2026-07-28","cancels":true,"status":"input_required","message":"m",` +
	`"created":"2026-11-20T12:00:00Z","updated":"2026-11-20T12:00:01Z","ttl_ns":60000000000,"poll_ns":1000000000,"asked":[1,0,2,0],"own":"s-1"}`

// A stored text yields either a consistent task or none. The task saves to the same state, answers
// its client, and is dropped in time.
func FuzzLoad(f *testing.F) {
	f.Add(savedTask, true)
	f.Add(`{"id":"T","down":2,"up":1,"client":"2026-07-28","server":"2025-11-25","status":"completed","created":"2026-11-20T12:00:00Z",`+
		`"updated":"2026-11-20T12:00:01Z","ttl_ns":1,"poll_ns":-1,"asked":[0,0,0,0],"result":{"content":[]}}`, false)
	f.Add(`{"id":"T","down":2,"up":1,"client":"2026-07-28","server":"2025-11-25","status":"failed","created":"2026-11-20T12:00:00Z",`+
		`"updated":"2026-11-20T12:00:01Z","ttl_ns":9000000000,"poll_ns":1,"asked":[0,0,0,0],"error":{"code":-1,"message":"no","data":[7]}}`, false)
	f.Add(`{"id":"T","down":1,"up":1,"client":"2025-11-25","server":"2025-11-25","status":"completed","created":"2026-11-20T12:00:00Z",`+
		`"updated":"2026-11-20T12:00:01Z","ttl_ns":9000000000,"poll_ns":1,"asked":[0,0,0,0],"size":70000}`, false)
	f.Add(`{}`, false)
	f.Fuzz(func(t *testing.T, text string, lives bool) {
		var s tasks.Saved
		if json.Unmarshal([]byte(text), &s) != nil {
			return
		}
		task, err := tasks.Load(s, "files", nil)
		if err != nil {
			return
		}
		if again, err := json.Marshal(task.Save()); err != nil || json.Unmarshal(again, &s) != nil {
			t.Fatalf("%s: %v", again, err)
		} else if _, err := tasks.Load(s, "files", nil); err != nil {
			t.Fatalf("%s is a task, and %s is none", text, again)
		}
		now := task.Created().Add(time.Duration(s.TTL) / 2)
		answered := 0
		step := func(in tasks.Event) (forgotten bool) {
			for _, e := range task.Step(now, in) {
				switch e.Do {
				case tasks.Deliver:
					answered++
				case tasks.Forget:
					forgotten = true
				}
			}
			return forgotten
		}
		step(tasks.Event{Op: tasks.Resume, ServerAlive: lives})
		step(tasks.Event{Op: tasks.Ask, Request: 1, Method: "tasks/get", Params: jsontext.Value(`{}`)})
		step(tasks.Event{Op: tasks.Ask, Request: 2, Method: "tasks/result", Params: jsontext.Value(`{}`)})
		if now = task.Expires(); !step(tasks.Event{Op: tasks.Expire}) || answered != 2 {
			t.Errorf("%s: %d answers at its end", text, answered)
		}
	})
}

// An unknown revision, status, dialect or id is not a task.
func TestWhatIsNoTaskIsNotLoaded(t *testing.T) {
	load := func(change func(s *tasks.Saved)) error {
		var s tasks.Saved
		if err := json.Unmarshal([]byte(savedTask), &s); err != nil {
			t.Fatal(err)
		}
		change(&s)
		_, err := tasks.Load(s, "files", nil)
		return err
	}
	if err := load(func(*tasks.Saved) {}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(s *tasks.Saved){
		"id": func(s *tasks.Saved) {
			s.ID = ""
		}, "client": func(s *tasks.Saved) {
			s.Client = "2031-01-01"
		}, "server": func(s *tasks.Saved) { s.Server = "" },
		"dialect": func(s *tasks.Saved) {
			s.Down = tasks.Extension
		}, "no dialect": func(s *tasks.Saved) { s.Up = 9 },
		"status": func(s *tasks.Saved) {
			s.Status = "sleeping"
		}, "no outcome": func(s *tasks.Saved) { s.Status = tasks.Completed },
		"ttl": func(s *tasks.Saved) {
			s.TTL = int64(25 * time.Hour)
		}, "created": func(s *tasks.Saved) { s.Created = time.Time{} },
		"own": func(s *tasks.Saved) {
			s.Own = jsontext.Value(`7`)
		}, "result": func(s *tasks.Saved) { s.Result = jsontext.Value(`[]`) },
	} {
		if load(change) == nil {
			t.Errorf("%s: it is a task", name)
		}
	}
}
