package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const watchedURI = "test://watched"

// addResources adds one resource that can be watched, one template and one prompt, which a host has
// to route.
func addResources(s *mcp.Server) {
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI,
			MIMEType: "text/plain", Text: "this is " + r.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: watchedURI, Name: "watched", MIMEType: "text/plain"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://item/{id}", Name: "item",
		MIMEType: "text/plain"}, read)
	s.AddPrompt(&mcp.Prompt{
		Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}},
	},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text := "Greet " + r.Params.Arguments["name"] + "."
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user",
				Content: &mcp.TextContent{Text: text}}}}, nil
		})
}
