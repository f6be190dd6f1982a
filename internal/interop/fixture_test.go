//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sharedURI is the URI of a resource that every fixture has, so that the URIs of two fixtures
// clash.
const sharedURI = "fixture://shared"

// longTool is a tool name that exceeds the limit of clients when the server's name is its prefix.
var longTool = strings.Repeat("long_", 13) + "name"

// fixture is a server of another implementation that has every feature that a client can use.
type fixture struct {
	*mcp.Server
	name      string
	cancelled chan string // the texts of cancelled waits
	answers   chan string // results of questions that no call waited for
}

// newFixture makes the server. It is the same over all transports.
func newFixture(name string) *fixture {
	f := &fixture{name: name, cancelled: make(chan string, 16), answers: make(chan string, 16)}
	f.Server = mcp.NewServer(&mcp.Implementation{Name: "fixture-" + name, Version: "1"},
		&mcp.ServerOptions{
			Instructions:       "Ask " + name + " for anything.",
			SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
			CompletionHandler:  f.complete,
		})
	f.addResources()
	for tool, run := range f.tools() {
		f.addTool(tool, run)
	}
	for tool, q := range questions {
		f.addQuestion(tool, q)
	}
	return f
}

// legacyOnly makes the server support only revisions with a handshake, and young only revisions
// without.
func (f *fixture) legacyOnly() *fixture { return f.without("server/discover") }
func (f *fixture) modernOnly() *fixture { return f.without("initialize") }

func (f *fixture) without(method string) *fixture {
	f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, called string, r mcp.Request) (mcp.Result, error) {
			if called == method {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
			}
			return next(ctx, called, r)
		}
	})
	return f
}

// arguments are the arguments of all tools of the fixture. Each tool reads those that it needs.
type arguments struct {
	Text  string `json:"text"`
	Level string `json:"level"`
	Count int    `json:"count"`
}

// tool returns the text of its result.
type tool func(ctx context.Context, r *mcp.CallToolRequest, in arguments) (string, error)

func (f *fixture) addTool(name string, run tool) {
	f.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in arguments
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil && len(r.Params.Arguments) > 0 {
				return nil, err
			}
			text, err := run(ctx, r, in)
			if err != nil {
				return nil, err
			}
			result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
			if name == "link" {
				result.Content = append(result.Content, &mcp.ResourceLink{URI: text, Name: "linked"})
			}
			return result, nil
		})
}

// question is what a tool asks its client before it answers, and how it turns the client's answer
// into its result. The SDK asks a legacy client while the call is in flight, and a modern client in
// the result of the call.
type question struct {
	ask    func(in arguments) mcp.InputRequest
	answer func(mcp.InputResponse) string
}

var questions = map[string]question{
	"sample": {
		func(in arguments) mcp.InputRequest {
			return &mcp.CreateMessageParams{
				MaxTokens: 9,
				Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Text}}},
			}
		},
		func(got mcp.InputResponse) string {
			return got.(*mcp.CreateMessageWithToolsResult).Content[0].(*mcp.TextContent).Text
		},
	},
	"elicit": {
		func(in arguments) mcp.InputRequest {
			return &mcp.ElicitParams{Message: in.Text, RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
			}}
		},
		func(got mcp.InputResponse) string {
			said := got.(*mcp.ElicitResult)
			return fmt.Sprint(said.Action, " ", said.Content["name"])
		},
	},
	"roots": {
		func(arguments) mcp.InputRequest { return &mcp.ListRootsParams{} },
		func(got mcp.InputResponse) string {
			var uris []string
			for _, root := range got.(*mcp.ListRootsResult).Roots {
				uris = append(uris, root.URI)
			}
			return strings.Join(uris, " ")
		},
	},
}

func (f *fixture) addQuestion(name string, q question) {
	f.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in arguments
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil && len(r.Params.Arguments) > 0 {
				return nil, err
			}
			if got, ok := r.Params.InputResponses["it"]; ok {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: q.answer(got)}}}, nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"it": q.ask(in)},
				RequestState: name + " of " + in.Text}, nil
		})
}

