package main

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// journaled writes the arguments of each call to a file, to which other processes may append too.
func journaled(file string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if call, ok := r.(*mcp.CallToolRequest); ok {
				if err := appendLine(file, call.Params.Arguments); err != nil {
					return nil, err
				}
			}
			return next(ctx, method, r)
		}
	}
}

func appendLine(file string, line []byte) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(line[:len(line):len(line)], '\n'))
	return err
}
