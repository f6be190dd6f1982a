package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/transport"
)

// callClient is a client that sends one request at a time.
type callClient struct {
	up       transport.Upstream
	endpoint string    // the URL of up, for errors
	messages io.Writer // for progress and log messages
	last     uint64
}

func (p *callClient) handshake(ctx context.Context) error {
	ask := protocol.InitializeParams{
		Version: protocol.LatestLegacy.String(),
		Info:    protocol.Implementation{Name: "mcpd call", Version: build().Version},
	}
	result, err := p.request(ctx, "initialize", ask.Params())
	if err != nil {
		return err
	}
	r, err := protocol.ParseInitializeResult(result)
	if err != nil {
		return p.unusable(err)
	}
	v, err := protocol.Negotiation{}.Accept(r.Version)
	if err != nil {
		return p.unusable(err)
	}
	p.up.Negotiated(v)
	return p.up.Send(ctx, jsonrpc.Notification("notifications/initialized", nil))
}

// unusable returns an error for a server that answers but cannot be used.
func (p *callClient) unusable(err error) error {
	return &failure{exitFailure, fmt.Errorf("%s: %w", p.endpoint, err)}
}

// request sends one request and reads messages until its answer arrives. Other messages are shown
// or refused.
func (p *callClient) request(ctx context.Context, method string,
	params jsontext.Value) (jsontext.Value, error) {
	p.last++
	id := jsonrpc.IntID(p.last)
	if err := p.up.Send(ctx, jsonrpc.Request(id, method, params)); err != nil {
		return nil, err
	}
	for {
		in, err := p.up.Recv(ctx)
		switch {
		case err != nil:
			return nil, err
		case in.Err != nil && in.RequestID == id:
			return nil, in.Err
		case in.Message.ID == id && in.Message.Error != nil:
			return nil, in.Message.Error
		case in.Message.ID == id && in.Message.Method == "":
			return in.Message.Result, nil
		}
		if err := p.handleOther(ctx, in.Message); err != nil {
			return nil, err
		}
	}
}

// handleOther handles other messages of a server. This client declared no capabilities, so it
// accepts no request but ping.
func (p *callClient) handleOther(ctx context.Context, m jsonrpc.Message) error {
	switch {
	case m.Kind() == jsonrpc.KindRequest && m.Method == "ping":
		return p.up.Send(ctx, jsonrpc.Response(m.ID, nil))
	case m.Kind() == jsonrpc.KindRequest:
		return p.up.Send(ctx, jsonrpc.Failure(m.ID,
			protocol.Translate(protocol.MethodNotFound(m.Method), protocol.LatestLegacy)))
	case m.Method == "notifications/progress":
		progress, _ := jsonedit.Get(m.Params, "progress")
		total, _ := jsonedit.Get(m.Params, "total")
		text, _ := jsonedit.GetString(m.Params, "message")
		of := ""
		if len(total) > 0 {
			of = " of " + string(total)
		}
		fmt.Fprintf(p.messages, "progress %s%s %s\n", progress, of, telemetry.Clean(text, 200))
	case m.Method == "notifications/message":
		level, _ := jsonedit.GetString(m.Params, "level")
		data, _ := jsonedit.Get(m.Params, "data")
		fmt.Fprintf(p.messages, "%s %s\n", level, telemetry.Clean(string(data), 1000))
	}
	return nil
}

func (p *callClient) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	// The call is over, so an error about the session does not matter.
	_ = p.up.Close(ctx)
}

// arguments reads name=value pairs according to the tool's schema: text for a string, JSON for
// anything else.
func (p *callClient) arguments(ctx context.Context, tool string,
	pairs []string) (jsontext.Value, error) {
	arguments := jsontext.Value("{}")
	if len(pairs) == 0 {
		return arguments, nil
	}
	properties, err := p.properties(ctx, tool)
	if err != nil {
		return nil, err
	}
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--arg %q: write name=value", pair)
		}
		kind, _ := jsonedit.GetString(properties, name, "type")
		value := jsontext.Value(text)
		switch {
		case kind == "string":
			value = jsonedit.Quote(text)
		case kind != "" && !fits(value, kind):
			return nil, fmt.Errorf("--arg %s: %q is no %s", name, text, kind)
		case !value.IsValid():
			value = jsonedit.Quote(text)
		}
		if arguments, err = jsonedit.Set(arguments, value, name); err != nil {
			return nil, fmt.Errorf("--arg %s: %w", name, err)
		}
	}
	return arguments, nil
}

// fits reports whether text is JSON of the given schema type. An integer must be written without
// a fraction or an exponent.
func fits(text jsontext.Value, kind string) bool {
	if !text.IsValid() {
		return false
	}
	is := text.Kind()
	switch kind {
	case "integer":
		return is == '0' && !bytes.ContainsAny(text, ".eE")
	case "number":
		return is == '0'
	case "boolean":
		return is == 't' || is == 'f'
	case "object":
		return is == '{'
	case "array":
		return is == '['
	}
	return true
}

// properties returns the properties of the tool's input schema.
func (p *callClient) properties(ctx context.Context, tool string) (jsontext.Value, error) {
	cursor, pages := jsontext.Value(nil), protocol.Pages{}
	// The bound stops the reading when the cursors of a server never end.
	for range 100 {
		var params jsontext.Value
		if cursor != nil {
			// An empty value becomes an object.
			params, _ = jsonedit.Set(nil, cursor, "cursor")
		}
		result, err := p.request(ctx, "tools/list", params)
		if err != nil {
			return nil, unreachable(p.endpoint, err)
		}
		list, _ := jsonedit.Get(result, "tools")
		for item := range jsonedit.Elements(list) {
			if name, _ := jsonedit.GetString(item, "name"); name == tool {
				properties, _ := jsonedit.Get(item, "inputSchema", "properties")
				return properties, nil
			}
		}
		if cursor, _ = pages.Next(result, "tools"); cursor == nil {
			return nil, &failure{exitFailure, fmt.Errorf("there is no tool %q", tool)}
		}
	}
	return nil, &failure{exitFailure, errors.New("the list of tools never ends")}
}
