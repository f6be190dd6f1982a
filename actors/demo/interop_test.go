package demo

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// The official SDK's client can use everything that it supports, in each revision.
func TestWithTheOfficialClient(t *testing.T) {
	for _, v := range protocol.Versions() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			c, _ := start(t, otp.Options{})
			updated, changed := make(chan string, 1), make(chan bool, 1)
			s := mcptest.ConnectOver(t, c, v.String(), &mcp.ClientOptions{
				//lint:ignore SA1019 deprecated by the newest revision
				CreateMessageHandler: func(
					_ context.Context, r *mcp.CreateMessageRequest,
					//lint:ignore SA1019 likewise
				) (*mcp.CreateMessageResult, error) {
					//lint:ignore SA1019 likewise
					return &mcp.CreateMessageResult{Role: "assistant", Model: "m",
						Content: &mcp.TextContent{Text: "hello"}}, nil
				},
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: filledIn(r.Params.RequestedSchema)}, nil
				},
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
					updated <- r.Params.URI
				},
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
			}, func(transport.Inbound) {})
			if got := s.InitializeResult().ProtocolVersion; got != v.String() {
				t.Errorf("agreed on %s", got)
			}
			checkTools(t, s)
			checkRest(t, s)
			for range 2 {
				select {
				case got := <-updated:
					if got != watchedURI {
						t.Errorf("updated %s", got)
					}
				case <-changed:
				case <-time.After(10 * time.Second):
					t.Error("not told of an update or change")
				}
			}
		})
	}
}

// filledIn is a user's input for a form with required fields.
func filledIn(schema any) map[string]any {
	form, _ := schema.(map[string]any)
	required, _ := form["required"].([]any)
	content := map[string]any{}
	for _, name := range required {
		field, _ := form["properties"].(map[string]any)[name.(string)].(map[string]any)
		if content[name.(string)] = "ann"; field["type"] == "boolean" {
			content[name.(string)] = true
		}
	}
	return content
}

// failing are the tools that report a failure; the SDK does not know tasks.
var failing = map[string]bool{
	"test_error_handling": true, "failing_job": true, "protocol_error_job": true,
}

// asksInVain reports whether a step needs an input for which a client of that revision cannot be
// asked.
func asksInVain(steps []step, v protocol.Version) bool {
	k := &call{request: request{version: v}}
	return slices.ContainsFunc(steps, func(s step) bool {
		a, ok := s.(ask)
		return ok && !a.optional && slices.ContainsFunc(a.inputs, func(in input) bool {
			return !k.expressible(in)
		})
	})
}

func checkTools(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: watchedURI}); err != nil {
		t.Error(err)
	}
	found := 0
	for listed, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		found++
		i := slices.IndexFunc(tools, func(row tool) bool { return row.name == listed.Name })
		given := map[string]any{}
		for _, p := range tools[i].params {
			if given[p.name] = "hi"; p.kind != "" {
				given[p.name] = map[jsonType]any{integer: 0, boolean: true}[p.kind]
			}
		}
		if tools[i].schema != nil {
			given["email"] = "a@b.c"
		}
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: listed.Name, Arguments: given})
		version, _ := protocol.ParseVersion(s.InitializeResult().ProtocolVersion)
		fails := failing[listed.Name] || asksInVain(tools[i].steps, version)
		if failed := err != nil || r.IsError; failed != fails {
			t.Errorf("%s: %+v, %v", listed.Name, r, err)
		}
	}
	if want := len(tools) - 1; found != want { // one tool is not listed at first
		t.Errorf("listed %d tools, want %d", found, want)
	}
}

func checkRest(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	for _, uri := range []string{"test://static-text", "test://static-binary", watchedURI,
		"test://template/123/data"} {
		r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(r.Contents) != 1 || r.Contents[0].URI != uri {
			t.Errorf("read %s: %+v, %v", uri, r, err)
		}
	}
	for _, row := range prompts { // by now the changing prompt is listed
		args := map[string]string{}
		for _, a := range row.args {
			args[a.name] = a.values[0]
		}
		version, _ := protocol.ParseVersion(s.InitializeResult().ProtocolVersion)
		r, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: row.name, Arguments: args})
		if failed := err != nil || len(r.Messages) == 0; failed != asksInVain(row.steps(), version) {
			t.Errorf("prompt %s: %+v, %v", row.name, r, err)
		}
	}
	r, err := s.Complete(t.Context(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"},
		Argument: mcp.CompleteParamsArgument{Name: "arg1", Value: "pari"},
	})
	if err != nil || !slices.Equal(r.Completion.Values, []string{"paris"}) {
		t.Errorf("complete: %+v, %v", r, err)
	}
}
