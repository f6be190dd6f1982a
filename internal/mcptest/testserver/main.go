// Command testserver is an MCP server on stdin and stdout, for tests that need a real child process
// of another implementation. It uses the official Go SDK. Its tools do what servers do to a host,
// and also what they should not do.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	revision := flag.String("revision", "",
		"speak only this revision; empty speaks all that the SDK knows")
	silent := flag.Bool("silent", false, "read and never answer")
	journal := flag.String("journal", "",
		"a file that has a line for each call, with its arguments, before anything is done for it")
	flag.Parse()
	if *silent {
		ignore(os.Stdin)
		return
	}
	options := &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	}
	if *revision != "" {
		options.SupportedProtocolVersions = []string{*revision}
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "testserver", Version: "1"}, options)
	addTools(server)
	addResources(server)
	if *journal != "" {
		server.AddReceivingMiddleware(journaled(*journal))
	}
	fmt.Fprintln(os.Stderr, "testserver: ready")
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "testserver:", err)
		os.Exit(1)
	}
}

// ignore reads and discards input until the other side closes.
func ignore(f *os.File) {
	buffer := make([]byte, 4096)
	for {
		if _, err := f.Read(buffer); err != nil {
			return
		}
	}
}
