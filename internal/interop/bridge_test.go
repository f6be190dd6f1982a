//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's clients do

package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// bridged is a client of an official SDK that connects to its host through `mcpd stdio`.
type bridged struct {
	name      string
	modern    bool
	call      func(tool string, arguments map[string]any) <-chan mcptest.Outcome
	list      func() <-chan mcptest.Outcome
	subscribe func(uri string) <-chan mcptest.Outcome
	level     func(level string) <-chan mcptest.Outcome
	heard     func() []string // methods of notifications since the last time
	logged    func() []string // log lines since the last time
	asked     func() int      // questions that wait for their user
	answer    func(text string)
}

// textArguments returns the arguments that tools of the fixture read.
func textArguments(text string) map[string]any {
	return map[string]any{"text": text, "level": "warning"}
}

// eachBridged opens n clients of each SDK and era at a server of a host.
func eachBridged(t *testing.T, n int, host *mcptest.Host, server string) (all []*bridged) {
	t.Helper()
	args := []string{"stdio", "--url", host.MCP, "--server", server}
	for _, k := range []struct {
		generation string
		legacy     bool
	}{{"1", true}, {"2", true}, {"2", false}} {
		node := mcptest.NewNode(t, k.generation)
		for i := range n {
			dir, name := t.TempDir(), fmt.Sprintf("typescript %s, legacy %t, %d", k.generation, k.legacy, i)
			way := mcptest.ServerAddress{
				Command: mcptest.Mcpd(t), Args: args, Cwd: dir, Legacy: k.legacy,
				Env: map[string]string{"HOME": dir, "MCPD_KEY": "", quickExit[0]: quickExit[1]},
			}
			all = append(all, overNode(t, node, name, way))
		}
	}
	for _, revision := range []string{legacy, modern} {
		for i := range n {
			all = append(all, overGo(run(t, revision, stdio(t, nil, args[1:]...)),
				fmt.Sprintf("go %s, %d", revision, i)))
		}
	}
	return all
}

func overNode(t *testing.T, node *mcptest.Node, name string, way mcptest.ServerAddress) *bridged {
	t.Helper()
	opened := mcptest.Await(t, node.Do("open", name, map[string]any{"way": way}))
	if opened.Broken != "" {
		t.Fatalf("%s: %v", name, opened)
	}
	t.Cleanup(func() { mcptest.Await(t, node.Do("close", name, nil)) })
	read := func(label string, value any) {
		if err := json.Unmarshal(mcptest.Await(t, node.Do(label, name, nil)).Value, value); err != nil {
			t.Error(err)
		}
	}
	return &bridged{
		name: name, modern: !way.Legacy,
		call: func(tool string, arguments map[string]any) <-chan mcptest.Outcome {
			params := map[string]any{"name": tool, "arguments": arguments}
			return node.Do("call", name, map[string]any{"params": params})
		},
		list: func() <-chan mcptest.Outcome { return node.Do("list", name, nil) },
		subscribe: func(uri string) <-chan mcptest.Outcome {
			return node.Do("subscribe", name, map[string]any{"params": map[string]string{"uri": uri}})
		},
		level: func(level string) <-chan mcptest.Outcome {
			return node.Do("level", name, map[string]any{"level": level})
		},
		heard:  func() (methods []string) { read("heard", &methods); return methods },
		logged: func() (lines []string) { read("logged", &lines); return lines },
		asked:  func() (n int) { read("asked", &n); return n },
		answer: func(text string) {
			mcptest.Await(t, node.Do("answer", name, map[string]any{"text": text}))
		},
	}
}

func overGo(c *client, name string) *bridged {
	do := func(f func() (any, error)) <-chan mcptest.Outcome {
		came := make(chan mcptest.Outcome, 1)
		go func() { // owner: the test, which reads the channel
			value, err := f()
			var o mcptest.Outcome
			if o.Value, _ = json.Marshal(value); err != nil {
				o.Broken = err.Error()
				var wire *sdk.Error
				if errors.As(err, &wire) {
					_ = json.Unmarshal(fmt.Appendf(nil, `{"error":{"code":%d,"message":%q,"data":%s}}`, wire.Code,
						wire.Message, wire.Data), &o)
				}
			}
			came <- o
		}()
		return came
	}
	c.questions = make(chan userQuestion, 16)
	return &bridged{
		name: name, modern: c.modern(),
		call: func(tool string, arguments map[string]any) <-chan mcptest.Outcome {
			return do(func() (any, error) {
				r, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
				if err != nil {
					return nil, err
				}
				return mcptest.Text(c.t, r), nil
			})
		},
		list: func() <-chan mcptest.Outcome {
			return do(func() (any, error) { return c.ListTools(c.t.Context(), nil) })
		},
		subscribe: func(uri string) <-chan mcptest.Outcome {
			return do(func() (any, error) {
				return nil, c.Subscribe(c.t.Context(), &mcp.SubscribeParams{URI: uri})
			})
		},
		level: func(level string) <-chan mcptest.Outcome {
			return do(func() (any, error) {
				return nil, c.SetLoggingLevel(c.t.Context(), &mcp.SetLoggingLevelParams{
					Level: mcp.LoggingLevel(level),
				})
			})
		},
		heard:  func() []string { methods, _ := newNotifications(c); return methods },
		logged: func() []string { _, lines := newNotifications(c); return lines },
		asked:  func() int { return len(c.questions) },
		answer: func(text string) { <-c.questions <- text },
	}
}

