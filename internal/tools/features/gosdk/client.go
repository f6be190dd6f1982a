//lint:file-ignore SA1019 what 2026-07-28 deprecates is part of the table

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/tools/features/plan"
)

// session is a client's session with a server.
type session struct {
	*mcp.ClientSession
	lost *atomic.Bool
	// agreed receives a value for each subscription that the server acknowledges, in 2026-07-28
	// only.
	agreed chan struct{}
}

// Lost reports whether the SDK has given up the session, as it does when a server refuses a
// message.
func (s session) Lost() bool { return s.lost.Load() }

// connector returns a function that connects to a server in an era.
func connector(era string) func(context.Context, plan.Session, *plan.Ear) (plan.Client, error) {
	return func(ctx context.Context, to plan.Session, ear *plan.Ear) (plan.Client, error) {
		ctx, cancel := context.WithTimeout(ctx, plan.StartTime)
		defer cancel()
		version := ""
		if era == "legacy" {
			version = "2025-11-25"
		}
		agreed := make(chan struct{}, 10)
		s, err := newClient(ear, agreed).Connect(ctx, transport(to), &mcp.ClientSessionOptions{
			ProtocolVersion: version,
		})
		if err != nil {
			return nil, err
		}
		end := session{s, new(atomic.Bool), agreed}
		// owner: the session, which Close ends
		go func() { _ = s.Wait(); end.lost.Store(true) }()
		return end, nil
	}
}

func transport(to plan.Session) mcp.Transport {
	if to.URL != "" {
		return &mcp.StreamableClientTransport{Endpoint: to.URL}
	}
	return &mcp.CommandTransport{Command: exec.Command(to.Command, to.Args...)}
}

func newClient(ear *plan.Ear, agreed chan<- struct{}) *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2: &mcp.RootCapabilities{},
			Elicitation: &mcp.ElicitationCapabilities{
				Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
			},
		},
		CreateMessageHandler: func(_ context.Context,
			r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			ear.Asked("sampling/createMessage", r.Params)
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m",
				Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			ear.Asked("elicitation/create", r.Params)
			if r.Params.Mode == "url" {
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann"}}, nil
		},
		// In 2026-07-28 the SDK subscribes because of this handler.
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
	})
	c.AddRoots(&mcp.Root{URI: "file:///home", Name: "home"})
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if strings.HasPrefix(method, "notifications/") {
				ear.Hear(method, r.GetParams())
			}
			if method == "notifications/subscriptions/acknowledged" {
				agreed <- struct{}{}
			}
			return next(ctx, method, r)
		}
	})
	return c
}

func (s session) Greeting() (string, any) {
	r := s.InitializeResult()
	return r.ProtocolVersion, map[string]any{
		"capabilities": r.Capabilities, "serverInfo": r.ServerInfo, "instructions": r.Instructions,
	}
}

func (s session) Close() { _ = s.ClientSession.Close() }

func (s session) Failure(err error) any {
	if errors.Is(err, mcp.ErrConnectionClosed) { // the goroutine of Wait may not have ended yet
		s.lost.Store(true)
	}
	told := map[string]any{"message": err.Error()}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		told["code"], told["data"] = wire.Code, wire.Data
	}
	return told
}

func (s session) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case "tools/call":
		return s.CallTool(ctx, plan.Decode[mcp.CallToolParams](params))
	case "resources/read":
		return s.ReadResource(ctx, plan.Decode[mcp.ReadResourceParams](params))
	case "prompts/get":
		return s.GetPrompt(ctx, plan.Decode[mcp.GetPromptParams](params))
	case "completion/complete":
		return s.Complete(ctx, plan.Decode[mcp.CompleteParams](params))
	case "ping":
		return struct{}{}, s.Ping(ctx, nil)
	case "logging/setLevel":
		return struct{}{}, s.SetLoggingLevel(ctx, plan.Decode[mcp.SetLoggingLevelParams](params))
	case "resources/subscribe":
		return struct{}{}, s.subscribe(ctx, plan.Decode[mcp.SubscribeParams](params))
	case "resources/unsubscribe":
		return struct{}{}, s.Unsubscribe(ctx, plan.Decode[mcp.UnsubscribeParams](params))
	case "listen":
		return struct{}{}, nil // the client has listened since it connected
	case "tools/list":
		return listed(s.Tools(ctx, nil), "tools")
	case "prompts/list":
		return listed(s.Prompts(ctx, nil), "prompts")
	case "resources/list":
		return listed(s.Resources(ctx, nil), "resources")
	case "resources/templates/list":
		return listed(s.ResourceTemplates(ctx, nil), "resourceTemplates")
	}
	return nil, fmt.Errorf("the SDK has no %s", method)
}

// subscribe subscribes and waits for the server's acknowledgement. In 2026-07-28 the SDK does not
// wait for it. A missing acknowledgement is no error here: it shows in the notifications of the
// server.
func (s session) subscribe(ctx context.Context, p *mcp.SubscribeParams) error {
	for len(s.agreed) > 0 {
		<-s.agreed
	}
	if err := s.Subscribe(ctx, p); err != nil || s.InitializeResult().ProtocolVersion < "2026" {
		return err
	}
	select {
	case <-s.agreed:
	case <-time.After(time.Second):
	}
	return nil
}

// listed reads a list to its end and returns it as the named member of an object.
func listed[T any](items iter.Seq2[T, error], member string) (any, error) {
	all := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return map[string]any{member: all}, nil
}
