package interop

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// codeOf returns the JSON-RPC code of an error of the SDK's client, or 0 if the error has none.
func codeOf(err error) int64 {
	var answered *jsonrpc.Error
	if errors.As(err, &answered) {
		return answered.Code
	}
	return 0
}

// toolCall returns a call with one text argument.
func toolCall(tool, text string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"text": text}}
}

// rootless returns the options of a client without capabilities.
func rootless() *mcp.ClientOptions {
	return &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
}
