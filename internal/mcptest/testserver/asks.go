//lint:file-ignore SA1019 what 2026-07-28 deprecates is what older servers do to a host

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// askElicitation asks the client's user for a name.
func askElicitation(ctx context.Context, r *mcp.CallToolRequest, in message) (string, error) {
	result, err := r.Session.Elicit(ctx,
		&mcp.ElicitParams{Message: in.Message, RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{"name": map[string]any{"type": "string"}},
			"required":   []string{"name"},
		}})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %v", result.Action, result.Content["name"]), nil
}

func askSampling(ctx context.Context, r *mcp.CallToolRequest, in message) (string, error) {
	result, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Message}}},
		MaxTokens: 100,
	})
	if err != nil {
		return "", err
	}
	if said, ok := result.Content.(*mcp.TextContent); ok {
		return said.Text, nil
	}
	return "", fmt.Errorf("the model answered with a %T", result.Content)
}

func listRoots(ctx context.Context, r *mcp.CallToolRequest, _ none) (string, error) {
	result, err := r.Session.ListRoots(ctx, nil)
	if err != nil {
		return "", err
	}
	uris := make([]string, len(result.Roots))
	for i, root := range result.Roots {
		uris[i] = root.URI
	}
	return strings.Join(uris, "\n"), nil
}
