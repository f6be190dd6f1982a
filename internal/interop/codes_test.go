package interop

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// codeOf is the JSON-RPC code of an error that the SDK's client returned, 0 for one that has none.
func codeOf(err error) int64 {
	var answered *jsonrpc.Error
	if errors.As(err, &answered) {
		return answered.Code
	}
	return 0
}

// toolCall is a call with one text.
func toolCall(tool, text string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"text": text}}
}

// rootless are the options of a client that declares nothing.
func rootless() *mcp.ClientOptions {
	return &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
}
