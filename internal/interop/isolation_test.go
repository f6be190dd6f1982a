//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// keyConfig returns the line of a key in a configuration.
func keyConfig(name, key string) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("{name: %s, sha256: %s}", name, hex.EncodeToString(sum[:]))
}

// An unsolicited message of a server on one client's connection reaches only that client. It
// reaches no other session of the same principal, no other principal and no other tenant (S84). The
// modern era has no such messages.
func TestUnaskedMessagesStayWithTheirConnection(t *testing.T) {
	server := func() string {
		return fmt.Sprintf("{web: {url: %q}, proc: %s}", serveWithSessions(t, newFixture("web")),
			selfConfig(t, serveOld, "proc"))
	}
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(`tenants:
  acme: {auth: {keys: [%s, %s]}, servers: %s}
  zeta: {auth: {keys: [%s]}, servers: %s}
`, keyConfig("ann", "key-of-ann"), keyConfig("bob", "key-of-bob"), server(),
		keyConfig("zoe", "key-of-zoe"),
		server())})
	path := map[string]string{"ann": "acme", "bob": "acme", "zoe": "zeta"}
	open := func(who string) *client {
		c := dialIn(t, legacy, host.MCP+"/t/"+path[who]+"/mcp", "key-of-"+who)
		if err := c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"web", "proc"} { // now each has its connections
			c.call(s+"__echo", map[string]any{"text": "x"})
		}
		return c
	}
	speaker, others := open("ann"), []*client{open("ann"), open("bob"), open("zoe")}
	speaker.call("web__log_later", map[string]any{"text": "for one session"})
	speaker.await("warning for one session")
	speaker.call("proc__log_later", map[string]any{"text": "for one principal"})
	speaker.await("warning for one principal")
	others[0].await("warning for one principal") // shares the process
	for i, other := range others {
		// The last message of another session takes the same way as a misrouted message: same server,
		// same dispatcher. A misrouted message would come first.
		other.call("web__log_later", map[string]any{"text": "the end"})
		if heard := other.await("warning the end"); len(heard) > 0 {
			t.Errorf("other %d heard %q", i, heard)
		}
	}
}

// A question that a server asks during a call goes to the client that made the call. This holds for
// any number of simultaneous calls, for clients that share a process of the server, and for all
// combinations of eras.
func TestQuestionsReachWhoCalled(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf("tenants: {default: {servers: "+
		"{web: {url: %q}, proc: %s, past: %s, free: {url: %q}}}}\n",
		serveWithSessions(t, newFixture("web")), selfConfig(t, serveSDK, "proc"),
		selfConfig(t, serveOld, "past"),
		serveStateless(t, newFixture("free").modernOnly()))})
	const users, calls = 4, 5
	for _, server := range []string{"web", "proc", "past", "free"} {
		// After this call the host knows that the server of each connection asks questions.
		for _, era := range []string{legacy, modern} {
			dialIn(t, era, host.MCP+"/mcp", "").call(server+"__elicit", map[string]any{"text": "the first"})
		}
		var all sync.WaitGroup
		for i := range users {
			c := dialIn(t, []string{legacy, modern}[i%2], host.MCP+"/mcp", "")
			c.user = fmt.Sprint("user ", i)
			for j := range calls {
				all.Go(func() {
					text := fmt.Sprintf("question %d of %d", j, i)
					r, err := c.CallTool(t.Context(), toolCall(server+"__elicit", text))
					if err != nil || r.IsError || mcptest.Text(t, r) != "accept "+c.user+" for "+text {
						t.Errorf("%s, %s: %+v, %v", server, text, r, err)
					}
				})
			}
		}
		all.Wait()
	}
}
