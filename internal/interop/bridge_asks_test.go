package interop

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// ownProcesses returns a configuration in which each session has its own process of the server, so
// that no call waits for the questions of another session.
func ownProcesses(t *testing.T, more string) string {
	t.Helper()
	server := strings.Replace(selfConfig(t, serveSDK, "proc"), "{",
		"{share: session, max_instances: 16, ", 1)
	return fmt.Sprintf("%s\ntenants: {default: {servers: {proc: %s}}}\n", more, server)
}

// startQuestions starts a call of each tool that asks, and returns when the user has both
// questions.
func startQuestions(t *testing.T, c *bridged, text string) (calls [2]<-chan mcptest.Outcome) {
	t.Helper()
	before := c.asked()
	for i, tool := range []string{"elicit", "sample"} {
		calls[i] = c.call(tool, textArguments(text))
		if !within(func() bool {
			return c.asked() > before+i || len(calls[i]) > 0
		}) || len(calls[i]) > 0 {
			t.Fatalf("%s: %s: the user is not asked: %v", c.name, tool, mcptest.Await(t, calls[i]))
		}
	}
	return calls
}

// answerQuestions lets the user answer both questions, and checks the results of the calls.
func answerQuestions(t *testing.T, c *bridged, calls [2]<-chan mcptest.Outcome, text string) {
	t.Helper()
	for range calls {
		c.answer(text)
	}
	for i, want := range []string{"accept " + text, text} {
		if o := mcptest.Await(t, calls[i]); o.Broken != "" || string(o.Value) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: got %v, want %q", c.name, o, want)
		}
	}
}

// The host is killed while users have open questions. The call of a legacy client fails once, with
// the reason, and the host discards the answer that its user gives later. A client of 2026-07-28
// has no request at the host at that time. It sends the answer to the next host, which continues
// the call if it has the state of the first host. Questions of the next host work as before.
func TestBridgedQuestionsWhenTheHostIsKilled(t *testing.T) {
	config := ownProcesses(t, "")
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("state kept %t", kept), func(t *testing.T) {
			host := mcptest.Start(t, mcptest.HostOptions{Config: config})
			clients := eachBridged(t, 1, host, "proc")
			var calls [][2]<-chan mcptest.Outcome
			for _, c := range clients {
				calls = append(calls, startQuestions(t, c, "Who?"))
			}
			host.Kill()
			if !kept {
				if err := os.RemoveAll(host.State); err != nil {
					t.Fatal(err)
				}
			}
			restart(t, host, config)
			for i, c := range clients {
				for _, call := range calls[i] {
					if c.modern {
						continue
					}
					o := mcptest.Await(t, call)
					if o.Error == nil || !strings.Contains(string(o.Error.Data), `"maybeExecuted":true`) {
						t.Errorf("%s: a call whose question was open: %v", c.name, o)
					}
				}
			}
			for i, c := range clients {
				switch {
				case c.modern && kept:
					answerQuestions(t, c, calls[i], "late")
				case c.modern:
					for _, call := range calls[i] {
						c.answer("late")
						if o := mcptest.Await(t, call); o.Error == nil ||
							!strings.Contains(o.Error.Message, "requestState") {
							t.Errorf("%s: a call whose state is lost: %v", c.name, o)
						}
					}
				default:
					c.answer("late")
					c.answer("late")
				}
			}
			for _, c := range clients {
				answerQuestions(t, c, startQuestions(t, c, "And now?"), "now")
			}
		})
	}
}

// The settings of legacy sessions are restored when the host comes back, with or without its state.
// Clients receive log lines of their level, and updates of the resources they watch.
func TestBridgedSessionsAreRestored(t *testing.T) {
	config := ownProcesses(t, "")
	uri := "fixture://proc/watched"
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("state kept %t", kept), func(t *testing.T) {
			host := mcptest.Start(t, mcptest.HostOptions{Config: config})
			clients := openRestorable(t, host, uri)
			host.Kill()
			if !kept {
				if err := os.RemoveAll(host.State); err != nil {
					t.Fatal(err)
				}
			}
			restart(t, host, config)
			checkLogs(t, clients, "after")
			checkUpdates(t, clients, uri)
		})
	}
}

// openRestorable opens a client of each SDK and era. Each client watches a resource, and each
// legacy client has set its log level.
func openRestorable(t *testing.T, host *mcptest.Host, uri string) []*bridged {
	t.Helper()
	clients := eachBridged(t, 1, host, "proc")
	for _, c := range clients {
		if o := mcptest.Await(t, c.subscribe(uri)); o.Broken != "" {
			t.Fatalf("%s: subscribe: %v", c.name, o)
		}
		if c.modern {
			continue
		}
		if o := mcptest.Await(t, c.level("warning")); o.Broken != "" {
			t.Fatalf("%s: level: %v", c.name, o)
		}
	}
	checkLogs(t, clients, "before")
	return clients
}

// The host is drained while clients are connected, and started again. Users answer questions from
// before the drain, calls in the last third of the drain wait for the next host, and no call fails.
func TestBridgedClientsSeeNoDrain(t *testing.T) {
	const drain = 9 * time.Second
	config := ownProcesses(t, fmt.Sprintf("limits: {drain: %s}", drain))
	uri := "fixture://proc/watched"
	host := mcptest.Start(t, mcptest.HostOptions{Config: config})
	clients := openRestorable(t, host, uri)
	var calls [][2]<-chan mcptest.Outcome
	for _, c := range clients {
		calls = append(calls, startQuestions(t, c, "Who?"))
	}
	begun, ended := time.Now(), make(chan int, 1)
	go func() { ended <- host.Stop() }() // owner: this test, which reads the channel
	time.Sleep(drain / 9)
	first, last := 0, len(clients)-1
	if clients[first].modern || !clients[last].modern {
		t.Fatal("the host waits for questions of legacy clients only")
	}
	for i, c := range clients[:last] {
		if i != first { // the first client keeps the host waiting
			answerQuestions(t, c, calls[i], "during")
		}
	}
	time.Sleep(time.Until(begun.Add(drain * 7 / 9)))
	var waiting []<-chan mcptest.Outcome
	for _, c := range clients {
		waiting = append(waiting, c.call("echo", textArguments("still here")))
	}
	answerQuestions(t, clients[first], calls[first], "at the end")
	if code := <-ended; code != 0 {
		t.Errorf("the host ended with %d", code)
	}
	restart(t, host, config)
	for i, c := range clients {
		if o := mcptest.Await(t, waiting[i]); !strings.Contains(string(o.Value), "still here") {
			t.Errorf("%s: a call of the last third: %v", c.name, o)
		}
	}
	// a client of 2026-07-28, whose state outlives the host
	answerQuestions(t, clients[last], calls[last], "after")
	checkLogs(t, clients, "after")
	checkUpdates(t, clients, uri)
}
