//lint:file-ignore SA1019 what 2026-07-28 deprecates is part of the table

// Gosdk is a server and a client of the official Go SDK for the features table:
//
//	gosdk serve stdio|stateful|stateless legacy|modern
//	gosdk client legacy|modern <plan
//
// A server over HTTP writes its URL to standard output and exits when its standard input ends.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/tools/features/plan"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		serve(newServer(), os.Args[2])
		return
	}
	if err := plan.Run(os.Stdin, os.Stdout, connector(os.Args[2])); err != nil {
		log.Fatal(err)
	}
}

func serve(s *mcp.Server, way string) {
	if way == "stdio" {
		_ = s.Run(context.Background(), &mcp.StdioTransport{}) // the end of its input is not a failure
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	// owner: the process
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	log.Fatal(http.Serve(listener, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return s
	},
		&mcp.StreamableHTTPOptions{Stateless: way == "stateless"})))
}