func (f *fixture) tools() map[string]tool {
	return map[string]tool{
		"echo": func(_ context.Context, _ *mcp.CallToolRequest, in arguments) (string, error) {
			return in.Text, nil
		},
		longTool: func(context.Context, *mcp.CallToolRequest, arguments) (string, error) {
			return f.name, nil
		},
		// fail returns a tool error, not a protocol error.
		"fail": func(_ context.Context, _ *mcp.CallToolRequest, in arguments) (string, error) {
			return "", fmt.Errorf("%s failed", in.Text)
		},
		"big": func(_ context.Context, _ *mcp.CallToolRequest, in arguments) (string, error) {
			return strings.Repeat("é", in.Count), nil
		},
		// link returns a link to the resource whose URI is the text.
		"link": func(_ context.Context, _ *mcp.CallToolRequest, in arguments) (string, error) {
			return in.Text, nil
		},
		"steps": func(ctx context.Context, r *mcp.CallToolRequest, in arguments) (string, error) {
			for i := range in.Count {
				err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.Count),
					Message: in.Text,
				})
				if err != nil {
					return "", err
				}
			}
			return "done", nil
		},
		"log": func(ctx context.Context, r *mcp.CallToolRequest, in arguments) (string, error) {
			return "logged", r.Session.Log(ctx, &mcp.LoggingMessageParams{
				Level: mcp.LoggingLevel(in.Level), Logger: f.name, Data: in.Text,
			})
		},
		// log_later logs after it has answered, so that nothing relates the message to the call.
		"log_later": func(ctx context.Context, r *mcp.CallToolRequest, in arguments) (string, error) {
			time.AfterFunc(50*time.Millisecond, func() { // so that the answer is sent first
				_ = r.Session.Log(context.Background(), &mcp.LoggingMessageParams{
					Level: "warning", Logger: f.name, Data: in.Text,
				})
			})
			return "soon", nil
		},
		// wait reports its start by progress and waits until it is cancelled. await_cancel waits until a
		// wait was cancelled.
		"wait": func(ctx context.Context, r *mcp.CallToolRequest, in arguments) (string, error) {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: 1,
			})
			if err != nil {
				return "", err
			}
			<-ctx.Done()
			f.cancelled <- in.Text
			return "", ctx.Err()
		},
		"await_cancel": func(ctx context.Context, _ *mcp.CallToolRequest, _ arguments) (string, error) {
			select {
			case text := <-f.cancelled:
				return text, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
		"add_tool": func(_ context.Context, _ *mcp.CallToolRequest, in arguments) (string, error) {
			f.addTool(in.Text, func(context.Context, *mcp.CallToolRequest, arguments) (string, error) {
				return "I am new", nil
			})
			return "added", nil
		},
		// ask_later asks the user without waiting for the answer, and await_answer waits for the answer.
		"ask_later": func(ctx context.Context, r *mcp.CallToolRequest, in arguments) (string, error) {
			asking := context.WithoutCancel(ctx)
			if in.Level == "alone" { // the question is not related to a call
				asking = context.Background()
			}
			go func() { // owner: the session, whose end also ends the question
				got, err := r.Session.Elicit(asking,
					&mcp.ElicitParams{Message: in.Text, RequestedSchema: map[string]any{
						"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
					}})
				if err != nil {
					f.answers <- "error: " + err.Error()
					return
				}
				f.answers <- fmt.Sprint(got.Action, " ", got.Content["name"])
			}()
			time.Sleep(50 * time.Millisecond) // so that the question is sent first
			return "asked", nil
		},
		"await_answer": func(ctx context.Context, _ *mcp.CallToolRequest, _ arguments) (string, error) {
			select {
			case text := <-f.answers:
				return text, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
		"touch": func(ctx context.Context, _ *mcp.CallToolRequest, in arguments) (string, error) {
			return "touched", f.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: in.Text})
		},
	}
}

// uri returns the URI of a resource that only this fixture has.
func (f *fixture) uri(path string) string { return "fixture://" + f.name + "/" + path }

func (f *fixture) addResources() {
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI,
			Text: f.name + " has " + r.Params.URI}}}, nil
	}
	for _, uri := range []string{f.uri("watched"), sharedURI} {
		f.AddResource(&mcp.Resource{URI: uri, Name: uri}, read)
	}
	f.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: f.uri("item/{id}"), Name: "item"}, read)
	f.AddPrompt(&mcp.Prompt{
		Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}},
	},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{
					Text: "Greet " + r.Params.Arguments["who"] + " from " + f.name,
				}},
				{Role: "user", Content: &mcp.ResourceLink{URI: sharedURI, Name: "linked"}},
			}}, nil
		})
}

// complete returns the reference and argument of the request.
func (f *fixture) complete(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	value := r.Params.Ref.Name + r.Params.Ref.URI + " " + r.Params.Argument.Name + "=" +
		r.Params.Argument.Value
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{value}}}, nil
}
