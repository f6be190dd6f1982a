//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's clients do

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/gateway/catalog"
)

// oddTime is the time-out of each ask. The opening of a session has twice that time.
const oddTime = 10 * time.Second

// oddTarget is what a client connects to: a URL, or a program.
type oddTarget struct {
	URL     string   `json:"url,omitempty"`
	SSE     bool     `json:"sse,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
}

// oddJob is one session of a client with its asks, in order.
type oddJob struct {
	ID     string    `json:"id"`
	Target oddTarget `json:"target"`
	Asks   []wireAsk `json:"asks"`
	// Capabilities are those that the client declares; empty for none.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
}

type wireAsk struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// wireAsks returns the asks of a server, with the names of the aggregate if aggregate is set.
func (s oddServer) wireAsks(aggregate bool) (all []wireAsk) {
	for _, a := range s.asks {
		params := json.RawMessage(a.params)
		if aggregate {
			params = external(s.name, a.method, params)
		}
		all = append(all, wireAsk{a.method, params})
	}
	return all
}

// external returns params with the aggregate's name of a tool, a prompt or a resource.
func external(server, method string, params json.RawMessage) json.RawMessage {
	names := map[string]struct {
		member  string
		rewrite func(server, own string) string
	}{
		"tools/call":     {"name", catalog.ToolName},
		"prompts/get":    {"name", catalog.External},
		"resources/read": {"uri", catalog.Wrap},
	}
	var members map[string]any
	row, ok := names[method]
	if !ok || json.Unmarshal(params, &members) != nil {
		return params
	}
	if name, ok := members[row.member].(string); ok {
		members[row.member] = row.rewrite(server, name)
	}
	text, err := json.Marshal(members)
	if err != nil {
		return params
	}
	return text
}

// goClient runs a job with the official Go client.
func goClient(ctx context.Context, job oddJob) []oddOutcome {
	all := make([]oddOutcome, len(job.Asks))
	fail := func(reason string) []oddOutcome {
		for i := range all {
			all[i] = oddOutcome{Failed: reason}
		}
		return all
	}
	heard := make(chan string, 1000)
	hear := func(method string) { heard <- method }
	sdk := mcp.NewClient(&mcp.Implementation{Name: "odd-go", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			hear("notifications/tools/list_changed")
		},
		PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) {
			hear("notifications/prompts/list_changed")
		},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {
			hear("notifications/resources/list_changed")
		},
		ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) {
			hear("notifications/resources/updated")
		},
		LoggingMessageHandler: func(context.Context, *mcp.LoggingMessageRequest) {
			hear("notifications/message")
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			hear("notifications/progress")
		},
	})
	opening, cancel := context.WithTimeout(ctx, 2*oddTime)
	defer cancel()
	connections := &http.Transport{}
	defer connections.CloseIdleConnections()
	session, err := sdk.Connect(opening, job.Target.goTransport(connections),
		&mcp.ClientSessionOptions{ProtocolVersion: legacy})
	if err != nil {
		return fail(oddNoSession)
	}
	defer session.Close()
	for i, a := range job.Asks {
		if a.Method == "follow" && i > 0 {
			a = wireAsk{
				"resources/read", json.RawMessage(fmt.Sprintf(`{"uri":%q}`, followed(all[i-1].Result))),
			}
		}
		for until := time.Now().Add(oddTime); ; time.Sleep(200 * time.Millisecond) {
			asking, cancel := context.WithTimeout(ctx, oddTime)
			all[i] = goAsk(asking, session, heard, a)
			cancel()
			if !all[i].starting() || time.Now().After(until) {
				break
			}
		}
	}
	return all
}

// followed returns the alphabetically first URI of a resource in a result.
func followed(result json.RawMessage) string {
	return slices.Min(
		append(regexp.MustCompile(`(ui|mcpd|test|skill)://[^"]+`).FindAllString(string(result), -1),
			"~none"),
	)
}

func (t oddTarget) goTransport(connections *http.Transport) mcp.Transport {
	client := &http.Client{Transport: connections}
	switch {
	case t.SSE:
		return &mcp.SSEClientTransport{Endpoint: t.URL, HTTPClient: client}
	case t.URL != "":
		return &mcp.StreamableClientTransport{Endpoint: t.URL, HTTPClient: client}
	}
	return &mcp.CommandTransport{Command: exec.Command(t.Command, t.Args...)}
}

// goAsk runs one ask.
func goAsk(ctx context.Context, s *mcp.ClientSession, heard <-chan string, a wireAsk) oddOutcome {
	if a.Method == "pause" {
		time.Sleep(oddPause)
		return oddOutcome{Result: json.RawMessage(`"paused"`)}
	}
	if method, ok := strings.CutPrefix(a.Method, "await "); ok {
		for {
			select {
			case got := <-heard:
				if got == method {
					return oddOutcome{Result: json.RawMessage(`"notified"`)}
				}
			case <-ctx.Done():
				return oddOutcome{Failed: oddNoAnswer}
			}
		}
	}
	ask, ok := goMethods[a.Method]
	if !ok {
		return oddOutcome{Failed: oddCannot}
	}
	got, err := ask(ctx, s, a.Params)
	var refused *jsonrpc.Error
	switch {
	case err == nil:
		text, err := json.Marshal(got)
		if err != nil {
			return oddOutcome{Failed: oddRejected}
		}
		return oddOutcome{Result: canonical(text)}
	case errors.As(err, &refused):
		return oddOutcome{Code: refused.Code, Message: refused.Message}
	case ctx.Err() != nil:
		return oddOutcome{Failed: oddNoAnswer}
	}
	return oddOutcome{Failed: oddRejected}
}

// oddCannot is the outcome of a method for which a client has no call.
const oddCannot = "has no such method"

type goMethod = func(ctx context.Context, s *mcp.ClientSession, params json.RawMessage) (any, error)

// goMethods are the calls of the Go client by method.
var goMethods = map[string]goMethod{
	"tools/list":               asked((*mcp.ClientSession).ListTools),
	"tools/call":               asked((*mcp.ClientSession).CallTool),
	"prompts/list":             asked((*mcp.ClientSession).ListPrompts),
	"prompts/get":              asked((*mcp.ClientSession).GetPrompt),
	"resources/list":           asked((*mcp.ClientSession).ListResources),
	"resources/templates/list": asked((*mcp.ClientSession).ListResourceTemplates),
	"resources/read":           asked((*mcp.ClientSession).ReadResource),
	"completion/complete":      asked((*mcp.ClientSession).Complete),
	"experimental": func(_ context.Context, s *mcp.ClientSession, _ json.RawMessage) (any, error) {
		return s.InitializeResult().Capabilities.Experimental, nil
	},
	"initialize": func(_ context.Context, s *mcp.ClientSession, _ json.RawMessage) (any, error) {
		r := s.InitializeResult()
		return map[string]any{"serverInfo": r.ServerInfo, "instructions": r.Instructions}, nil
	},
}

func asked[P, R any](call func(*mcp.ClientSession, context.Context, *P) (R, error)) goMethod {
	return func(ctx context.Context, s *mcp.ClientSession, params json.RawMessage) (any, error) {
		p := new(P)
		if len(params) > 0 {
			if err := json.Unmarshal(params, p); err != nil {
				return nil, err
			}
		}
		return call(s, ctx, p)
	}
}