// newNotifications returns the notifications and log lines that a client has received since the
// last time.
func newNotifications(c *client) (methods, lines []string) {
	for len(c.notifications) > 0 {
		words := <-c.notifications
		if strings.HasPrefix(words, "updated ") {
			methods = append(methods, "notifications/resources/updated")
		}
		if line, is := strings.CutPrefix(words, "warning "); is {
			lines = append(lines, line)
		}
	}
	return methods, lines
}

// Twenty clients of the official SDKs, of both eras, continue by themselves when the host behind
// their `mcpd stdio` is killed in the middle of a call and comes back, with or without its state.
// The calls in flight fail once, with the reason. The next host answers requests that were sent
// meanwhile, and the subscriptions are restored.
func TestBridgedClientsOutliveTheHost(t *testing.T) {
	config := fmt.Sprintf("tenants: {default: {servers: {proc: %s}}}\n",
		selfConfig(t, serveSDK, "proc"))
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("state kept %t", kept), func(t *testing.T) {
			host := mcptest.Start(t, mcptest.HostOptions{Config: config})
			uri := "fixture://proc/watched"
			clients := eachBridged(t, 4, host, "proc")
			var flying []<-chan mcptest.Outcome
			for _, c := range clients {
				if o := mcptest.Await(t, c.subscribe(uri)); o.Broken != "" {
					t.Fatalf("%s: subscribe: %v", c.name, o)
				}
				flying = append(flying, c.call("await_cancel", nil))
			}
			time.Sleep(time.Second) // for the calls to arrive
			host.Kill()
			for i, c := range clients {
				o := mcptest.Await(t, flying[i])
				if o.Error == nil || !strings.Contains(string(o.Error.Data), `"maybeExecuted":true`) {
					t.Errorf("%s: the call in flight: %v", c.name, o)
				}
			}
			waiting := make([][2]<-chan mcptest.Outcome, len(clients))
			for i, c := range clients {
				waiting[i] = [2]<-chan mcptest.Outcome{c.call("echo", textArguments("still here")), c.list()}
				c.heard()
			}
			if !kept {
				if err := os.RemoveAll(host.State); err != nil {
					t.Fatal(err)
				}
			}
			restart(t, host, config)
			for i, c := range clients {
				if o := mcptest.Await(t, waiting[i][0]); !strings.Contains(string(o.Value), "still here") {
					t.Errorf("%s: a call while the host was away: %v", c.name, o)
				}
				if o := mcptest.Await(t, waiting[i][1]); !strings.Contains(string(o.Value), "echo") {
					t.Errorf("%s: a list while the host was away: %v", c.name, o)
				}
			}
			time.Sleep(2 * time.Second) // for subscriptions to be restored, and for updates that were missed
			for _, c := range clients {
				c.heard()
			}
			checkUpdates(t, clients, uri)
		})
	}
}

// checkUpdates checks that each client receives updates of its resource.
func checkUpdates(t *testing.T, clients []*bridged, uri string) {
	t.Helper()
	missing := slices.Clone(clients)
	for deadline := time.Now().Add(patience); len(missing) > 0 && time.Now().Before(deadline); {
		// Each client makes a change, because clients share a process of the server only if they declare
		// the same capabilities.
		for _, c := range missing {
			if o := mcptest.Await(t, c.call("touch", textArguments(uri))); o.Broken != "" {
				t.Fatalf("%s: touch: %v", c.name, o)
			}
		}
		time.Sleep(300 * time.Millisecond)
		missing = slices.DeleteFunc(missing, func(c *bridged) bool {
			return slices.Contains(c.heard(), "notifications/resources/updated")
		})
	}
	for _, c := range missing {
		t.Errorf("%s: it does not hear of its resource any more", c.name)
	}
}

// checkLogs checks that each client that has set a level receives the log line of a call.
func checkLogs(t *testing.T, clients []*bridged, text string) {
	t.Helper()
	for _, c := range clients {
		if c.modern { // each of its requests has its own level
			continue
		}
		if o := mcptest.Await(t, c.call("log", textArguments(text))); o.Broken != "" {
			t.Fatalf("%s: log: %v", c.name, o)
		}
		if !within(func() bool { return slices.Contains(c.logged(), text) }) {
			t.Errorf("%s: it does not hear the line %q", c.name, text)
		}
	}
}
