package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/tasks"
)

// job is a task at a server of the run.
type job struct {
	id     string
	nonce  string
	status tasks.Status
	wait   []func() // called when the task is over
}

// taskLife is the longest duration of a call that is run as a task.
const taskLife = time.Second

// asJob makes a task of a call.
func (v *server) asJob(nonce string) *job {
	j := &job{id: "job-" + strconv.Itoa(len(v.jobs)+1), nonce: nonce, status: tasks.Working}
	v.jobs = append(v.jobs, j)
	v.s.w.AfterFunc(time.Duration(v.s.w.rand.Int64N(int64(taskLife))), func() {
		v.end(j, tasks.Completed)
	})
	return j
}

// end gives a task its final status, unless it already has one.
func (v *server) end(j *job, as tasks.Status) {
	if j.status.Final() {
		return
	}
	v.s.w.Note("job", v.at, j.id+" "+string(as))
	j.status = as
	for _, tell := range j.wait {
		tell()
	}
	j.wait = nil
}

// object returns a task in JSON, in the form of the server's era.
func (v *server) object(j *job) string {
	text := `{"taskId":"` + j.id + `","status":"` + string(j.status) +
		`","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z",`
	if !v.modern {
		return text + `"ttl":60000,"pollInterval":100}`
	}
	if j.status == tasks.Completed {
		text += `"result":` + v.outcome(j.nonce) + `,`
	}
	return text + `"resultType":"complete","ttlMs":60000,"pollIntervalMs":100}`
}

// task answers a request about a task.
func (v *server) task(w *connection, m jsonrpc.Message) {
	id, _ := jsonedit.GetString(m.Params, "taskId")
	i := slices.IndexFunc(v.jobs, func(j *job) bool { return j.id == id })
	if i < 0 {
		v.refuse(w, m, jsonrpc.CodeInvalidParams)
		return
	}
	j := v.jobs[i]
	switch m.Method {
	case "tasks/cancel":
		v.end(j, tasks.Cancelled)
	case "tasks/result":
		answer := func() {
			if j.status == tasks.Completed {
				v.reply(w, m, v.outcome(j.nonce), 0)
			} else {
				v.refuse(w, m, jsonrpc.CodeInvalidParams)
			}
		}
		if j.status.Final() {
			answer()
		} else {
			j.wait = append(j.wait, answer)
		}
		return
	}
	v.reply(w, m, v.object(j), 0)
}

// followed is a task from the view of its client. Its sequence of states must be a valid one.
type followed struct {
	k         *call
	id        string
	status    tasks.Status
	cancelled bool
}

// see checks the state that the client got.
func (t *followed) see(task jsontext.Value) {
	text, _ := jsonedit.GetString(task, "status")
	now := tasks.Status(text)
	s := t.k.s
	switch {
	case t.status.Final() && now != t.status:
		s.find("task", "%s was %s, and is %s", t.k.nonce, t.status, now)
	case now == tasks.Cancelled && !t.cancelled:
		s.find("task", "%s is cancelled, by nobody", t.k.nonce)
	case now == tasks.Failed && s.innocent(t.k):
		s.find("task", "%s has failed, for no reason: %s", t.k.nonce, task)
	case !now.Final() && now != tasks.Working && now != tasks.InputRequired:
		s.find("task", "%s is %q", t.k.nonce, text)
	}
	if id, _ := jsonedit.GetString(task, "taskId"); id != t.id {
		s.find("I2 cross-talk", "%s is told of the task %q", t.k.nonce, id)
	}
	t.status = now
	if result, ok := jsonedit.Get(task, "result"); ok {
		t.came(result)
	}
}

// came checks the result of the task.
func (t *followed) came(result jsontext.Value) {
	if !strings.Contains(string(result), t.k.mark()) {
		t.k.s.find("I2 cross-talk", "the task of %s ended with %s", t.k.nonce, result)
	}
}

// polls is how often a client polls a task before it gives up.
const polls = 10

// follow polls the task that a call became.
func (c *simClient) follow(k *call, id string) {
	t := &followed{k: k, id: id}
	// between peers of the same era the host only relays
	if !c.modern || !c.s.servers[c.at.Tenant+"/"+k.server].modern {
		c.taskIDs = append(c.taskIDs, id)
	}
	about := `{"taskId":` + string(jsonedit.Quote(id)) + `}`
	for range polls {
		c.s.pause(400 * time.Millisecond)
		if c.s.plan.cancels.strikes(c.s.w.rand) {
			t.cancelled = true
			cancel := c.begin("tasks/cancel", "", "")
			cancel.mayFail = true // it may be over
			c.ask(cancel, about)
		}
		if look := c.ask(c.begin("tasks/get", "", ""), about); look != nil {
			t.see(look)
		}
		if t.status.Final() {
			break
		}
	}
	if c.modern || t.status != tasks.Completed {
		return
	}
	if result := c.ask(c.begin("tasks/result", "", ""), about); result != nil {
		t.came(result)
	}
	if look := c.ask(c.begin("tasks/get", "", ""), about); look != nil {
		t.see(look)
	}
}

// ask sends a request and waits for its result, which is nil if there is none.
func (c *simClient) ask(k *call, params string) jsontext.Value {
	c.send(k, params)
	c.s.w.Wait(func() bool { return k.ended || k.refused != nil })
	return k.outcome.Result
}
