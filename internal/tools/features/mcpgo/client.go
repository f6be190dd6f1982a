package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcpd/internal/tools/features/plan"
)

// session is a client's session with a server.
type session struct {
	*client.Client
	greeting     *mcp.InitializeResult
	filter       mcp.SubscriptionFilter // subscriptions in 2026-07-28
	acknowledged chan struct{}
	stop         func()
}

// connector returns a function that connects to a server in an era.
func connector(era string) func(context.Context, plan.Session, *plan.Ear) (plan.Client, error) {
	return func(ctx context.Context, to plan.Session, ear *plan.Ear) (plan.Client, error) {
		over, err := reach(to, era)
		if err != nil {
			return nil, err
		}
		answers := answers{ear}
		options := []client.ClientOption{
			client.WithClientCapabilities(mcp.ClientCapabilities{
				Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}},
			}),
			client.WithElicitationHandler(answers), client.WithSamplingHandler(answers),
			client.WithRootsHandler(answers),
		}
		if era == "legacy" {
			options = append(options, client.WithProtocolVersion("2025-11-25"))
		}
		s := &session{
			Client: client.NewClient(over, options...), acknowledged: make(chan struct{}, 1),
			stop: func() {},
		}
		s.OnNotification(func(n mcp.JSONRPCNotification) {
			if n.Method == mcp.MethodNotificationSubscriptionsAcknowledged {
				s.acknowledged <- struct{}{}
			}
			ear.Hear(n.Method, n.Params)
		})
		if err := s.Start(ctx); err != nil {
			return nil, err
		}
		connecting, cancel := context.WithTimeout(ctx, plan.StartTime)
		defer cancel()
		s.greeting, err = s.Initialize(connecting, mcp.InitializeRequest{
			Params: mcp.InitializeParams{ClientInfo: mcp.Implementation{Name: "mcp-go", Version: "1"}},
		})
		return s, err
	}
}

// reach returns the transport to a server. Only legacy revisions have a stream on which a client
// listens all the time. Asking for it restricts the SDK to those revisions.
func reach(to plan.Session, era string) (transport.Interface, error) {
	switch {
	case to.URL != "" && era == "legacy":
		return transport.NewStreamableHTTP(to.URL, transport.WithContinuousListening())
	case to.URL != "":
		return transport.NewStreamableHTTP(to.URL)
	}
	return transport.NewStdio(to.Command, nil, to.Args...), nil
}

// answers are the client's answers to requests of the server.
type answers struct{ ear *plan.Ear }

func (a answers) Elicit(_ context.Context,
	r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	a.ear.Asked("elicitation/create", r.Params)
	answer := mcp.ElicitationResponse{Action: "accept"}
	if r.Params.Mode != "url" {
		answer.Content = map[string]any{"name": "ann"}
	}
	return &mcp.ElicitationResult{ElicitationResponse: answer}, nil
}

func (a answers) CreateMessage(_ context.Context,
	r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	a.ear.Asked("sampling/createMessage", r.CreateMessageParams)
	return &mcp.CreateMessageResult{Model: "m",
			SamplingMessage: mcp.SamplingMessage{Role: "assistant", Content: mcp.NewTextContent("sampled")}},
		nil
}

func (a answers) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///home", Name: "home"}}}, nil
}

func (s *session) Greeting() (string, any) {
	return s.greeting.ProtocolVersion, map[string]any{
		"capabilities": s.greeting.Capabilities, "serverInfo": s.greeting.ServerInfo,
		"instructions": s.greeting.Instructions,
	}
}

func (s *session) Close() {
	s.stop()
	_ = s.Client.Close()
}

// codes are the JSON-RPC codes of the errors that the SDK returns in their place.
var codes = map[error]int{
	mcp.ErrInvalidRequest: mcp.INVALID_REQUEST, mcp.ErrMethodNotFound: mcp.METHOD_NOT_FOUND,
	mcp.ErrInvalidParams: mcp.INVALID_PARAMS,
	mcp.ErrInternalError: mcp.INTERNAL_ERROR, mcp.ErrResourceNotFound: mcp.RESOURCE_NOT_FOUND,
}

func (s *session) Failure(err error) any {
	told := map[string]any{"message": err.Error()}
	for known, code := range codes {
		if errors.Is(err, known) {
			told["code"] = code
		}
	}
	return told
}

// listen listens to everything in the filter from now on. Before 2026-07-28 it does nothing.
func (s *session) listen() (any, error) {
	if s.ProtocolVersion() < mcp.ProtocolVersion20260728 {
		return struct{}{}, nil
	}
	s.stop()
	// On stdio, the Go SDK's server drops the current subscription when any subscription ends. The
	// earlier subscription must therefore end first.
	time.Sleep(100 * time.Millisecond)
	stop, err := s.ListenAsync(context.Background(), s.filter, nil)
	if err != nil {
		return nil, err
	}
	s.stop = stop
	select {
	case <-s.acknowledged:
	case <-time.After(time.Second):
		return nil, errors.New("listening is not acknowledged")
	}
	return struct{}{}, nil
}

func (s *session) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	modern := s.ProtocolVersion() >= mcp.ProtocolVersion20260728
	switch method {
	case "tools/call":
		return s.CallTool(ctx, mcp.CallToolRequest{Params: *plan.Decode[mcp.CallToolParams](params)})
	case "resources/read":
		return s.ReadResource(ctx, mcp.ReadResourceRequest{
			Params: *plan.Decode[mcp.ReadResourceParams](params),
		})
	case "prompts/get":
		return s.GetPrompt(ctx, mcp.GetPromptRequest{Params: *plan.Decode[mcp.GetPromptParams](params)})
	case "completion/complete":
		return s.Complete(ctx, mcp.CompleteRequest{Params: *plan.Decode[mcp.CompleteParams](params)})
	case "ping":
		return struct{}{}, s.Ping(ctx)
	case "logging/setLevel":
		return struct{}{}, s.SetLevel(ctx, mcp.SetLevelRequest{
			Params: *plan.Decode[mcp.SetLevelParams](params),
		})
	case "resources/subscribe":
		p := plan.Decode[mcp.SubscribeParams](params)
		if modern {
			s.filter.ResourceSubscriptions = append(s.filter.ResourceSubscriptions, p.URI)
			return s.listen()
		}
		return struct{}{}, s.Subscribe(ctx, mcp.SubscribeRequest{Params: *p})
	case "resources/unsubscribe":
		p := plan.Decode[mcp.UnsubscribeParams](params)
		if modern {
			s.filter.ResourceSubscriptions = slices.DeleteFunc(s.filter.ResourceSubscriptions,
				func(uri string) bool {
					return uri == p.URI
				})
			return struct{}{}, nil
		}
		return struct{}{}, s.Unsubscribe(ctx, mcp.UnsubscribeRequest{Params: *p})
	case "listen":
		s.filter.ToolsListChanged = true
		return s.listen()
	case "tools/list":
		return s.ListTools(ctx, mcp.ListToolsRequest{})
	case "prompts/list":
		return s.ListPrompts(ctx, mcp.ListPromptsRequest{})
	case "resources/list":
		return s.ListResources(ctx, mcp.ListResourcesRequest{})
	case "resources/templates/list":
		return s.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	}
	return nil, fmt.Errorf("the SDK has no %s", method)
}
