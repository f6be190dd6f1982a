package server_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"mcpd/protocol/jsonrpc"
)

// Whatever a crash has done to what is known of a task, the next incarnation does not crash on it, who waits has an answer unless nobody knows of
// him any more, and when its time is over nothing is left. The next task is as good as any.
func TestDamagedTaskEnds(t *testing.T) {
	for seed := range uint64(200) {
		change := tasked("optional")
		if seed%2 == 1 {
			change = extended
		}
		run(t, change, func(r *rig) {
			r.Heirs.Whole = []string{
				"*task.Options", "task.Args", "*task.Entry", "estate.mu", "tasks.Options", "jsonrpc.ID", "jsontext.Value", "Task.created", "Task.ttl",
			}
			u := r.ready(`{"elicitation":{}}`)
			id := member(t, u.ask("tools/call", asTask), "task", "taskId")
			p := r.latest("files")
			wait := u.ask("tasks/result", about(id))
			if seed%4 == 0 {
				r.doing(`{"taskId":"s-1","status":"input_required"}`)
				time.Sleep(time.Second)
				p.Ask(jsonrpc.IntID(9), "elicitation/create", asksName)
				r.Rest()
			}
			r.Heirs.Rand = rand.New(rand.NewPCG(seed, 0))
			r.crashes("*request.Forward", func() { u.ask("tasks/get", about(id)) })
			r.Heirs.Rand = nil
			if out := u.ask("tasks/get", about(id)); out.Word() != "result" {
				t.Errorf("seed %d: got %v after %q", seed, out.All(), r.Heirs.Done)
			}
			time.Sleep(2 * time.Minute)
			if n := len(wait.All()); n > 1 || n == 0 && !r.forgot() {
				t.Errorf("seed %d: who waited has %d answers after %q", seed, n, r.Heirs.Done)
			}
			if out := u.ask("tasks/get", about(id)); out.Word() != int64(-32602) {
				t.Errorf("seed %d: when its time is over: %v after %q", seed, out.All(), r.Heirs.Done)
			}
			if out := u.ask("tools/call", asTask); out.Word() != "result" {
				t.Errorf("seed %d: the next: %v after %q", seed, out.All(), r.Heirs.Done)
			}
		})
	}
}

// forgot reports whether the damage was done to what alone says who waits.
func (r *rig) forgot() bool {
	for _, harm := range r.Heirs.Done {
		switch harm {
		case "zero estate.open", "delete from estate.open", "zero in estate.open", "zero key in estate.open", "duplicate in estate.open":
			return true
		}
	}
	return false
}
