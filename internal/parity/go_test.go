//lint:file-ignore SA1019 what 2026-07-28 deprecates is what servers of older revisions ask for

package parity

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stepTime is the time-out of each request of the Go client.
const stepTime = 30 * time.Second

// goSurvey surveys servers with the client of the official Go SDK.
func goSurvey(t *testing.T, sessions []session) (all []seen) {
	t.Helper()
	for _, s := range sessions {
		all = append(all, goSession(t.Context(), s))
	}
	return all
}

func goSession(ctx context.Context, s session) seen {
	connecting, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}},
		CreateMessageHandler: func(context.Context,
			*mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m",
				Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept",
				Content: map[string]any{"name": "ann", "check": true}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: s.Root, Name: "root"})
	e := &recorder{}
	client.AddReceivingMiddleware(e.middleware)
	connected, err := client.Connect(connecting, s.transport(), nil)
	if err != nil {
		return seen{Name: s.Name, Refused: failure(err)}
	}
	defer connected.Close()
	greeting := connected.InitializeResult()
	saw := seen{Name: s.Name, Greeting: toJSON(map[string]any{
		"capabilities": greeting.Capabilities, "serverInfo": greeting.ServerInfo,
		"instructions": greeting.Instructions,
	})}
	for _, one := range s.Steps {
		saw.Steps = append(saw.Steps, outcome(ctx, connected, e, one))
	}
	return saw
}

func (s session) transport() mcp.Transport {
	switch {
	case s.SSE:
		return &mcp.SSEClientTransport{Endpoint: s.URL}
	case s.URL != "":
		return &mcp.StreamableClientTransport{Endpoint: s.URL}
	}
	command := exec.Command(s.Command, s.Args...)
	command.Dir = s.Dir
	for name, value := range s.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	return &mcp.CommandTransport{Command: command}
}

// failure converts an error to the JSON form that all clients report.
func failure(err error) map[string]any {
	told := map[string]any{"message": err.Error()}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		told["code"] = wire.Code
		if wire.Data != nil {
			told["data"] = wire.Data
		}
	}
	return toJSON(told).(map[string]any)
}

func outcome(ctx context.Context, s *mcp.ClientSession, e *recorder, one step) any {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	saw := map[string]any{}
	e.want(one.Events)
	if one.Events != nil && one.Events.Cancel {
		// owner: this function: the goroutine ends after enough notifications, or after awaitTime
		go func() { e.await(one.Events); cancel() }()
	}
	result, err := request(ctx, s, one)
	if one.Events != nil {
		e.await(one.Events)
		saw["events"] = e.stop()
	}
	if err != nil {
		saw["error"] = failure(err)
	} else {
		saw["result"] = toJSON(result)
	}
	return saw
}

func request(ctx context.Context, s *mcp.ClientSession, one step) (any, error) {
	switch one.Method {
	case "tools/call":
		return sendParams(ctx, one, s.CallTool)
	case "resources/read":
		return sendParams(ctx, one, s.ReadResource)
	case "prompts/get":
		return sendParams(ctx, one, s.GetPrompt)
	case "completion/complete":
		return sendParams(ctx, one, s.Complete)
	case "ping":
		return struct{}{}, s.Ping(ctx, nil)
	case "logging/setLevel":
		return sendEmpty(ctx, one, s.SetLoggingLevel)
	case "resources/subscribe":
		return sendEmpty(ctx, one, s.Subscribe)
	case "resources/unsubscribe":
		return sendEmpty(ctx, one, s.Unsubscribe)
	case "tools/list":
		return listed(s.Tools(ctx, nil), "tools")
	case "prompts/list":
		return listed(s.Prompts(ctx, nil), "prompts")
	case "resources/list":
		return listed(s.Resources(ctx, nil), "resources")
	case "resources/templates/list":
		return listed(s.ResourceTemplates(ctx, nil), "resourceTemplates")
	}
	panic("parity: no step " + one.Method)
}

// sendEmpty sends a request that has an empty result.
func sendEmpty[P any](ctx context.Context, one step,
	send func(context.Context, *P) error) (struct{}, error) {
	return sendParams(ctx, one, func(ctx context.Context, params *P) (struct{}, error) {
		return struct{}{}, send(ctx, params)
	})
}

// sendParams sends the params of the step.
func sendParams[P, R any](ctx context.Context, one step,
	send func(context.Context, *P) (R, error)) (R, error) {
	var params P
	if err := json.Unmarshal(one.Params, &params); err != nil {
		panic(err)
	}
	return send(ctx, &params)
}

// listed reads a list to its end.
func listed[T any](items func(func(T, error) bool), name string) (any, error) {
	all := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return map[string]any{name: all}, nil
}
