package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type steps = func(context.Context, *mcp.ClientSession) error

// clientSteps are the steps that each scenario expects of a client (§12.7 of the protocol matrix).
var clientSteps = map[string]steps{
	"initialize":       noSteps,
	"request-metadata": noSteps,
	"tools_call": sequence(list, call("add_numbers", map[string]any{
		"a": 5, "b": 3,
	})),
	"elicitation-sep1034-client-defaults": call("test_client_elicitation_defaults", nil),
	"sse-retry":                           sequence(list, call("test_reconnection", nil)),
	"sep-2322-client-request-state": sequence(list, call("test_mrtr_echo_state", nil),
		call("test_mrtr_unrelated", nil),
		call("test_mrtr_no_state", nil), call("test_mrtr_no_result_type", nil)),
	"http-standard-headers":            oneOfEach,
	"http-custom-headers":              sequence(list, requestedCalls),
	"http-invalid-tool-headers":        everyTool,
	"json-schema-ref-no-deref":         list,
	"json-schema-2020-12-preservation": echoSchema,
}

func sequence(all ...steps) steps {
	return func(ctx context.Context, s *mcp.ClientSession) error {
		for _, step := range all {
			if err := step(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// noSteps has no further steps: mcpd initializes the server before it answers its own client.
func noSteps(context.Context, *mcp.ClientSession) error { return nil }

func list(ctx context.Context, s *mcp.ClientSession) error {
	_, err := s.ListTools(ctx, nil)
	return err
}

func call(tool string, arguments map[string]any) steps {
	return func(ctx context.Context, s *mcp.ClientSession) error {
		if arguments == nil {
			arguments = map[string]any{}
		}
		if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments}); err != nil {
			return fmt.Errorf("tools/call %s: %w", tool, err)
		}
		return nil
	}
}

func oneOfEach(ctx context.Context, s *mcp.ClientSession) error {
	tools, err := s.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) == 0 {
		return fmt.Errorf("no tools: %w", err)
	}
	resources, err := s.ListResources(ctx, nil)
	if err != nil || len(resources.Resources) == 0 {
		return fmt.Errorf("no resources: %w", err)
	}
	prompts, err := s.ListPrompts(ctx, nil)
	if err != nil || len(prompts.Prompts) == 0 {
		return fmt.Errorf("no prompts: %w", err)
	}
	_, read := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: resources.Resources[0].URI})
	_, get := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompts.Prompts[0].Name})
	return errors.Join(call(tools.Tools[0].Name, nil)(ctx, s), read, get)
}

// everyTool calls every tool that mcpd lists. mcpd must not list tools that ask for invalid
// headers.
func everyTool(ctx context.Context, s *mcp.ClientSession) error {
	tools, err := s.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	for _, tool := range tools.Tools {
		if err := call(tool.Name, map[string]any{"region": "us-west1"})(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// requestedCalls makes the tool calls that the suite asks for in MCP_CONFORMANCE_CONTEXT.
func requestedCalls(ctx context.Context, s *mcp.ClientSession) error {
	var wanted struct {
		ToolCalls []struct {
			Name      string         `json:"name"`
			Arguments map[string]any `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &wanted); err != nil {
		return err
	}
	for _, c := range wanted.ToolCalls {
		if err := call(c.Name, c.Arguments)(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema sends a tool's schema back as it arrived.
func echoSchema(ctx context.Context, s *mcp.ClientSession) error {
	tools, err := s.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	for _, tool := range tools.Tools {
		if tool.Name == "json_schema_2020_12_tool" {
			return call("json_schema_echo", map[string]any{"schema": tool.InputSchema})(ctx, s)
		}
	}
	return errors.New("the tool with the schema is not listed")
}
