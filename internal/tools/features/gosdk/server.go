//lint:file-ignore SA1019 what 2026-07-28 deprecates is part of the table

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type call = mcp.CallToolRequest

type result = mcp.CallToolResult

func text(format string, args ...any) *result {
	return &result{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// tool adds a tool with the input type In.
func tool[In any](s *mcp.Server, name string,
	run func(context.Context, *call, In) (*result, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Does " + name + "."},
		func(ctx context.Context, r *call, in In) (*result, any, error) {
			out, err := run(ctx, r, in)
			return out, nil, err
		})
}

type (
	none  struct{}
	keyed struct {
		Key string `json:"key"`
	}
	named struct {
		Name string `json:"name"`
	}
	at struct {
		URI string `json:"uri"`
	}
	spoken struct {
		Message string `json:"message"`
	}
	weather struct {
		Degrees float64 `json:"degrees"`
	}
)

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "features", Version: "1"}, &mcp.ServerOptions{
		Instructions:       "Call tools.",
		PageSize:           20,
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	tool(s, "echo", func(_ context.Context, _ *call, in spoken) (*result, error) {
		return text("%s", in.Message), nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "structured", Description: "Does structured."},
		func(context.Context, *call, none) (*result, weather, error) { return nil, weather{21.5}, nil })
	tool(s, "fail", func(context.Context, *call, none) (*result, error) {
		return nil, errors.New("it failed")
	})
	tool(s, "progress", func(ctx context.Context, r *call, _ none) (*result, error) {
		for i := 1.0; i <= 3; i++ {
			step(ctx, r, i)
		}
		return text("done"), nil
	})
	tool(s, "log", func(ctx context.Context, r *call, _ none) (*result, error) {
		for _, line := range [][2]string{{"debug", "a detail"}, {"warning", "a warning"}} {
			_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{
				Level: mcp.LoggingLevel(line[0]), Data: line[1], Logger: "features",
			})
		}
		return text("logged"), nil
	})
	var cancelled sync.Map
	tool(s, "slow", func(ctx context.Context, r *call, in keyed) (*result, error) {
		step(ctx, r, 1)
		select {
		case <-ctx.Done():
			cancelled.Store(in.Key, true)
			return nil, ctx.Err()
		case <-time.After(10 * time.Second):
			return text("done"), nil
		}
	})
	tool(s, "cancelled", func(_ context.Context, _ *call, in keyed) (*result, error) {
		was := false
		for i := 0; i < 80 && !was; i++ {
			_, was = cancelled.Load(in.Key)
			time.Sleep(50 * time.Millisecond)
		}
		return text("%t", was), nil
	})
	tool(s, "touch", func(ctx context.Context, _ *call, in at) (*result, error) {
		return text("touched"), s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{
			URI: in.URI,
		})
	})
	tool(s, "grow", func(_ context.Context, _ *call, in named) (*result, error) {
		tool(s, in.Name, func(context.Context, *call, none) (*result, error) {
			return text("%s", in.Name), nil
		})
		return text("grown"), nil
	})
	tool(s, "shrink", func(_ context.Context, _ *call, in named) (*result, error) {
		s.RemoveTools(in.Name)
		return text("shrunk"), nil
	})
	addQuestions(s)
	addRest(s)
	return s
}

func step(ctx context.Context, r *call, n float64) {
	_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: r.Params.GetProgressToken(), Progress: n, Total: 3,
		Message: fmt.Sprintf("step %v", n),
	})
}

// addQuestions adds the tools that ask the client for input.
func addQuestions(s *mcp.Server) {
	ask := func(name string, question mcp.InputRequest, say func(any) string) {
		tool(s, name, func(_ context.Context, r *call, _ none) (*result, error) {
			if answer, ok := r.Params.InputResponses["it"]; ok {
				return text("%s", say(answer)), nil
			}
			return &result{InputRequests: mcp.InputRequestMap{"it": question}}, nil
		})
	}
	elicited := func(answer any) string {
		r, _ := answer.(*mcp.ElicitResult)
		return fmt.Sprintf("%s %v", r.Action, r.Content)
	}
	ask("ask_form", &mcp.ElicitParams{Mode: "form", Message: "Who?", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
		"required": []string{"name"},
	}}, elicited)
	ask("ask_url", &mcp.ElicitParams{Mode: "url", Message: "Sign in",
		URL: "https://example.com/sign-in", ElicitationID: "e1"}, elicited)
	ask("ask_model", &mcp.CreateMessageParams{
		Messages: []*mcp.SamplingMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "six by seven"}},
		},
		MaxTokens: 10,
	}, func(answer any) string {
		switch r := answer.(type) {
		case *mcp.CreateMessageResult:
			return r.Model + ": " + r.Content.(*mcp.TextContent).Text
		case *mcp.CreateMessageWithToolsResult:
			return r.Model + ": " + r.Content[0].(*mcp.TextContent).Text
		}
		return fmt.Sprintf("%T", answer)
	})
	ask("ask_roots", &mcp.ListRootsParams{}, func(answer any) string {
		var uris []string
		for _, root := range answer.(*mcp.ListRootsResult).Roots {
			uris = append(uris, root.URI)
		}
		return strings.Join(uris, " ")
	})
}

// addRest adds a resource, a resource template and prompts.
func addRest(s *mcp.Server) {
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: r.Params.URI, MIMEType: "text/plain", Text: "contents of " + r.Params.URI},
		}}, nil
	}
	s.AddResource(&mcp.Resource{Name: "static", URI: "test://static", MIMEType: "text/plain"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "item", URITemplate: "test://item/{id}"}, read)
	names := []string{"first", "second", "third"}
	for i := range 42 { // with the other prompts: three pages
		names = append(names, fmt.Sprintf("prompt%02d", i))
	}
	for _, name := range names {
		s.AddPrompt(&mcp.Prompt{
			Name: name, Arguments: []*mcp.PromptArgument{{Name: "city", Required: true}},
		},
			func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
					{Role: "user", Content: &mcp.TextContent{Text: name + " " + r.Params.Arguments["city"]}},
				}}, nil
			})
	}
}

func complete(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	all := map[string][]string{"ref/prompt": {"paris", "parma", "rome"},
		"ref/resource": {"one", "two", "three"}}[r.Params.Ref.Type]
	values := []string{}
	for _, value := range all {
		if strings.HasPrefix(value, r.Params.Argument.Value) {
			values = append(values, value)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values,
		Total: len(values)}}, nil
}
