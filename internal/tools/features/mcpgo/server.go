package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type (
	call   = mcp.CallToolRequest
	result = mcp.CallToolResult
)

func text(format string, args ...any) *result {
	return mcp.NewToolResultText(fmt.Sprintf(format, args...))
}

// tool adds a tool whose arguments are required strings.
func tool(s *server.MCPServer, name string, run func(context.Context, call) (*result, error),
	arguments ...string) {
	options := []mcp.ToolOption{mcp.WithDescription("Does " + name + ".")}
	for _, argument := range arguments {
		options = append(options, mcp.WithString(argument, mcp.Required()))
	}
	s.AddTool(mcp.NewTool(name, options...), run)
}

func newServer() *server.MCPServer {
	s := server.NewMCPServer("features", "1",
		server.WithInstructions("Call tools."), server.WithLogging(), server.WithCompletions(),
		server.WithElicitation(), server.WithRoots(),
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithTaskCapabilities(true, true, true), server.WithInputSchemaValidation(),
		server.WithPaginationLimit(20),
		server.WithPromptCompletionProvider(values{}), server.WithResourceCompletionProvider(values{}),
	)
	s.EnableSampling()
	tool(s, "echo", func(_ context.Context, r call) (*result, error) {
		return text("%s", r.GetString("message", "")), nil
	}, "message")
	s.AddTool(mcp.NewTool("structured", mcp.WithRawOutputSchema(json.RawMessage(
		`{"type":"object","properties":{"degrees":{"type":"number"}},"required":["degrees"]}`))),
		func(context.Context, call) (*result, error) {
			return mcp.NewToolResultStructured(map[string]any{"degrees": 21.5}, `{"degrees":21.5}`), nil
		})
	tool(s, "fail", func(context.Context, call) (*result, error) {
		return mcp.NewToolResultError("It failed."), nil
	})
	tool(s, "progress", func(ctx context.Context, r call) (*result, error) {
		for i := 1; i <= 3; i++ {
			step(ctx, s, r, i)
		}
		return text("done"), nil
	})
	tool(s, "log", func(ctx context.Context, _ call) (*result, error) {
		for _, line := range [][2]string{{"debug", "a detail"}, {"warning", "a warning"}} {
			_ = s.SendLogMessageToClient(ctx,
				mcp.NewLoggingMessageNotification(mcp.LoggingLevel(line[0]), "features", line[1]))
		}
		time.Sleep(written)
		return text("logged"), nil
	})
	s.AddTool(mcp.NewTool("later", mcp.WithDescription("Does later."),
		mcp.WithTaskSupport(mcp.TaskSupportOptional)),
		func(context.Context, call) (*result, error) { return text("done later"), nil })
	addSlow(s)
	tool(s, "touch", func(_ context.Context, r call) (*result, error) {
		s.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{
			"uri": r.GetString("uri", ""),
		})
		time.Sleep(written)
		return text("touched"), nil
	}, "uri")
	tool(s, "grow", func(_ context.Context, r call) (*result, error) {
		name := r.GetString("name", "")
		tool(s, name, func(context.Context, call) (*result, error) { return text("%s", name), nil })
		time.Sleep(written)
		return text("grown"), nil
	}, "name")
	tool(s, "shrink", func(_ context.Context, r call) (*result, error) {
		s.DeleteTools(r.GetString("name", ""))
		time.Sleep(written)
		return text("shrunk"), nil
	}, "name")
	addQuestions(s)
	addRest(s)
	return s
}

func step(ctx context.Context, s *server.MCPServer, r call, n int) {
	if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
		return
	}
	_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
		"progressToken": r.Params.Meta.ProgressToken, "progress": n, "total": 3,
		"message": fmt.Sprintf("step %d", n),
	})
	time.Sleep(written)
}

// written bounds how long the SDK takes to write a notification. The SDK writes notifications
// from a separate queue. Without a pause, the notifications of a call may come after its answer,
// when the client no longer waits for them.
const written = 150 * time.Millisecond

