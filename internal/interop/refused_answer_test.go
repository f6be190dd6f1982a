package interop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// A server without sessions asks during a call, refuses the answer with 400 as mcp-go does, and
// keeps waiting for the answer. Its caller soon gets an error with the reason, whether or not the
// caller can answer the question.
func TestServerThatRefusesTheAnswer(t *testing.T) {
	form := oddQuestion(`"q-$N"`, "elicitation/create",
		`{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`)
	row := oddRow{
		name: "deaf", sessionless: true, refusesAnswers: true,
		says: oddScript{
			"tools/call ask": {{before: []string{form}}}, "tools/call echo": {result(text("still here"))},
		},
	}
	web := listen(t, http.HandlerFunc((&oddWeb{only: row.server(oddEvents)}).ServeHTTP))
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: fmt.Sprintf("tenants: {default: {servers: {odd: {url: %q}}}}\n", web+"/mcpd/odd/mcp"),
	})
	for _, revision := range []string{legacy, modern} {
		for _, answers := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, can answer %t", revision, answers), func(t *testing.T) {
				var options mcp.ClientOptions
				if answers {
					options.ElicitationHandler = func(context.Context,
						*mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
					}
				}
				client := mcp.NewClient(&mcp.Implementation{Name: "deaf", Version: "1"}, &options)
				session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
					Endpoint: host.MCP + "/odd/mcp",
				},
					&mcp.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				began := time.Now()
				_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
				var told *jsonrpc.Error
				if !errors.As(err, &told) || !strings.Contains(told.Message, "did not take the answer") ||
					!strings.Contains(string(told.Data), `"maybeExecuted":true,"retryable":false`) {
					t.Errorf("the caller is told %v", err)
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("it is told after %s", took)
				}
				if r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"}); err != nil ||
					mcptest.Text(t, r) != "still here" {
					t.Errorf("the next call: %v", err)
				}
			})
		}
	}
}