// addSlow adds a tool to cancel, and a tool that reports whether the first was cancelled.
func addSlow(s *server.MCPServer) {
	var cancelled sync.Map
	tool(s, "slow", func(ctx context.Context, r call) (*result, error) {
		step(ctx, s, r, 1)
		select {
		case <-ctx.Done():
			cancelled.Store(r.GetString("key", ""), true)
			return nil, ctx.Err()
		case <-time.After(10 * time.Second):
			return text("done"), nil
		}
	}, "key")
	tool(s, "cancelled", func(_ context.Context, r call) (*result, error) {
		was := false
		for i := 0; i < 80 && !was; i++ {
			_, was = cancelled.Load(r.GetString("key", ""))
			time.Sleep(50 * time.Millisecond)
		}
		return text("%t", was), nil
	}, "key")
}

// addQuestions adds the tools that ask the client for input.
func addQuestions(s *server.MCPServer) {
	ask := func(name string, question *server.InputRequestBuilder,
		say func(mcp.InputResponses) string) {
		tool(s, name, func(_ context.Context, r call) (*result, error) {
			if _, ok := r.Params.InputResponses["it"]; ok {
				return text("%s", say(r.Params.InputResponses)), nil
			}
			return question.ToolResult(), nil
		})
	}
	elicited := func(r mcp.InputResponses) string {
		answer := server.ElicitationResponse(r, "it")
		return fmt.Sprintf("%s %v", answer.Action, answer.Content)
	}
	asks := server.NewInputRequestBuilder
	ask("ask_form", asks("").Elicit("it",
		mcp.ElicitationParams{Mode: "form", Message: "Who?", RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
			"required": []string{"name"},
		}}), elicited)
	ask("ask_url", asks("").Elicit("it", mcp.ElicitationParams{
		Mode: "url", Message: "Sign in", URL: "https://example.com/sign-in", ElicitationID: "e1",
	}), elicited)
	ask("ask_model", asks("").Sample("it", mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: "user", Content: mcp.NewTextContent("six by seven")}},
		MaxTokens: 10,
	}), func(r mcp.InputResponses) string {
		answer := server.SamplingResponse(r, "it")
		content, err := json.Marshal(answer.Content)
		return fmt.Sprintf("%s: %s %v", answer.Model, content, err)
	})
	ask("ask_roots", asks("").Roots("it"), func(r mcp.InputResponses) string {
		var uris []string
		for _, root := range server.RootsResponse(r, "it").Roots {
			uris = append(uris, root.URI)
		}
		return strings.Join(uris, " ")
	})
}

// addRest adds a resource, a resource template and prompts.
func addRest(s *server.MCPServer) {
	read := func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain",
			Text: "contents of " + r.Params.URI}}, nil
	}
	s.AddResource(mcp.NewResource("test://static", "static", mcp.WithMIMEType("text/plain")), read)
	s.AddResourceTemplate(mcp.NewResourceTemplate("test://item/{id}", "item"), read)
	names := []string{"first", "second", "third"}
	for i := range 42 { // with the other prompts: three pages
		names = append(names, fmt.Sprintf("prompt%02d", i))
	}
	for _, name := range names {
		s.AddPrompt(mcp.NewPrompt(name, mcp.WithArgument("city", mcp.RequiredArgument())),
			func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return mcp.NewGetPromptResult("", []mcp.PromptMessage{
					mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(name+" "+r.Params.Arguments["city"])),
				}), nil
			})
	}
}

// values completes the arguments of prompts and resource templates.
type values struct{}

func (values) CompletePromptArgument(_ context.Context, _ string, a mcp.CompleteArgument,
	_ mcp.CompleteContext) (*mcp.Completion, error) {
	return completion(a, "paris", "parma", "rome"), nil
}

func (values) CompleteResourceArgument(_ context.Context, _ string, a mcp.CompleteArgument,
	_ mcp.CompleteContext) (*mcp.Completion, error) {
	return completion(a, "one", "two", "three"), nil
}

func completion(a mcp.CompleteArgument, all ...string) *mcp.Completion {
	c := &mcp.Completion{Values: []string{}}
	for _, value := range all {
		if strings.HasPrefix(value, a.Value) {
			c.Values = append(c.Values, value)
		}
	}
	c.Total = len(c.Values)
	return c
}
